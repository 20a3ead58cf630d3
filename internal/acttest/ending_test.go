package acttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
)

// logged keeps what a browser of a test's own tells its operator.
type logged struct {
	slog.Handler
	mu      sync.Mutex
	pid     int // of the browser that was started last
	records []string
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "pid" && r.Message == "browser started" {
			l.pid = int(a.Value.Int64())
		}
		line += " " + a.String()
		return true
	})
	l.records = append(l.records, line)
	return nil
}

func (l *logged) browser() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pid
}

func (l *logged) has(words string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.records, func(r string) bool { return strings.Contains(r, words) })
}

// own makes a browser of a test's own, with a log.
func own(t *testing.T, change func(*bellglass.Options)) (*bellglass.Browser, *logged) {
	t.Helper()
	l := &logged{}
	o := options()
	o.Logger = slog.New(l)
	if change != nil {
		change(&o)
	}
	b, err := bellglass.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b, l
}

// gone reports whether a process has ended.
func gone(pid int) bool { return syscall.Kill(pid, 0) != nil }

// TestACloseThatFailsKillsTheBrowserAndIsTold: a browser that stands still
// cannot dispose of a context. However the session comes to its end, the
// process is dead afterwards, and whoever could be told is: the caller of Close
// and With, the operator in the log, the latter also of a panic, and of sessions
// that end by themselves. The next session gets another browser.
func TestACloseThatFailsKillsTheBrowserAndIsTold(t *testing.T) {
	t.Parallel()
	const failure = "ERROR session did not close in order"
	few := make(chan struct{}, 2) // browsers at one time
	stop := func(l *logged) { syscall.Kill(l.browser(), syscall.SIGSTOP) }
	for name, k := range map[string]struct {
		o   bellglass.SessionOptions
		end func(t *testing.T, b *bellglass.Browser, o bellglass.SessionOptions, l *logged) error
	}{
		"Close": {anywhere, func(t *testing.T, b *bellglass.Browser, o bellglass.SessionOptions, l *logged) error {
			s, err := b.Open(t.Context(), who, o)
			if err != nil {
				t.Fatal(err)
			}
			stop(l)
			return s.Close()
		}},
		"With": {anywhere, func(t *testing.T, b *bellglass.Browser, o bellglass.SessionOptions, l *logged) error {
			return b.With(t.Context(), who, o, func(*bellglass.Session) error { stop(l); return nil })
		}},
		"panic": {anywhere, func(t *testing.T, b *bellglass.Browser, o bellglass.SessionOptions, l *logged) error {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			b.With(t.Context(), who, o, func(*bellglass.Session) error { stop(l); panic("x") })
			return nil
		}},
		"cancellation": {anywhere, func(t *testing.T, b *bellglass.Browser, o bellglass.SessionOptions, l *logged) error {
			ctx, cancel := context.WithCancel(t.Context())
			return b.With(ctx, who, o, func(s *bellglass.Session) error { stop(l); cancel(); <-s.Done(); return nil })
		}},
		"idle": {withTimes(time.Second, time.Hour), endsByItself},
		"age":  {withTimes(time.Hour, time.Second), endsByItself},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			few <- struct{}{}
			defer func() { <-few }()
			b, l := own(t, func(o *bellglass.Options) { o.MaxPages = 1 })
			defer b.Close()
			err := k.end(t, b, k.o, l)
			pid := l.browser()
			if err == nil && name != "panic" {
				t.Error("the failure was not told")
			}
			if !gone(pid) {
				t.Errorf("process %d is alive", pid)
			}
			if !l.has(failure) {
				t.Errorf("the log has no word of it: %q", l.records)
			}
			err = b.With(t.Context(), who, anywhere, func(s *bellglass.Session) error {
				if v := s.Navigate(t.Context(), bellglass.NavigateRequest{URL: serve(strings.ToLower(name)+".next.test", "<!doctype html><title>Next</title>fine")}); v.Status != bellglass.StatusOK {
					return fmt.Errorf("%s: %w", v.Reason, v.Err)
				}
				return nil
			})
			if err != nil || l.browser() == pid {
				t.Errorf("the next session: %v, process %d", err, l.browser())
			}
		})
	}
}

func withTimes(idle, age time.Duration) bellglass.SessionOptions {
	o := anywhere
	o.IdleTimeout, o.MaxAge = idle, age
	return o
}

// endsByItself waits for the end of a session whose browser stands still.
func endsByItself(t *testing.T, b *bellglass.Browser, o bellglass.SessionOptions, l *logged) error {
	s, err := b.Open(t.Context(), who, o)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(l.browser(), syscall.SIGSTOP)
	select {
	case <-s.Done():
	case <-time.After(time.Minute):
		t.Error("it has not ended")
	}
	return s.Close() // waits for the end
}

// TestKilledBrowserEndsItsSessionsHonestly: a browser that is killed in a call
// is an answer, the session says that it is lost, and the next one works. Until
// then no process of it knows what was in our environment.
func TestKilledBrowserEndsItsSessionsHonestly(t *testing.T) {
	const canary = "BELLGLASS_TEST_CANARY_OF_THE_ENVIRONMENT"
	t.Setenv(canary, "secret")
	b, l := own(t, nil)
	s, err := b.Open(t.Context(), who, anywhere)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, pid := range group(l.browser()) {
		if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil {
			seen++
			if strings.Contains(string(env), canary) {
				t.Errorf("process %d has our environment", pid)
			}
		}
	}
	if own, err := os.ReadFile("/proc/self/cmdline"); err != nil || len(own) == 0 || seen == 0 {
		t.Errorf("%d processes were looked at", seen)
	}
	web.Handle("killer.test", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { syscall.Kill(l.browser(), syscall.SIGKILL) }))
	v := s.Navigate(t.Context(), bellglass.NavigateRequest{URL: "http://killer.test/"})
	if v.Status != bellglass.StatusError || v.Reason != bellglass.ReasonBrowserCrashed {
		t.Errorf("in the call: %s %v", v.Reason, v.Err)
	}
	if v := s.State(t.Context(), bellglass.StateRequest{}); v.Status == bellglass.StatusOK {
		t.Errorf("afterwards: %s", v.Digest())
	}
	s.Close()
	err = b.With(t.Context(), who, anywhere, func(s *bellglass.Session) error {
		if v := s.Navigate(t.Context(), bellglass.NavigateRequest{URL: serve("after.killer.test", "<!doctype html>fine")}); v.Status != bellglass.StatusOK {
			return errors.New(string(v.Reason))
		}
		return nil
	})
	if err != nil {
		t.Errorf("the next session: %v", err)
	}
}

// group lists the processes of a process group.
func group(pid int) []int {
	var out []int
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		n, _ := strconv.Atoi(filepath.Base(p))
		if g, err := syscall.Getpgid(n); err == nil && g == pid || n == pid {
			out = append(out, n)
		}
	}
	return out
}

// TestFullPoolIsBusyAtOnce: a session more than there are pages is told to come
// back later, and starts nothing.
func TestFullPoolIsBusyAtOnce(t *testing.T) {
	t.Parallel()
	b, _ := own(t, func(o *bellglass.Options) { o.MaxPages = 1 })
	err := b.With(t.Context(), who, anywhere, func(*bellglass.Session) error {
		_, err := b.Open(t.Context(), bellglass.Principal{Tenant: "another", Run: "1"}, anywhere)
		var e *bellglass.Error
		if !errors.As(err, &e) || e.Status != bellglass.StatusBusy || e.Reason != bellglass.ReasonPoolFull {
			t.Errorf("got %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
