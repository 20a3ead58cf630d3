package pool_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bellglass/bellglass/internal/pool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// factory makes numbered things, each in a second, and counts.
type factory struct {
	mu             sync.Mutex
	made, disposed int
	fail           error
}

func (f *factory) make(ctx context.Context) (int, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return 0, f.fail
	}
	f.made++
	return f.made, nil
}

func (f *factory) dispose(int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disposed++
}

func (f *factory) counts() (made, disposed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.made, f.disposed
}

func run(t *testing.T, size, warm int, test func(t *testing.T, f *factory, p *pool.Pool[int])) {
	synctest.Test(t, func(t *testing.T) {
		f := &factory{}
		p := pool.New(pool.Options[int]{Size: size, Warm: warm, Make: f.make, Dispose: f.dispose})
		test(t, f, p)
		p.Close()
		p.Close()
		if made, disposed := f.counts(); made != disposed {
			t.Errorf("%d made, %d disposed of", made, disposed)
		}
	})
}

func TestBusyAtOnce(t *testing.T) {
	run(t, 2, 0, func(t *testing.T, _ *factory, p *pool.Pool[int]) {
		_, r1, err1 := p.Acquire(t.Context())
		_, r2, err2 := p.Acquire(t.Context())
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		before := time.Now()
		if _, _, err := p.Acquire(t.Context()); !errors.Is(err, pool.ErrBusy) || time.Since(before) != 0 {
			t.Errorf("third of two: %v after %v", err, time.Since(before))
		}
		r1()
		r1() // harmless
		_, r3, err := p.Acquire(t.Context())
		if err != nil {
			t.Errorf("after a release: %v", err)
		}
		if _, _, err := p.Acquire(t.Context()); !errors.Is(err, pool.ErrBusy) {
			t.Errorf("released twice, leased twice: %v", err)
		}
		r2()
		r3()
	})
}

func TestWarmOneCostsNoTime(t *testing.T) {
	run(t, 4, 2, func(t *testing.T, _ *factory, p *pool.Pool[int]) {
		time.Sleep(2500 * time.Millisecond) // both are ready
		for i, want := range []time.Duration{0, 0, time.Second} {
			before := time.Now()
			_, release, err := p.Acquire(t.Context())
			if got := time.Since(before); err != nil || got != want {
				t.Errorf("lease %d took %v (%v), want %v", i, got, err, want)
			}
			defer release()
		}
	})
}

func TestEachIsUsedOnce(t *testing.T) {
	run(t, 1, 1, func(t *testing.T, _ *factory, p *pool.Pool[int]) {
		seen := map[int]bool{}
		for range 5 {
			v, release, err := p.Acquire(t.Context())
			if err != nil || seen[v] {
				t.Fatalf("got %d again, or %v", v, err)
			}
			seen[v] = true
			release()
		}
	})
}

func TestFailureIsToldAndDoesNotCount(t *testing.T) {
	run(t, 1, 1, func(t *testing.T, f *factory, p *pool.Pool[int]) {
		broken := errors.New("out of order")
		f.mu.Lock()
		f.fail = broken
		f.mu.Unlock()
		for range 3 {
			if _, _, err := p.Acquire(t.Context()); !errors.Is(err, broken) {
				t.Fatalf("got %v", err)
			}
		}
		f.mu.Lock()
		f.fail = nil
		f.mu.Unlock()
		_, release, err := p.Acquire(t.Context())
		if err != nil {
			t.Fatalf("after the repair: %v", err)
		}
		release()
		time.Sleep(2 * time.Second)
		before := time.Now()
		if _, release, err = p.Acquire(t.Context()); err != nil || time.Since(before) != 0 {
			t.Errorf("warming did not come back: %v after %v", err, time.Since(before))
		} else {
			release()
		}
	})
}

func TestCallerMayGiveUp(t *testing.T) {
	run(t, 1, 0, func(t *testing.T, _ *factory, p *pool.Pool[int]) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, _, err := p.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if n := p.Leased(); n != 0 {
			t.Errorf("%d leased", n)
		}
	})
}

func TestClosedPool(t *testing.T) {
	run(t, 1, 1, func(t *testing.T, _ *factory, p *pool.Pool[int]) {
		p.Close() // while the first is being made
		if _, _, err := p.Acquire(t.Context()); !errors.Is(err, pool.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

func TestCallerTakesTheOneThatIsBeingMade(t *testing.T) {
	run(t, 2, 1, func(t *testing.T, f *factory, p *pool.Pool[int]) {
		time.Sleep(300 * time.Millisecond)
		before := time.Now()
		_, release, err := p.Acquire(t.Context())
		if took := time.Since(before); err != nil || took != 700*time.Millisecond {
			t.Errorf("took %v, %v", took, err)
		}
		if made, _ := f.counts(); made != 1 {
			t.Errorf("%d were made", made)
		}
		release()
	})
}

func TestCallerDoesNotSufferFromAFailureInTheBackground(t *testing.T) {
	run(t, 2, 1, func(t *testing.T, f *factory, p *pool.Pool[int]) {
		f.mu.Lock()
		f.fail = errors.New("once")
		f.mu.Unlock()
		time.AfterFunc(1500*time.Millisecond, func() {
			f.mu.Lock()
			f.fail = nil
			f.mu.Unlock()
		})
		_, release, err := p.Acquire(t.Context()) // joins the failing one, then makes its own
		if err != nil {
			t.Fatal(err)
		}
		release()
	})
}

func TestCallerWhoGivesUpLeavesTheOneBeingMade(t *testing.T) {
	run(t, 2, 1, func(t *testing.T, f *factory, p *pool.Pool[int]) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, _, err := p.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Second)
		before := time.Now()
		_, release, err := p.Acquire(t.Context())
		if err != nil || time.Since(before) != 0 {
			t.Errorf("the next caller waited %v, %v", time.Since(before), err)
		}
		release()
	})
}
