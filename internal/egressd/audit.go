package egressd

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/bellglass/bellglass/egress"
)

type writer = io.Writer

// audit writes one line of JSON for each event of a proxy:
//
//	{"time":"…","role":"browsers","event":"decision","tenant":"acme","run":"42",
//	 "method":"CONNECT","host":"example.com","port":443,"class":"public",
//	 "reason":"","what":"","received":0,"sent":0,"resolve":1200000,"dial":8100000,
//	 "duration":9400000}
//
// Durations are in nanoseconds. A line holds no path, no address that a name
// resolved to, and nothing of what was carried.
type audit struct {
	stdout io.Writer
	failed func() // counts a line that was lost

	mu      sync.RWMutex
	file    *os.File
	handler slog.Handler // nil: nothing is written
}

// open begins to write to where a configuration says. On an error it goes on
// as before.
func (a *audit) open(where string) error {
	var (
		file *os.File
		w    io.Writer
	)
	switch where {
	case "none":
	case "stdout":
		w = a.stdout
	default:
		var err error
		if file, err = os.OpenFile(where, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
			return err
		}
		w = file
	}
	a.mu.Lock()
	old := a.file
	a.file, a.handler = file, nil
	if w != nil {
		a.handler = slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: lineAttr})
	}
	a.mu.Unlock()
	if old != nil {
		old.Close()
	}
	return nil
}

// lineAttr leaves out what every line would have alike.
func lineAttr(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

func (a *audit) event(role string, e egress.Event) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.handler == nil {
		return
	}
	r := slog.NewRecord(e.Time, slog.LevelInfo, "", 0)
	r.AddAttrs(slog.String("role", role))
	r.AddAttrs(e.LogAttrs()...)
	if a.handler.Handle(context.Background(), r) != nil {
		a.failed()
	}
}

func (a *audit) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handler = nil
	if a.file != nil {
		a.file.Close()
		a.file = nil
	}
}
