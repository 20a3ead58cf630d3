package bellglass

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/pool"
	"github.com/bellglass/bellglass/internal/tab"
)

// warmPages is how many blank pages a worker keeps ready. Making one takes
// about 50 ms, twice what a small page takes to read.
const warmPages = 2

// worker is one Chromium with its warm pages. Unless tenants share browsers it
// serves one of them in its life: a browser that one tenant's page has
// compromised must not find another's.
type worker struct {
	proc   *chrome.Process
	host   *tab.Host
	pool   *pool.Pool[*slot]
	slots  *slots
	missed atomic.Int32 // health checks in a row

	mu      sync.Mutex
	suspect bool // it has ended, or a page could not be closed
}

// distrust has the worker replaced.
func (w *worker) distrust() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.suspect {
		w.suspect = true
		close(w.slots.broken)
	}
}

// slot is one blank page and the listener that its context uses as proxy.
type slot struct {
	*worker
	end *egress.Endpoint
	tab *tab.Tab

	once   sync.Once
	closed error // of the tab
}

// close disposes of the slot's context. It is idempotent.
func (s *slot) close() error {
	s.once.Do(func() { s.closed = s.tab.Close(context.Background()) })
	return s.closed
}

var errFind = errors.New("no browser")

func (w *worker) dead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.suspect || w.proc.Err() != nil
}

// fell reports that the whole browser has ended, and not because a page of it
// took more than it may: what it was doing may be done again in another one.
func (w *worker) fell() bool {
	if w.proc.Err() == nil {
		return false
	}
	select {
	case <-w.proc.Exited():
		return w.proc.Ended() == nil
	case <-time.After(time.Second):
		return true
	}
}

// start launches a browser.
func (b *Browser) start(ctx context.Context) (*worker, error) {
	bin, err := b.find()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFind, err)
	}
	if chrome.Headful(b.o.Getenv) && !chrome.Display(b.o.Getenv) {
		return nil, fmt.Errorf("%w: a window is asked for, but there is no display; unset BELLGLASS_BROWSER_HEADLESS or set DISPLAY", errStart)
	}
	w := &worker{host: tab.NewHost()}
	w.proc, err = chrome.Start(ctx, chrome.Options{
		Binary: bin, Seals: b.startSeals(), Listeners: endpoints(b.o.MaxPages), Limits: b.o.limits(), Headful: chrome.Headful(b.o.Getenv),
		UserAgent: b.o.UserAgent, Trust: b.trust, OnAttach: w.host.Attach, UnsafeFlags: b.o.UnsafeBrowserFlags,
	})
	if err == nil {
		if err = w.host.Bind(ctx, w.proc.Conn); err != nil {
			w.proc.Close()
		}
	}
	if err != nil {
		if refused := (*chrome.SealError)(nil); errors.As(err, &refused) {
			return nil, fmt.Errorf("%w: %w", errSeal, err)
		}
		return nil, fmt.Errorf("%w: %w", errStart, err)
	}
	w.slots = newSlots(b.proxy, w.proc)
	go func() {
		select {
		case <-w.proc.Done():
		case <-w.proc.Exited():
		}
		w.distrust()
	}()
	b.announce(w)
	w.pool = pool.New(pool.Options[*slot]{
		Size: b.o.MaxPages, Warm: min(b.o.MaxPages, warmPages),
		Make:    func(ctx context.Context) (*slot, error) { return b.open(ctx, w) },
		Prepare: func(ctx context.Context, s *slot) error { return s.prime(ctx) },
		Dispose: func(s *slot) {
			if s.close() != nil {
				w.distrust()
			} else {
				w.slots.free <- s.end
			}
		},
	})
	return w, nil
}

func (b *Browser) find() (chrome.Binary, error) {
	getenv := b.o.Getenv
	if b.o.BrowserBin != "" {
		getenv = func(k string) string {
			if k == "BELLGLASS_BROWSER_BIN" {
				return b.o.BrowserBin
			}
			return b.o.Getenv(k)
		}
	}
	return chrome.Find(chrome.FindOptions{Getenv: getenv, Full: chrome.Headful(b.o.Getenv)})
}

// announce logs the start, and once how well the browser is sealed.
func (b *Browser) announce(w *worker) {
	b.log.Info("browser started", "version", w.proc.Version, "pid", w.proc.Pid(), "seal", w.proc.Seal)
	b.sealed(SealLevel(w.proc.Seal), w.proc.Unsealed)
	b.watch(w.proc)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.warned {
		return
	}
	b.warned = true
	if why := w.proc.SandboxOff; why != "" {
		b.log.Warn("Chromium's own sandbox is off; run bellglass as an ordinary user to have it", "reason", why)
	}
	if chrome.Headful(b.o.Getenv) {
		b.log.Warn("the browser shows a window: for local debugging only")
	}
}

// openTimeout bounds the making of a blank page, which takes 50 ms on an idle
// machine. A browser that cannot do it has lost one of its processes.
const openTimeout = 10 * time.Second

// open makes a blank page with a listener of its own. If that fails, the
// browser is not used further.
func (b *Browser) open(ctx context.Context, w *worker) (*slot, error) {
	defer b.span(ctx, SpanContext)()
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	end, err := w.slots.take(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a listener: %w", err)
	}
	t, err := w.host.Open(ctx, tab.Config{Proxy: end.Addr().String()})
	if err != nil {
		if caller.Err() != nil && !errors.Is(err, tab.ErrLeft) {
			w.slots.free <- end
		} else {
			end.Close()
			w.distrust()
		}
		return nil, fmt.Errorf("%w: %w", errStart, err)
	}
	return &slot{worker: w, end: end, tab: t}, nil
}

// prime readies a blank page that nobody waits for. On a busy machine it takes
// a third as long as making one, which is better spent on who waits.
func (s *slot) prime(ctx context.Context) error {
	pool := ctx
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	err := s.tab.Prime(ctx)
	if err != nil && pool.Err() == nil {
		s.distrust()
	}
	return err
}
