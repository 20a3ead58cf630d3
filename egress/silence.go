package egress

import (
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/bellglass/bellglass/policy"
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

// errRevoked is why [Run.Update] ends what it ends.
var errRevoked = &policy.Refusal{Reason: policy.ReasonHost, What: "no longer allowed"}

// live is a tunnel or a plain http exchange that a run has open.
type live struct {
	watch *stopwatch
	cut   func(why error) // may be called more than once
	place place           // guarded by Run.mu once it is tracked
}

// place is where something leads, and the rules that let it.
type place struct {
	hp    hostPort
	tls   bool
	addr  netip.Addr // invalid while unknown, and through a gateway
	rules *policy.Rules
}

// place returns where an attempt that was admitted leads.
func (a *attempt) place(tls bool) place {
	return place{a.hp, tls, a.route.addr, a.cfg.Rules}
}

// allowedBy reports whether other rules would have let it, too.
func (p place) allowedBy(rules *policy.Rules) bool {
	if rules == p.rules {
		return true
	}
	return rules.CheckConnect(p.hp.host, p.hp.port, p.tls) == nil &&
		(!p.addr.IsValid() || rules.CheckAddr(p.hp.host, p.addr, p.hp.port) == nil)
}

// track lets CutSilent and Update find l until untrack is called. Where Update
// was faster, l is cut at once.
func (r *Run) track(l *live) (untrack func()) {
	r.mu.Lock()
	r.live[l] = struct{}{}
	allowed := l.place.allowedBy(r.config().Rules)
	r.mu.Unlock()
	if !allowed {
		l.cut(errRevoked)
	}
	return func() {
		r.mu.Lock()
		delete(r.live, l)
		r.mu.Unlock()
	}
}

// reached notes the address that a tracked exchange has come to.
func (r *Run) reached(l *live, addr netip.Addr) {
	r.mu.Lock()
	l.place.addr = addr
	allowed := l.place.allowedBy(r.config().Rules)
	r.mu.Unlock()
	if !allowed {
		l.cut(errRevoked)
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
		l.cut(errSilent)
	}
	return len(silent)
}
