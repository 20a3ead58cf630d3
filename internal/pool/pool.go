// Package pool hands out things that are used once and are slow to make, such
// as blank browser tabs: it keeps a few ready, bounds how many are out, and
// makes and disposes in the background.
//
// It knows nothing of what it pools, and it has no queue: when the bound is
// reached, the answer is [ErrBusy], at once.
package pool

import (
	"context"
	"errors"
	"slices"
	"sync"
)

var (
	// ErrBusy: as many are leased as may be.
	ErrBusy = errors.New("pool: busy")
	// ErrClosed: the pool was closed.
	ErrClosed = errors.New("pool: closed")
)

// Options of a pool. Size, Make and Dispose are required.
type Options[T any] struct {
	// Size is the most leases at one time.
	Size int
	// Warm is how many unused ones are kept ready. Zero keeps none.
	Warm int
	// Make makes one. In the background its context ends with the pool.
	Make func(context.Context) (T, error)
	// Prepare, if not nil, does what will save time later to one that was made
	// while nobody waits. One on which it fails is disposed of.
	Prepare func(context.Context, T) error
	// Dispose ends one that was leased, or that is no longer wanted.
	Dispose func(T)
}

// Pool leases single-use values. Close it.
type Pool[T any] struct {
	o      Options[T]
	ctx    context.Context // ends with the pool
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	ready   []T
	making  bool     // one for ready is being made
	waiting []chan T // callers that take the next one made; closed if it failed
	leased  int
	failing bool // the last making in the background failed: the next one is on demand
	closed  bool
}

// New returns an empty pool and starts to fill it.
func New[T any](o Options[T]) *Pool[T] {
	p := &Pool[T]{o: o}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.mu.Lock()
	p.refill()
	p.mu.Unlock()
	return p
}

// refill starts to make what is missing, one after the other: they would only
// slow each other down. The caller holds p.mu.
func (p *Pool[T]) refill() {
	if p.closed || p.failing || p.making || len(p.ready) >= p.o.Warm {
		return
	}
	p.making = true
	p.wg.Go(func() {
		v, err := p.o.Make(p.ctx)
		if err == nil && p.o.Prepare != nil && !p.awaited() {
			if err = p.o.Prepare(p.ctx, v); err != nil {
				p.o.Dispose(v)
			}
		}
		p.mu.Lock()
		p.making, p.failing = false, err != nil
		if err != nil {
			for _, w := range p.waiting {
				close(w)
			}
			p.waiting = nil
			p.mu.Unlock()
			return
		}
		unwanted := false
		switch {
		case len(p.waiting) > 0:
			p.waiting[0] <- v
			p.waiting = p.waiting[1:]
		case p.closed:
			unwanted = true
		default:
			p.ready = append(p.ready, v)
		}
		p.refill()
		p.mu.Unlock()
		if unwanted {
			p.o.Dispose(v)
		}
	})
}

// awaited reports that a caller waits for the one that is being made.
func (p *Pool[T]) awaited() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) > 0
}

// Acquire leases a value: a ready one, else the one that is being made, else a
// new one. It waits only for its making, which ctx bounds; at the bound it
// returns [ErrBusy]. The caller must call release exactly once; the value is
// then disposed of in the background.
func (p *Pool[T]) Acquire(ctx context.Context) (v T, release func(), err error) {
	p.mu.Lock()
	switch {
	case p.closed:
		err = ErrClosed
	case p.leased >= p.o.Size:
		err = ErrBusy
	}
	if err != nil {
		p.mu.Unlock()
		return v, nil, err
	}
	p.leased++
	var next chan T
	got := len(p.ready) > 0
	switch {
	case got:
		v, p.ready = p.ready[0], p.ready[1:]
	case p.making && len(p.waiting) == 0:
		next = make(chan T, 1)
		p.waiting = append(p.waiting, next)
	}
	p.mu.Unlock()
	if next != nil {
		v, got, err = p.await(ctx, next)
	}
	if !got && err == nil {
		v, err = p.o.Make(ctx)
		p.mu.Lock()
		p.failing = err != nil
		p.mu.Unlock()
	}
	if err != nil {
		p.mu.Lock()
		p.leased--
		p.mu.Unlock()
		return v, nil, err
	}
	return v, sync.OnceFunc(func() { p.release(v) }), nil
}

// await waits for the value that is being made; without one, and without an
// error, its making has failed.
func (p *Pool[T]) await(ctx context.Context, next chan T) (v T, got bool, err error) {
	select {
	case v, got = <-next:
		return v, got, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.waiting = slices.DeleteFunc(p.waiting, func(w chan T) bool { return w == next })
	p.mu.Unlock()
	select {
	case v, got = <-next: // it came at the same time
		if got {
			return v, true, nil
		}
	default:
	}
	return v, false, context.Cause(ctx)
}

func (p *Pool[T]) release(v T) {
	p.mu.Lock()
	p.leased--
	p.refill()
	p.wg.Add(1) // under the lock: Close waits after it has set closed
	p.mu.Unlock()
	go func() {
		defer p.wg.Done()
		p.o.Dispose(v)
	}()
}

// Leased returns how many are out.
func (p *Pool[T]) Leased() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leased
}

// Close disposes of what is ready and returns when nothing is being made or
// disposed of. Leases must have been released before.
func (p *Pool[T]) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		p.wg.Wait()
		return
	}
	p.closed = true
	ready := p.ready
	p.ready = nil
	p.mu.Unlock()
	p.cancel()
	for _, v := range ready {
		p.o.Dispose(v)
	}
	p.wg.Wait()
}
