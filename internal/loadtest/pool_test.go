package loadtest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
)

// TestOneBrowserForTwoTenants: an idle one of another tenant's makes place, one
// that is at work does not.
func TestOneBrowserForTwoTenants(t *testing.T) {
	t.Parallel()
	s := &suite.Starts{}
	b := newBrowser(t, func(o *bellglass.Options) { s.Watch(o); o.MaxBrowsers = 1 })
	reads(t, b, "a")
	arrived, open := gate(t, "one.test")
	var wg sync.WaitGroup
	wg.Go(func() {
		if res := browse(t, b, "b", "http://one.test/"); res.Status != bellglass.StatusOK {
			t.Errorf("b: %s %s %v", res.Status, res.Reason, res.Err)
		}
	})
	<-arrived
	gone(t, s.PIDs()[0])
	refused(t, b, "a", bellglass.ReasonPoolFull)
	open()
	wg.Wait()
	reads(t, b, "a")
	if n := len(s.PIDs()); n != 3 {
		t.Errorf("%d browsers were started, want 3", n)
	}
}

func TestSharedBrowser(t *testing.T) {
	t.Parallel()
	s := &suite.Starts{}
	b := newBrowser(t, func(o *bellglass.Options) {
		s.Watch(o)
		o.Isolation, o.MaxBrowsers = bellglass.IsolationShared, 1
	})
	arrived, open := gate(t, "shared.test")
	var wg sync.WaitGroup
	for _, tenant := range []string{"a", "b"} {
		wg.Go(func() { browse(t, b, tenant, "http://shared.test/") })
		<-arrived
	}
	reads(t, b, "c")
	open()
	wg.Wait()
	if n := len(s.PIDs()); n != 1 {
		t.Errorf("%d browsers were started, want 1", n)
	}
}

// TestQuotas: what one tenant has used up is refused to it, and to nobody else.
func TestQuotas(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, func(o *bellglass.Options) {
		o.Isolation = bellglass.IsolationShared
		o.Quota = bellglass.Quota{Pages: 1}
		o.Quotas = map[string]bellglass.Quota{
			"free": {}, "slow": {PagesPerMinute: 2}, "small": {BytesPerHour: 1}, "few": {Sessions: 1},
		}
	})
	arrived, open := gate(t, "quota.test")
	var wg sync.WaitGroup
	wg.Go(func() { browse(t, b, "anybody", "http://quota.test/") })
	<-arrived
	refused(t, b, "anybody", bellglass.ReasonTenantQuota)
	for range 3 {
		reads(t, b, "free")
	}
	open()
	wg.Wait()
	reads(t, b, "anybody")

	reads(t, b, "slow")
	reads(t, b, "slow")
	refused(t, b, "slow", bellglass.ReasonTenantQuota)
	reads(t, b, "small")
	refused(t, b, "small", bellglass.ReasonTenantQuota)

	few := bellglass.Principal{Tenant: "few", Run: "1"}
	one, err := b.Open(t.Context(), few, bellglass.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var busy *bellglass.Error
	if _, err := b.Open(t.Context(), few, bellglass.SessionOptions{}); !errors.As(err, &busy) || busy.Reason != bellglass.ReasonTenantQuota {
		t.Errorf("a second session: %v", err)
	}
	one.Close()
	reads(t, b, "free")
}

// TestQueueEnds: who has waited as long as may be is told so.
func TestQueueEnds(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, func(o *bellglass.Options) { o.MaxPages, o.QueueTimeout = 1, 300*time.Millisecond })
	arrived, open := gate(t, "queue-end.test")
	var wg sync.WaitGroup
	wg.Go(func() { browse(t, b, "a", "http://queue-end.test/") })
	<-arrived
	refused(t, b, "a", bellglass.ReasonPoolFull)
	open()
	wg.Wait()
}

// TestQueue: who may wait gets the page that another gives back, and the wait
// counts into the call.
func TestQueue(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, func(o *bellglass.Options) {
		o.MaxPages, o.CallTimeout, o.QueueTimeout = 1, time.Minute, 40*time.Second
	})
	arrived, open := gate(t, "queue.test")
	var wg sync.WaitGroup
	wg.Go(func() { browse(t, b, "a", "http://queue.test/") })
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	res, err := b.Browse(ctx, bellglass.Request{Principal: bellglass.Principal{Tenant: "a", Run: "1"}, URL: tiny})
	if err != nil || res.Reason != bellglass.ReasonCallDeadline {
		t.Errorf("whose time ended in the queue: %s %v", res.Reason, err)
	}
	wg.Go(func() { reads(t, b, "a") })
	time.AfterFunc(300*time.Millisecond, open) // the other is waiting by then; earlier is right, too
	wg.Wait()
}

