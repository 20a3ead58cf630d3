package egress

import (
	"sync/atomic"
	"time"
)

// errSilent is why [Run.CutSilent] ends what it ends.
var errSilent = &Error{Reason: ReasonConnection, What: "silent for too long"}

// live is a tunnel or a plain http exchange that a run has open.
type live struct {
	moved *atomic.Int64 // when bytes last moved, in nanoseconds since the epoch
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
	before := time.Now().Add(-d).UnixNano()
	r.mu.Lock()
	var silent []*live
	for l := range r.live {
		if l.moved.Load() <= before {
			silent = append(silent, l)
		}
	}
	r.mu.Unlock()
	for _, l := range silent {
		l.cut()
	}
	return len(silent)
}
