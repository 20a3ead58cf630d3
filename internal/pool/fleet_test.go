package pool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellglass/bellglass/internal/pool"
)

// machine is a worker that takes a second to start.
type machine struct {
	n    int
	done chan struct{}
	die  func()
}

// works makes machines and counts.
type works struct {
	mu      sync.Mutex
	all     []*machine
	tries   int
	running int
	most    int
	fail    error
	check   func(*machine) error
}

func (w *works) start(ctx context.Context) (*machine, error) {
	w.mu.Lock()
	w.tries++
	w.running++
	w.most = max(w.most, w.running)
	w.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil || w.fail != nil {
		w.running--
		return nil, errors.Join(err, w.fail)
	}
	m := &machine{n: len(w.all), done: make(chan struct{})}
	m.die = sync.OnceFunc(func() { close(m.done) })
	w.all = append(w.all, m)
	return m, nil
}

func (w *works) close(m *machine) {
	m.die()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
}

func (w *works) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *works) counts() (tries, running, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tries, w.running, w.most
}

// fleet runs a test with a fleet whose workers must all have ended at its end.
func fleet(t *testing.T, change func(*pool.FleetOptions[*machine]), test func(*testing.T, *works, *pool.Fleet[*machine])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &works{}
		o := pool.FleetOptions[*machine]{
			Workers: 2, Leases: 4, Start: w.start, Close: w.close,
			Done: func(m *machine) <-chan struct{} { return m.done },
			Check: func(_ context.Context, m *machine) error {
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.check == nil {
					return nil
				}
				return w.check(m)
			},
			Every: 10 * time.Second,
		}
		if change != nil {
			change(&o)
		}
		f := pool.NewFleet(o)
		test(t, w, f)
		if n := f.Leased(); n != 0 {
			t.Errorf("%d are admitted at the end", n)
		}
		f.Close()
		f.Close()
		if _, running, _ := w.counts(); running != 0 {
			t.Errorf("%d workers are left", running)
		}
	})
}

// call is one caller's lease; wait is how long it took.
type call struct {
	m    *machine
	wait time.Duration
	end  func()
}

func lease(ctx context.Context, f *pool.Fleet[*machine], tenant string) (call, error) {
	before := time.Now()
	done, err := f.Admit(ctx, tenant)
	if err != nil {
		return call{wait: time.Since(before)}, err
	}
	m, release, err := f.Lease(ctx, tenant)
	if err != nil {
		done()
		return call{wait: time.Since(before)}, err
	}
	return call{m, time.Since(before), func() { release(); release(); done(); done() }}, nil
}

func must(t *testing.T, f *pool.Fleet[*machine], tenant string) call {
	t.Helper()
	c, err := lease(t.Context(), f, tenant)
	if err != nil {
		t.Fatalf("%s: %v", tenant, err)
	}
	return c
}

func refused(t *testing.T, f *pool.Fleet[*machine], tenant string, want error) {
	t.Helper()
	c, err := lease(t.Context(), f, tenant)
	if err == nil {
		c.end()
	}
	if !errors.Is(err, want) || c.wait != 0 {
		t.Errorf("%s: %v after %v, want %v at once", tenant, err, c.wait, want)
	}
}

func TestFleetRefusesAtOnce(t *testing.T) {
	fleet(t, nil, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		var all []call
		for range 4 {
			all = append(all, must(t, f, "a"))
		}
		refused(t, f, "a", pool.ErrBusy)
		refused(t, f, "b", pool.ErrBusy)
		if tries, _, _ := w.counts(); tries != 1 {
			t.Errorf("%d starts", tries)
		}
		for _, c := range all {
			c.end()
		}
		must(t, f, "a").end()
	})
}

