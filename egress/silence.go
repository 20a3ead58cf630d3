package egress

import (
	"sync/atomic"
	"time"
)

// errSilent is why [Run.CutSilent] ends what it ends.
var errSilent = &Error{Reason: ReasonConnection, What: "silent for too long"}

// stopwatch tells for how long nothing has moved. It does not follow the wall
// clock, which may be set. It is safe for concurrent use.
type stopwatch struct {
	started time.Time
	moved   atomic.Int64 // nanoseconds from started to the last movement
}

func newStopwatch() *stopwatch { return &stopwatch{started: time.Now()} }

// move notes that something has moved.
func (s *stopwatch) move() { s.moved.Store(int64(time.Since(s.started))) }

// last returns when something moved last.
func (s *stopwatch) last() time.Time { return s.started.Add(time.Duration(s.moved.Load())) }

// live is a tunnel or a plain http exchange that a run has open.
type live struct {
	watch *stopwatch
	cut   func()
}

// track lets CutSilent find l until untrack is called.
func (r *Run) track(l *live) (untrack func()) {
	r.mu.Lock()
	r.live[l] = struct{}{}
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		delete(r.live, l)
		r.mu.Unlock()
	}
}

// CutSilent ends every tunnel and every plain http exchange of the run over
// which nothing has moved for d, and returns how many. A reader that waits for
// a page which waits for what will never come uses it to go on: a request that
// has got no answer yet is answered with a connection_failed of the proxy's.
func (r *Run) CutSilent(d time.Duration) int {
	before := time.Now().Add(-d)
	r.mu.Lock()
	var silent []*live
	for l := range r.live {
		if !l.watch.last().After(before) {
			silent = append(silent, l)
		}
	}
	r.mu.Unlock()
	for _, l := range silent {
		l.cut()
	}
	return len(silent)
}
