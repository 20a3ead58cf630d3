package bellglass

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"

	"github.com/chromedp/cdproto/browser"

	"github.com/bellglass/bellglass/internal/memory"
	"github.com/bellglass/bellglass/internal/pool"
)

const (
	// startTimeout bounds a browser's start, which takes a quarter of a second
	// on an idle machine. It is shorter than a call, so that a call can tell
	// why it failed.
	startTimeout = 20 * time.Second
	// checkEvery is how often a browser's health and memory are looked at: some
	// milliseconds of a processor for ten processes.
	checkEvery = 15 * time.Second
	// healthTimeout is how long a browser may take to say its version, and
	// strikes how often in a row it may not. It takes a millisecond, or seconds
	// on a machine that has far too much to do.
	healthTimeout = 10 * time.Second
	strikes       = 2
	// idleBrowser is how long a tenant's browser that nobody uses is kept beside
	// others.
	idleBrowser = 5 * time.Minute
)

// newFleet makes the browsers' fleet.
func (b *Browser) newFleet() *pool.Fleet[*worker] {
	return pool.NewFleet(pool.FleetOptions[*worker]{
		Workers: b.o.MaxBrowsers, Leases: b.o.MaxPages, Shared: b.o.Isolation == IsolationShared, Wait: b.o.QueueTimeout,
		Share: func(tenant string) int { return b.o.quota(tenant).Pages },
		Start: func(ctx context.Context) (*worker, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errors.New("not within 20 s"))
			defer cancel()
			return b.start(ctx)
		},
		Close: b.endWorker,
		Done:  func(w *worker) <-chan struct{} { return w.slots.broken },
		Uses:  b.o.RecyclePages, Age: b.o.RecycleAge, Idle: idleBrowser,
		Check: b.inspect, Every: checkEvery, Room: b.room,
		Log: func(msg string, args ...any) { b.log.Warn(msg, args...) },
	})
}

// lease gives an admitted call a blank page of the tenant's browser, and starts
// or replaces browsers when needed.
func (b *Browser) lease(ctx context.Context, tenant string) (*slot, func(), error) {
	defer b.span(ctx, SpanAcquire)()
	for try := 0; ; try++ {
		w, done, err := b.fleet.Lease(ctx, tenant)
		if err != nil {
			if errors.Is(err, pool.ErrClosed) {
				err = ErrClosed
			}
			return nil, nil, err
		}
		s, release, err := w.pool.Acquire(ctx)
		for dead := 0; err == nil && s.tab.Crashed() && dead < endpoints(0); dead++ { // while it was kept ready
			release()
			s, release, err = w.pool.Acquire(ctx)
		}
		if err == nil {
			return s, sync.OnceFunc(func() {
				s.end.Release()
				release()
				done()
			}), nil
		}
		// A browser that cannot even open a page is replaced, once.
		if ctx.Err() == nil {
			w.distrust()
		}
		done()
		if try > 0 || ctx.Err() != nil {
			return nil, nil, err
		}
	}
}

// endWorker ends a browser that nobody uses.
func (b *Browser) endWorker(w *worker) {
	w.distrust() // nothing waits for its listeners any more
	w.pool.Close()
	if err := w.proc.Close(); err != nil {
		b.log.Warn("profile was not removed whole", "error", err)
	}
	w.slots.close()
}

// inspect looks at a browser's memory and health. One that does not answer is
// ended: its calls would only wait for their deadlines.
func (b *Browser) inspect(ctx context.Context, w *worker) error {
	used := memory.Tree(os.DirFS("/"), w.proc.Pid())
	b.mu.Lock()
	b.heaviest = max(b.heaviest, used)
	b.mu.Unlock()
	asked, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	_, err := cdpt.Call(asked, w.proc.Browser, browser.GetVersion, cdpt.Empty{})
	switch {
	case err == nil:
		w.missed.Store(0)
	case ctx.Err() != nil:
		return nil // the fleet ends
	case w.missed.Add(1) >= strikes:
		w.proc.Close()
		return fmt.Errorf("it does not answer: %w", err)
	}
	if limit := b.o.RecycleMemory; used > limit {
		return fmt.Errorf("%w: it uses %d MiB, more than %d", pool.ErrWorn, used>>20, limit>>20)
	}
	return nil
}