func TestFleetKeepsTenantsApart(t *testing.T) {
	fleet(t, nil, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		a, b := must(t, f, "a"), must(t, f, "b")
		if a.m == b.m {
			t.Error("two tenants share a worker")
		}
		refused(t, f, "c", pool.ErrBusy) // both are leased
		a.end()
		c := must(t, f, "c") // an idle worker of another tenant makes place
		if c.wait != time.Second || c.m == a.m {
			t.Errorf("c has worker %d after %v", c.m.n, c.wait)
		}
		again := must(t, f, "b")
		if again.m != b.m || again.wait != 0 {
			t.Errorf("b has worker %d after %v", again.m.n, again.wait)
		}
		again.end()
		b.end()
		c.end()
		if _, _, most := w.counts(); most > 3 { // the third while the first ends
			t.Errorf("%d workers ran", most)
		}
	})
}

func TestFleetKeepsIdleWorkersOfOthers(t *testing.T) {
	fleet(t, nil, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		for range 5 {
			must(t, f, "a").end()
			must(t, f, "b").end()
		}
		if tries, _, _ := w.counts(); tries != 2 {
			t.Errorf("%d starts for two tenants in turn", tries)
		}
	})
}

func TestFleetShared(t *testing.T) {
	fleet(t, func(o *pool.FleetOptions[*machine]) { o.Shared = true }, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		a, b := must(t, f, "a"), must(t, f, "b")
		if a.m != b.m {
			t.Error("tenants have workers of their own")
		}
		a.end()
		b.end()
	})
}

func TestFleetReplacesBeforeItRetires(t *testing.T) {
	fleet(t, func(o *pool.FleetOptions[*machine]) { o.Uses, o.Workers = 5, 1 }, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		long := must(t, f, "a")
		time.Sleep(time.Second)
		var served []int
		for i := range 30 {
			c := must(t, f, "a")
			if c.wait != 0 {
				t.Errorf("call %d waited %v", i, c.wait)
			}
			served = append(served, c.m.n)
			c.end()
			time.Sleep(300 * time.Millisecond)
		}
		if last := served[len(served)-1]; last == 0 {
			t.Errorf("never replaced: %v", served)
		}
		select {
		case <-long.m.done:
			t.Error("a worker was ended under its caller")
		default:
		}
		if _, _, most := w.counts(); most > 2 { // one and a replacement
			t.Errorf("%d workers ran", most)
		}
		long.end()
	})
}

func TestFleetReplacesTheOld(t *testing.T) {
	fleet(t, func(o *pool.FleetOptions[*machine]) { o.Age = time.Minute }, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		replaced(t, f)
	})
}

func TestFleetReplacesTheWorn(t *testing.T) {
	fleet(t, nil, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		w.check = func(m *machine) error {
			if m.n == 0 {
				return fmt.Errorf("%w: it uses 2 GiB", pool.ErrWorn)
			}
			return nil
		}
		replaced(t, f)
	})
}

// replaced checks that a tenant has another worker a little later, without
// having waited for it.
func replaced(t *testing.T, f *pool.Fleet[*machine]) {
	t.Helper()
	first := must(t, f, "a")
	first.end()
	time.Sleep(75 * time.Second)
	c := must(t, f, "a")
	if c.m == first.m || c.wait != 0 {
		t.Errorf("worker %d after %v", c.m.n, c.wait)
	}
	c.end()
}

func TestFleetWithoutRoomForAReplacementServesOn(t *testing.T) {
	full := errors.New("no memory")
	fleet(t, func(o *pool.FleetOptions[*machine]) {
		o.Uses = 3
		o.Room = func(int) error { return full }
	}, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		a := must(t, f, "a")
		refused(t, f, "b", pool.ErrBusy) // a's is at work, and there is room for one
		a.end()
		if b := must(t, f, "b"); b.wait != time.Second {
			t.Errorf("b waited %v", b.wait)
		} else {
			b.end()
		}
		for range 10 {
			c := must(t, f, "b")
			c.end()
		}
		if _, _, most := w.counts(); most > 2 { // the second while the first ends
			t.Errorf("%d workers ran", most)
		}
	})
}

func TestFleetEndsIdleWorkers(t *testing.T) {
	fleet(t, func(o *pool.FleetOptions[*machine]) { o.Idle = 5 * time.Minute }, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		must(t, f, "a").end()
		must(t, f, "b").end()
		time.Sleep(10 * time.Minute)
		if _, running, _ := w.counts(); running != 1 {
			t.Errorf("%d workers are kept", running)
		}
	})
}