// TestBrowsersAreReplacedUnseen: after their pages are used up, with a session
// in the old one that goes on.
func TestBrowsersAreReplacedUnseen(t *testing.T) {
	t.Parallel()
	s := &suite.Starts{}
	b := newBrowser(t, func(o *bellglass.Options) { s.Watch(o); o.RecyclePages, o.MaxBrowsers = 3, 1 })
	who := bellglass.Principal{Tenant: "a", Run: "1"}
	session, err := b.Open(t.Context(), who, bellglass.SessionOptions{Mode: "public", AllowInsecureHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	for len(s.PIDs()) < 2 {
		reads(t, b, "a")
	}
	reads(t, b, "a")
	if v := session.Navigate(t.Context(), bellglass.NavigateRequest{URL: tiny}); v.Status != bellglass.StatusOK {
		t.Errorf("the session in the old browser: %s %v", v.Reason, v.Err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	for range 4 {
		reads(t, b, "a")
	}
	gone(t, s.PIDs()[0])
}

// TestShutdown lets calls in progress end, and refuses others.
func TestShutdown(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, nil)
	session, err := b.Open(t.Context(), bellglass.Principal{Tenant: "a", Run: "1"}, bellglass.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	arrived, open := gate(t, "last.test")
	var wg sync.WaitGroup
	wg.Go(func() {
		if res := browse(t, b, "a", "http://last.test/"); res.Status != bellglass.StatusOK {
			t.Errorf("in progress: %s %s %v", res.Status, res.Reason, res.Err)
		}
	})
	<-arrived
	ended := make(chan error, 1)
	go func() { ended <- b.Shutdown(context.Background()) }()
	for browse(t, b, "a", tiny).Reason != bellglass.ReasonDraining { // from some moment on
	}
	refused(t, b, "a", bellglass.ReasonDraining)
	if v := session.State(t.Context(), bellglass.StateRequest{}); v.Reason != bellglass.ReasonDraining {
		t.Errorf("a call of a session: %s", v.Reason)
	}
	var busy *bellglass.Error
	if _, err := b.Open(t.Context(), bellglass.Principal{Tenant: "a", Run: "1"}, bellglass.SessionOptions{}); !errors.As(err, &busy) || busy.Reason != bellglass.ReasonDraining {
		t.Errorf("another session: %v", err)
	}
	select {
	case err := <-ended:
		t.Errorf("ended under a call: %v", err)
	default:
	}
	open()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	wg.Wait()
	if _, err := b.Browse(t.Context(), bellglass.Request{Principal: bellglass.Principal{Tenant: "a", Run: "1"}, URL: tiny}); !errors.Is(err, bellglass.ErrClosed) {
		t.Errorf("afterwards: %v", err)
	}
}

// TestShutdownEndsInTime: calls that do not end are ended.
func TestShutdownEndsInTime(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, nil)
	arrived, _ := gate(t, "never.test")
	var wg sync.WaitGroup
	wg.Go(func() {
		if res := browse(t, b, "a", "http://never.test/"); res.Reason != bellglass.ReasonCancelled {
			t.Errorf("got %s %s", res.Status, res.Reason)
		}
	})
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := b.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// TestManyCallersLoseNothing: every call has its own answer, and those that are
// not served are told at once.
func TestManyCallersLoseNothing(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, func(o *bellglass.Options) { o.QueueTimeout = 20 * time.Second })
	web.Handle("many.test", testweb.HTML("<p>many"))
	var mu sync.Mutex
	answers := map[bellglass.Reason]int{}
	var wg sync.WaitGroup
	const calls = 30
	for range calls {
		wg.Go(func() {
			res := browse(t, b, "a", "http://many.test/")
			mu.Lock()
			defer mu.Unlock()
			answers[res.Reason]++
		})
	}
	wg.Wait()
	sum := 0
	for reason, n := range answers {
		sum += n
		if !slices.Contains([]bellglass.Reason{"", bellglass.ReasonPoolFull}, reason) {
			t.Errorf("%d of %s", n, reason)
		}
	}
	if sum != calls || answers[""] < 4 {
		t.Errorf("%v of %d calls", answers, calls)
	}
}
