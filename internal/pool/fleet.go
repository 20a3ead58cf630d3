package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The refusals of a [Fleet]. None of them started anything.
var (
	// ErrTenantBusy: the tenant has as many leases as it may have.
	ErrTenantBusy = errors.New("pool: the tenant's share is in use")
	// ErrDraining: nothing new is admitted any more.
	ErrDraining = errors.New("pool: draining")
)

// BackoffError is returned while no worker is started because starts have
// failed, or workers have died, again and again.
type BackoffError struct {
	// Until is when the next start may be tried.
	Until time.Time
	// Err is why the last start failed; nil if workers started and then died.
	Err error
}

func (e *BackoffError) Error() string {
	if e.Err == nil {
		return "pool: workers die again and again"
	}
	return "pool: waiting after failed starts: " + e.Err.Error()
}

func (e *BackoffError) Unwrap() error { return e.Err }

// FleetOptions of a [Fleet]. Workers, Leases, Start, Close and Done are
// required; functions that are nil are not asked.
type FleetOptions[W comparable] struct {
	// Workers is the most that run at one time. One more may run while it
	// replaces another.
	Workers int
	// Leases is the most at one time, over all workers.
	Leases int
	// Share returns the most leases of a tenant at one time; zero is Leases.
	Share func(tenant string) int
	// Shared lets tenants use a worker at the same time and after each other.
	// Otherwise a worker serves one tenant in its life.
	Shared bool
	// Wait is how long a caller waits at most for another's release. Zero is
	// not at all. At most Leases callers wait.
	Wait time.Duration

	// Start starts a worker. Its context ends with the fleet.
	Start func(context.Context) (W, error)
	// Close ends a worker. It is called once, after its last lease has ended.
	Close func(W)
	// Done returns what is closed when the worker is of no more use.
	Done func(W) <-chan struct{}

	// A worker is replaced after so many leases, and so long. Zero is never.
	Uses int
	Age  time.Duration
	// Idle is how long a worker that nobody uses is kept while there are
	// others. Zero is until its place is needed.
	Idle time.Duration
	// Check looks at a worker each Every, while it works. With [ErrWorn] in its
	// error it is replaced when there is a replacement; any other error ends
	// its service at once.
	Check func(context.Context, W) error
	Every time.Duration
	// Room says why, with so many running, no further worker has room. It is
	// not asked for the first.
	Room func(running int) error
	// Log is told what an operator should know.
	Log func(msg string, args ...any)
}

// ErrWorn in the error of [FleetOptions].Check asks for a replacement.
var ErrWorn = errors.New("pool: worn")

// Fleet keeps workers: things that are slow to start, serve many callers at a
// time, wear out and die. It gives callers one at once or refuses at once
// (unless [FleetOptions].Wait says otherwise), bounds how many run, and replaces
// them before they are worn out, so that no caller waits for it. Close it.
type Fleet[W comparable] struct {
	o      FleetOptions[W]
	life   context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup // starts, ends, watchers

	mu       sync.Mutex
	state    int // open, draining or closed
	workers  []*member[W]
	winding  int // workers whose end waits for their last leases
	starts   []*start
	admitted int
	tenants  map[string]int // admitted, by tenant
	waiters  []*waiter
	failed   backoff            // of starts
	crashes  map[string]backoff // of workers, by tenant
}

const (
	open = iota
	draining
	closed
)

// member is a worker with what is known of it, guarded by Fleet.mu.
type member[W comparable] struct {
	w       W
	tenant  string // "" until it is leased, and while Shared
	busy    int
	uses    int
	born    time.Time
	used    time.Time // when last leased or released
	worn    bool
	retired bool          // in no list any more; ends with its last lease
	counted bool          // in Fleet.winding
	over    chan struct{} // closed when it has been retired
	empty   chan struct{} // closed when it has been retired and nobody uses it
}

// start is a start that is under way. It belongs to the fleet, not to the call
// that asked for it: calls that give up do not end it.
type start struct {
	tenant string        // "" until a caller needs it
	done   chan struct{} // closed when it has ended
	err    error         // set before done is closed
}

// NewFleet returns a fleet without workers.
func NewFleet[W comparable](o FleetOptions[W]) *Fleet[W] {
	f := &Fleet[W]{o: o, tenants: map[string]int{}, crashes: map[string]backoff{}}
	if f.o.Log == nil {
		f.o.Log = func(string, ...any) {}
	}
	f.life, f.cancel = context.WithCancel(context.Background())
	return f
}

// Admit counts a caller in, or fails at once: with [ErrBusy], [ErrTenantBusy],
// [ErrDraining] or [ErrClosed]. Who is admitted may lease workers, one at a
// time, and must call done exactly once.
func (f *Fleet[W]) Admit(ctx context.Context, tenant string) (done func(), err error) {
	err = f.await(ctx, tenant, func() error { return f.admit(tenant) })
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.admitted--
		if f.tenants[tenant]--; f.tenants[tenant] == 0 {
			delete(f.tenants, tenant)
		}
		f.wake()
	}), nil
}