func TestFleetRevivesWhatIsNeeded(t *testing.T) {
	fleet(t, nil, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		c := must(t, f, "a")
		c.m.die()
		time.Sleep(1100 * time.Millisecond)
		if d := must(t, f, "a"); d.m == c.m || d.wait != 0 {
			t.Errorf("worker %d after %v", d.m.n, d.wait)
		} else {
			d.end()
			c.end()
			time.Sleep(2 * time.Minute)
			d.m.die() // nobody has asked for long
		}
		time.Sleep(time.Minute)
		if tries, running, _ := w.counts(); tries != 2 || running != 0 {
			t.Errorf("%d starts, %d running", tries, running)
		}
		must(t, f, "a").end()
	})
}

// TestFleetCountsNoDeadWorker: a caller that still holds one must not keep
// others from a new one.
func TestFleetCountsNoDeadWorker(t *testing.T) {
	fleet(t, func(o *pool.FleetOptions[*machine]) { o.Workers = 1 }, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		c := must(t, f, "a")
		c.m.die()
		b, err := lease(t.Context(), f, "a") // before anybody has noticed
		if err != nil || b.m == c.m {
			t.Fatalf("got %v", err)
		}
		b.end()
		c.end()
	})
}

func TestFleetFailedCheckEndsService(t *testing.T) {
	fleet(t, nil, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		c := must(t, f, "a")
		w.set(func() {
			w.check = func(m *machine) error {
				if m == c.m {
					return errors.New("no answer")
				}
				return nil
			}
		})
		c.end()
		time.Sleep(12 * time.Second)
		if d := must(t, f, "a"); d.m == c.m || d.wait != 0 {
			t.Errorf("worker %d after %v", d.m.n, d.wait)
		} else {
			d.end()
		}
	})
}

func TestFleetBacksOffAfterFailedStarts(t *testing.T) {
	broken := errors.New("no such file")
	fleet(t, nil, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		w.set(func() { w.fail = broken })
		for range 600 { // a minute
			if _, err := lease(t.Context(), f, "a"); !errors.Is(err, broken) {
				t.Fatalf("got %v", err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if tries, _, _ := w.counts(); tries > 12 {
			t.Errorf("%d starts in a minute", tries)
		}
		var wait *pool.BackoffError
		if _, err := lease(t.Context(), f, "a"); !errors.As(err, &wait) || time.Until(wait.Until) > 31*time.Second {
			t.Errorf("got %v", err)
		}
		w.set(func() { w.fail = nil })
		time.Sleep(31 * time.Second)
		must(t, f, "a").end()
	})
}

// TestFleetBacksOffFromCrashLoops of one tenant, and of nobody else.
func TestFleetBacksOffFromCrashLoops(t *testing.T) {
	fleet(t, nil, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		var wait *pool.BackoffError
		died := 0
		for range 200 {
			c, err := lease(t.Context(), f, "bad")
			if errors.As(err, &wait) {
				if wait.Err != nil {
					t.Errorf("got %v", err)
				}
				time.Sleep(50 * time.Millisecond)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			c.m.die()
			died++
			c.end()
		}
		if wait == nil || died > 20 {
			t.Errorf("%d deaths", died)
		}
		must(t, f, "good").end()
		time.Sleep(2 * time.Minute)
		must(t, f, "bad").end()
	})
}

func TestFleetTenantsShare(t *testing.T) {
	fleet(t, func(o *pool.FleetOptions[*machine]) {
		o.Share = func(tenant string) int { return map[string]int{"small": 1}[tenant] }
	}, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		a := must(t, f, "small")
		refused(t, f, "small", pool.ErrTenantBusy)
		b := must(t, f, "large")
		if b.wait != time.Second {
			t.Errorf("another tenant waited %v", b.wait)
		}
		b.end()
		a.end()
		must(t, f, "small").end()
	})
}

func TestFleetWaitIsBounded(t *testing.T) {
	fleet(t, func(o *pool.FleetOptions[*machine]) { o.Leases, o.Wait = 1, 3*time.Second }, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		a := must(t, f, "a")
		if c, err := lease(t.Context(), f, "a"); !errors.Is(err, pool.ErrBusy) || c.wait != 3*time.Second {
			t.Errorf("%v after %v", err, c.wait)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if c, err := lease(ctx, f, "a"); !errors.Is(err, context.DeadlineExceeded) || c.wait != time.Second {
			t.Errorf("%v after %v", err, c.wait)
		}
		go func() { time.Sleep(time.Second); a.end() }()
		if c := must(t, f, "a"); c.wait != time.Second {
			t.Errorf("waited %v", c.wait)
		} else {
			c.end()
		}
	})
}

// TestFleetQueueIsShort and refuses at once who comes when it is full.
func TestFleetQueueIsShort(t *testing.T) {
	fleet(t, func(o *pool.FleetOptions[*machine]) { o.Leases, o.Wait = 1, 10*time.Second }, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		a := must(t, f, "a")
		var wg sync.WaitGroup
		wg.Go(func() { must(t, f, "a").end() })
		synctest.Wait()
		refused(t, f, "a", pool.ErrBusy)
		a.end()
		wg.Wait()
	})
}

