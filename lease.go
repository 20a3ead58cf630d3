package bellglass

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bellglass/bellglass/internal/pool"
)

// startTimeout bounds a browser's start, which takes a quarter of a second on
// an idle machine. It is shorter than a call, so that a call can tell why it
// failed.
const startTimeout = 20 * time.Second

// launch is a start of a browser that is under way. It belongs to the Browser,
// not to the call that asked for it: calls that give up do not end it.
type launch struct {
	done chan struct{} // closed when it has ended
	err  error         // set before done is closed

	tenant string // guarded by Browser.mu; "" until a call needs it
}

// lease gives out a blank page for one call. It fails with [pool.ErrBusy] at
// once when all are out, and starts or replaces browsers when needed.
func (b *Browser) lease(ctx context.Context, tenant string) (*slot, func(), error) {
	b.mu.Lock()
	if b.leased >= b.o.MaxPages {
		b.mu.Unlock()
		return nil, nil, pool.ErrBusy
	}
	b.leased++
	b.mu.Unlock()
	s, w, release, err := b.page(ctx, tenant)
	if err != nil {
		b.unlease(nil)
		return nil, nil, err
	}
	return s, sync.OnceFunc(func() {
		s.end.Release()
		release()
		b.unlease(w)
	}), nil
}

// page takes a blank page of the tenant's browser.
func (b *Browser) page(ctx context.Context, tenant string) (*slot, *worker, func(), error) {
	for try := 0; ; try++ {
		w, err := b.started(ctx, tenant)
		if err != nil {
			return nil, nil, nil, err
		}
		s, release, err := w.pool.Acquire(ctx)
		b.mu.Lock()
		if err == nil {
			w.pages++
			b.mu.Unlock()
			return s, w, release, nil
		}
		w.busy--
		b.mu.Unlock()
		w.leases.Done()
		// A browser that cannot even open a page is replaced, once.
		if try > 0 || ctx.Err() != nil {
			return nil, nil, nil, err
		}
		w.distrust()
	}
}

// unlease counts a call out, and out of its worker if it has one.
func (b *Browser) unlease(w *worker) {
	b.mu.Lock()
	b.leased--
	if w != nil {
		w.busy--
	}
	b.mu.Unlock()
	if w != nil {
		w.leases.Done()
	}
}

// maxLaunches bounds how often one call waits for a browser that is then of no
// use to it.
const maxLaunches = 3

// started returns a worker that serves the tenant, counted as busy unless
// tenant is empty. It waits for a start if need be; ctx bounds the waiting, not
// the start.
func (b *Browser) started(ctx context.Context, tenant string) (*worker, error) {
	for range maxLaunches {
		b.mu.Lock()
		if w := b.usable(tenant); w != nil {
			if tenant != "" {
				w.tenant = tenant
				w.busy++
				w.leases.Add(1)
			}
			b.mu.Unlock()
			return w, nil
		}
		l := b.launching(tenant)
		b.mu.Unlock()
		select {
		case <-l.done:
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if l.err != nil {
				return nil, l.err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, fmt.Errorf("%w: it ended at once, %d times", errStart, maxLaunches)
}

// usable returns a worker that may serve the tenant, or nil. The caller holds
// b.mu.
func (b *Browser) usable(tenant string) *worker {
	for _, w := range b.workers {
		if !w.spent() && (tenant == "" || w.tenant == "" || w.tenant == tenant) {
			return w
		}
	}
	return nil
}

// launching returns the start that will serve the tenant: one under way, or a
// new one. The caller holds b.mu, and is a call that Close waits for.
func (b *Browser) launching(tenant string) *launch {
	for _, l := range b.launches {
		if tenant == "" || l.tenant == "" || l.tenant == tenant {
			if l.tenant == "" {
				l.tenant = tenant
			}
			return l
		}
	}
	l := &launch{done: make(chan struct{}), tenant: tenant}
	b.launches = append(b.launches, l)
	b.starting.Go(func() {
		ctx, cancel := context.WithTimeoutCause(b.life, startTimeout, errors.New("not within 20 s"))
		defer cancel()
		w, err := b.start(ctx)
		if err != nil && b.life.Err() != nil {
			err = ErrClosed
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.launches = slices.DeleteFunc(b.launches, func(o *launch) bool { return o == l })
		if l.err = err; err == nil {
			b.takeOver(w, l.tenant)
		}
		close(l.done)
	})
	return l
}

// takeOver puts a new worker into service, and ends those that it replaces: of
// other tenants the idle ones, of any tenant the spent ones. The caller holds
// b.mu.
func (b *Browser) takeOver(w *worker, tenant string) {
	w.tenant = tenant
	b.workers = slices.DeleteFunc(b.workers, func(o *worker) bool {
		done := o.spent() || o.busy == 0 && o.tenant != tenant
		if done {
			b.retire(o)
		}
		return done
	})
	b.workers = append(b.workers, w)
}

// spent reports whether the worker takes no more calls. The caller holds
// Browser.mu.
func (w *worker) spent() bool {
	return w.pages >= workerPages || time.Since(w.proc.Started) > workerAge || w.dead()
}

// retire ends a worker when its last call has. The caller holds b.mu.
func (b *Browser) retire(w *worker) {
	b.ending.Go(func() {
		w.leases.Wait()
		w.pool.Close()
		if err := w.proc.Close(); err != nil {
			b.log.Warn("profile was not removed whole", "error", err)
		}
		w.slots.close()
	})
}