// admit is one attempt. The caller holds f.mu.
func (f *Fleet[W]) admit(tenant string) error {
	share := 0
	if f.o.Share != nil {
		share = f.o.Share(tenant)
	}
	switch {
	case f.state == closed:
		return ErrClosed
	case f.state == draining:
		return ErrDraining
	case share > 0 && f.tenants[tenant] >= share:
		return ErrTenantBusy
	case f.admitted >= f.o.Leases:
		return ErrBusy
	}
	f.admitted++
	f.tenants[tenant]++
	return nil
}

// maxStarts bounds how often one caller waits for a worker that is then of no
// use to it.
const maxStarts = 3

// Lease gives an admitted caller a worker of its tenant's. It waits for a start
// if need be, which ctx bounds; with as many workers as may be, all of them at
// work for others, it fails with [ErrBusy]. The caller must call release exactly
// once.
func (f *Fleet[W]) Lease(ctx context.Context, tenant string) (w W, release func(), err error) {
	for range maxStarts {
		var m *member[W]
		var s *start
		err := f.await(ctx, tenant, func() (err error) {
			if f.state == closed {
				return ErrClosed
			}
			if m = f.usable(tenant); m != nil {
				f.take(m, tenant)
				return nil
			}
			s, err = f.begin(tenant)
			return err
		})
		if err != nil {
			return w, nil, err
		}
		if m != nil {
			return m.w, sync.OnceFunc(func() { f.release(m) }), nil
		}
		select {
		case <-s.done:
			if s.err != nil {
				return w, nil, s.err
			}
		case <-ctx.Done():
			return w, nil, context.Cause(ctx)
		}
	}
	return w, nil, fmt.Errorf("pool: workers ended at once, %d times", maxStarts)
}

// Ready returns when there is a worker that anybody may use, or why there
// cannot be one.
func (f *Fleet[W]) Ready(ctx context.Context) error {
	f.mu.Lock()
	if f.state != open {
		f.mu.Unlock()
		return ErrClosed
	}
	if f.usable("") != nil {
		f.mu.Unlock()
		return nil
	}
	s, err := f.begin("")
	f.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// usable returns a worker that may serve the tenant, or nil: one that is not
// worn rather than one that is. The caller holds f.mu.
func (f *Fleet[W]) usable(tenant string) *member[W] {
	var best *member[W]
	for _, m := range f.workers {
		mine := f.o.Shared || tenant == "" || m.tenant == "" || m.tenant == tenant
		if !mine || f.dead(m) {
			continue
		}
		if best == nil || best.worn && !m.worn || best.worn == m.worn && best.tenant == "" && m.tenant != "" {
			best = m
		}
	}
	return best
}

func (f *Fleet[W]) dead(m *member[W]) bool {
	select {
	case <-f.o.Done(m.w):
		return true
	default:
		return false
	}
}

// take counts a lease of a worker. The caller holds f.mu.
func (f *Fleet[W]) take(m *member[W], tenant string) {
	if !f.o.Shared {
		m.tenant = tenant
	}
	m.busy++
	m.uses++
	m.used = time.Now()
	f.judge(m)
}

func (f *Fleet[W]) release(m *member[W]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m.busy--
	m.used = time.Now()
	if m.retired {
		f.vacate(m)
	} else {
		f.judge(m)
	}
	f.wake()
}

// judge has a worn worker replaced, if there is room for a replacement beside
// it. Until that is up the worn one serves on. The caller holds f.mu.
func (f *Fleet[W]) judge(m *member[W]) {
	if f.o.Uses > 0 && m.uses >= f.o.Uses || f.o.Age > 0 && time.Since(m.born) >= f.o.Age {
		m.worn = true
	}
	if !m.worn || f.state != open || f.running() > f.o.Workers || f.running() > 1 && f.noRoom() != nil {
		return
	}
	for _, s := range f.starts {
		if s.tenant == m.tenant {
			return
		}
	}
	for _, o := range f.workers {
		if !o.worn && o.tenant == m.tenant {
			f.retire(m) // replaced already
			return
		}
	}
	f.launch(m.tenant)
}

func (f *Fleet[W]) noRoom() error {
	if f.o.Room == nil {
		return nil
	}
	return f.o.Room(f.running())
}

// running counts the workers that take memory. The caller holds f.mu.
func (f *Fleet[W]) running() int { return len(f.workers) + len(f.starts) + f.winding }

// Leased returns how many callers are admitted.
func (f *Fleet[W]) Leased() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.admitted
}

// Drain admits nobody any more, with [ErrDraining]. Who is admitted goes on.
func (f *Fleet[W]) Drain() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = max(f.state, draining)
	f.wake()
}

// Close ends all workers and returns when the last one has ended. Leases must
// have been released before, or be released soon. It is idempotent.
func (f *Fleet[W]) Close() {
	f.mu.Lock()
	f.state = closed
	for _, m := range slices.Clone(f.workers) {
		f.retire(m)
	}
	f.wake()
	f.mu.Unlock()
	f.cancel()
	f.wg.Wait()
}
