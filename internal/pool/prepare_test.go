package pool

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

// TestWhoWaitsGetsAnUnpreparedOne: preparing takes time, and saves it only to
// those who come later.
func TestWhoWaitsGetsAnUnpreparedOne(t *testing.T) {
	making, made := make(chan int), make(chan struct{})
	prepared := make(chan int, 10)
	n := 0
	p := New(Options[int]{Size: 3, Warm: 1,
		Make: func(context.Context) (int, error) {
			n++ // one after the other
			making <- n
			<-made
			return n, nil
		},
		Prepare: func(_ context.Context, v int) error { prepared <- v; return nil },
		Dispose: func(int) {},
	})
	first := <-making
	got := make(chan int)
	release := make(chan func(), 1)
	go func() {
		v, done, err := p.Acquire(t.Context())
		if err != nil {
			t.Error(err)
		}
		release <- done
		got <- v
	}()
	for !p.awaited() {
		runtime.Gosched()
	}
	made <- struct{}{}
	if v := <-got; v != first {
		t.Errorf("got %d, want the one being made, %d", v, first)
	}
	if second := <-making; second != 2 {
		t.Errorf("then made %d", second)
	}
	made <- struct{}{}
	if v := <-prepared; v != 2 {
		t.Errorf("prepared %d, want only the one that nobody waits for", v)
	}
	(<-release)()
	p.Close()
}

// TestWhatCannotBePreparedIsDisposedOf.
func TestWhatCannotBePreparedIsDisposedOf(t *testing.T) {
	disposed := make(chan int, 1)
	p := New(Options[int]{Size: 1, Warm: 1,
		Make:    func(context.Context) (int, error) { return 7, nil },
		Prepare: func(context.Context, int) error { return errors.New("no") },
		Dispose: func(v int) { disposed <- v },
	})
	if v := <-disposed; v != 7 {
		t.Errorf("disposed of %d", v)
	}
	p.Close()
}
