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
	making  int // in the background, for ready
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

// refill starts what is missing. The caller holds p.mu.
func (p *Pool[T]) refill() {
	if p.closed || p.failing {
		return
	}
	for len(p.ready)+p.making < p.o.Warm {
		p.making++
		p.wg.Go(func() {
			v, err := p.o.Make(p.ctx)
			p.mu.Lock()
			p.making--
			keep := err == nil && !p.closed
			if keep {
				p.ready = append(p.ready, v)
			}
			p.failing = err != nil
			p.mu.Unlock()
			if err == nil && !keep {
				p.o.Dispose(v)
			}
		})
	}
}

// Acquire leases a value: a ready one, else a new one. It waits only for its
// making, which ctx bounds; at the bound it returns [ErrBusy]. The caller must
// call release exactly once; the value is then disposed of in the background.
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
	got := len(p.ready) > 0
	if got {
		v = p.ready[0]
		p.ready = p.ready[1:]
	}
	p.mu.Unlock()
	if !got {
		v, err = p.o.Make(ctx)
		p.mu.Lock()
		p.failing = err != nil
		if err != nil {
			p.leased--
			p.mu.Unlock()
			return v, nil, err
		}
		p.mu.Unlock()
	}
	return v, sync.OnceFunc(func() { p.release(v) }), nil
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