// TestFleetWaitingIsFair: the tenant that has less comes first, however long
// others have waited.
func TestFleetWaitingIsFair(t *testing.T) {
	fleet(t, func(o *pool.FleetOptions[*machine]) { o.Shared, o.Leases, o.Wait = true, 3, time.Minute }, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		var held []call
		for range 3 {
			held = append(held, must(t, f, "greedy"))
		}
		var mu sync.Mutex
		var order []string
		var wg sync.WaitGroup
		for _, tenant := range []string{"greedy", "greedy", "modest"} {
			wg.Go(func() {
				c := must(t, f, tenant)
				mu.Lock()
				order = append(order, tenant)
				mu.Unlock()
				time.Sleep(time.Second)
				c.end()
			})
			synctest.Wait()
		}
		held[0].end()
		time.Sleep(time.Millisecond)
		held[1].end()
		held[2].end()
		wg.Wait()
		if want := []string{"modest", "greedy", "greedy"}; !slices.Equal(order, want) {
			t.Errorf("served %v, want %v", order, want)
		}
	})
}

func TestFleetDrains(t *testing.T) {
	fleet(t, func(o *pool.FleetOptions[*machine]) { o.Wait = time.Minute }, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		done, err := f.Admit(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		f.Drain()
		refused(t, f, "a", pool.ErrDraining)
		if _, release, err := f.Lease(t.Context(), "a"); err != nil {
			t.Errorf("who was admitted before: %v", err)
		} else {
			release()
		}
		done()
	})
}

func TestFleetCloseEndsStartsAndWaits(t *testing.T) {
	fleet(t, func(o *pool.FleetOptions[*machine]) { o.Leases, o.Wait = 1, time.Hour }, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		var wg sync.WaitGroup
		for range 2 { // one waits for the start, one for the first
			wg.Go(func() {
				if _, err := lease(t.Context(), f, "a"); !errors.Is(err, pool.ErrClosed) {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		f.Close()
		wg.Wait()
		refused(t, f, "a", pool.ErrClosed)
	})
}

func TestFleetCallersShareAStartAndMayGiveUp(t *testing.T) {
	fleet(t, nil, func(t *testing.T, w *works, f *pool.Fleet[*machine]) {
		ready := make(chan error, 1)
		go func() { ready <- f.Ready(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := lease(ctx, f, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if c := must(t, f, "a"); c.wait != 900*time.Millisecond {
			t.Errorf("waited %v", c.wait)
		} else {
			c.end()
		}
		if err := errors.Join(<-ready, f.Ready(t.Context())); err != nil {
			t.Error(err)
		}
		if tries, _, _ := w.counts(); tries != 1 {
			t.Errorf("%d starts", tries)
		}
	})
}
