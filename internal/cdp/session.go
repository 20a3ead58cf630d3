package cdp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	cdpt "github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// Session is one attached target. It implements cdproto's cdp.Session, so every
// generated command works on it: cdp.Call(ctx, s, page.Navigate, params).
type Session struct {
	c  *Conn
	id string

	// TargetID and Type are as the browser gave them ("page", "iframe",
	// "worker", "shared_worker", "service_worker", …).
	TargetID target.ID
	Type     string

	over chan struct{} // closed when detached
	dead atomic.Bool

	mu       sync.Mutex
	handlers map[string][]*handler
	ending   []func()
}

type handler struct{ fn func(jsonv2.Value) }

var _ cdpt.Session = (*Session)(nil)

func newSession(c *Conn, id string, t target.ID, typ string) *Session {
	return &Session{c: c, id: id, TargetID: t, Type: typ, over: make(chan struct{}), handlers: map[string][]*handler{}}
}

// Done is closed when the target is detached or the connection has ended.
func (s *Session) Done() <-chan struct{} { return s.over }

// ID is the browser's name of this session, unique within the connection;
// empty for the browser's own session.
func (s *Session) ID() string { return s.id }

func (s *Session) gone() bool { return s.dead.Load() }

func (s *Session) end() {
	if !s.dead.CompareAndSwap(false, true) {
		return
	}
	close(s.over)
	s.mu.Lock()
	fs := s.ending
	s.ending = nil
	s.mu.Unlock()
	for _, f := range fs {
		f()
	}
}

// OnEnd runs f when the session ends, at once if it has ended already. f may
// run twice and must bear it.
func (s *Session) OnEnd(f func()) {
	s.mu.Lock()
	s.ending = append(s.ending, f)
	s.mu.Unlock()
	if s.gone() {
		f()
	}
}

func (s *Session) deliver(method string, params jsonv2.Value) {
	s.mu.Lock()
	hs := s.handlers[method]
	s.mu.Unlock()
	for _, h := range hs {
		h.fn(params)
	}
}

// subscribe adds fn, which runs on the reading goroutine and must not
// wait or panic.
func (s *Session) subscribe(method string, fn func(jsonv2.Value)) (off func()) {
	h := &handler{fn}
	s.mu.Lock()
	// Copy on write: deliver iterates without the lock.
	s.handlers[method] = append(append([]*handler(nil), s.handlers[method]...), h)
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		var rest []*handler
		for _, x := range s.handlers[method] {
			if x != h {
				rest = append(rest, x)
			}
		}
		s.handlers[method] = rest
	}
}

// On calls fn for every event e of the session, until off is called. fn runs
// on the connection's reading goroutine: it may send but must not wait. An
// event that does not decode is dropped.
func On[E any](s *Session, e cdpt.Event[E], fn func(*E)) (off func()) {
	return s.subscribe(e.Method, func(raw jsonv2.Value) {
		ev := new(E)
		if len(raw) > 0 && jsonv2.Unmarshal(raw, ev, jsonOpts) != nil {
			return
		}
		fn(ev)
	})
}

// subscription is how many undelivered events [Session.Subscribe] keeps.
const subscription = 1024

// Subscribe implements cdproto's cdp.Session. The channel is closed when the
// session ends and when its reader falls subscription events behind: a gap
// in the events would be worse than their end. Most callers want [On].
func (s *Session) Subscribe(method string) (<-chan jsonv2.Value, func()) {
	ch := make(chan jsonv2.Value, subscription)
	var mu sync.Mutex
	closed := false
	stop := func() {
		mu.Lock()
		defer mu.Unlock()
		if !closed {
			closed = true
			close(ch)
		}
	}
	off := s.subscribe(method, func(raw jsonv2.Value) {
		mu.Lock()
		defer mu.Unlock()
		if closed {
			return
		}
		select {
		case ch <- raw:
		default:
			closed = true
			close(ch)
		}
	})
	s.OnEnd(stop)
	return ch, func() {
		off()
		stop()
	}
}

// Call implements cdproto's cdp.Session: it sends and waits.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	raw, err := s.c.wait(ctx, s.c.start(s, method, params), method)
	if err != nil || result == nil {
		return err
	}
	if err := jsonv2.Unmarshal(raw, result, jsonOpts); err != nil {
		return fmt.Errorf("cdp: %s: decode: %w", method, err)
	}
	return nil
}

func (c *Conn) wait(ctx context.Context, p *call, method string) (jsonv2.Value, error) {
	var r reply
	select {
	case r = <-p.reply:
	default:
		select {
		case r = <-p.reply:
		case <-ctx.Done():
			c.forget(p.id)
			return nil, fmt.Errorf("cdp: %s: %w", method, context.Cause(ctx))
		}
	}
	if r.err == nil {
		return r.raw, nil
	}
	var e *Error
	if errors.As(r.err, &e) {
		e.Method = method
		return nil, e
	}
	return nil, fmt.Errorf("%w (%s)", r.err, method)
}

// Pending is a command that was sent and not yet waited for.
type Pending[R any] struct {
	s      *Session
	c      *call
	method string
}

// Go sends the command and returns at once. An answer nobody waits for is
// dropped.
func Go[P, R any](s *Session, cmd cdpt.Command[P, R], params P) Pending[R] {
	return Pending[R]{s: s, c: s.c.start(s, cmd.Method, params), method: cmd.Method}
}

// Wait returns the answer. It must be called at most once.
func (p Pending[R]) Wait(ctx context.Context) (R, error) {
	var res R
	raw, err := p.s.c.wait(ctx, p.c, p.method)
	if err != nil {
		return res, err
	}
	if len(raw) > 0 {
		if err := jsonv2.Unmarshal(raw, &res, jsonOpts); err != nil {
			return res, fmt.Errorf("cdp: %s: decode: %w", p.method, err)
		}
	}
	return res, nil
}
