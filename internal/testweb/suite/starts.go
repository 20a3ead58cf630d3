package suite

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/bellglass/bellglass"
)

// Starts collects the process ids of the browsers that are started. It is a
// log handler.
type Starts struct {
	mu   sync.Mutex
	pids []int
}

// Watch has a browser with these options log to s.
func (s *Starts) Watch(o *bellglass.Options) { o.Logger = slog.New(s) }

// PIDs are those so far, in order.
func (s *Starts) PIDs() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.pids)
}

func (s *Starts) Enabled(context.Context, slog.Level) bool { return true }

func (s *Starts) WithAttrs([]slog.Attr) slog.Handler { return s }

func (s *Starts) WithGroup(string) slog.Handler { return s }

func (s *Starts) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "pid" {
			s.mu.Lock()
			s.pids = append(s.pids, int(a.Value.Int64()))
			s.mu.Unlock()
		}
		return true
	})
	return nil
}
