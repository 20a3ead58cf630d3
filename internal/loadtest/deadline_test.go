package loadtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
)

// busySite is a site whose page never ends, and keeps asking in all the ways
// that go on by themselves: a document that drips, a script that fetches, a
// worker, a stream of events. Open tells how many requests it holds, beats how
// many it has got.
type busySite struct {
	arrived chan struct{}

	mu          sync.Mutex
	open, beats int
}

func serveBusy(host string) *busySite {
	s := &busySite{arrived: make(chan struct{}, 1)}
	web.Handle(host, s)
	return s
}

func (s *busySite) counts() (open, beats int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.beats
}

func (s *busySite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.open++
	s.beats++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
	}()
	switch r.URL.Path {
	case "/beat":
		return
	case "/worker.js":
		w.Header().Set("Content-Type", "text/javascript")
		io.WriteString(w, "setInterval(() => fetch('/beat'), 50)")
		return
	case "/events":
		w.Header().Set("Content-Type", "text/event-stream")
	case "/":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<p>The part that was there.</p>"+strings.Repeat("<!-- more than a buffer -->", 100)+
			"<script>new Worker('/worker.js'); new EventSource('/events'); setInterval(() => fetch('/beat'), 50)</script>")
	default: // a document of which nothing comes
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
		if r.URL.Path == "/" || r.URL.Path == "/events" {
			io.WriteString(w, ": x\n")
			w.(http.Flusher).Flush()
			select {
			case s.arrived <- struct{}{}:
			default:
			}
		}
	}
}

// quiet waits until the site holds no request and gets none, and returns how
// long that took.
func (s *busySite) quiet(t *testing.T) time.Duration {
	t.Helper()
	begun := time.Now()
	for time.Since(begun) < 20*time.Second {
		open, beats := s.counts()
		time.Sleep(250 * time.Millisecond) // five beats
		if now, later := s.counts(); open == 0 && now == 0 && later == beats {
			return time.Since(begun) - 250*time.Millisecond
		}
	}
	open, _ := s.counts()
	t.Errorf("20 s after the call %d requests are open", open)
	return 0
}

// TestCancellingStopsTheBrowser: what the server sees of a call that nobody
// waits for any more. Without the cancelling this page is read for 50 s.
func TestCancellingStopsTheBrowser(t *testing.T) {
	t.Parallel()
	site := serveBusy("busy.test")
	b := newBrowser(t, func(o *bellglass.Options) { o.CallTimeout, o.NavigationTimeout = 80*time.Second, 60*time.Second })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		res, err := b.Browse(ctx, bellglass.Request{Principal: bellglass.Principal{Tenant: "a", Run: "1"}, URL: "http://busy.test/"})
		if err != nil || res.Reason != bellglass.ReasonCancelled {
			t.Errorf("got %v %s %s", err, res.Status, res.Reason)
		}
	})
	<-site.arrived
	cancel()
	t.Logf("quiet %v after the cancelling", site.quiet(t))
	wg.Wait()
	reads(t, b, "a")
}

// TestCancellingStopsASessionsCall, after which the session goes on.
func TestCancellingStopsASessionsCall(t *testing.T) {
	t.Parallel()
	site := serveBusy("busy-act.test")
	b := newBrowser(t, func(o *bellglass.Options) { o.CallTimeout, o.NavigationTimeout = 80*time.Second, 60*time.Second })
	s, err := b.Open(t.Context(), bellglass.Principal{Tenant: "a", Run: "1"}, bellglass.SessionOptions{Mode: "public", AllowInsecureHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if v := s.Navigate(ctx, bellglass.NavigateRequest{URL: "http://busy-act.test/silent"}); v.Reason != bellglass.ReasonCancelled {
			t.Errorf("got %s %s", v.Status, v.Reason)
		}
	})
	for open := 0; open == 0; open, _ = site.counts() {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	t.Logf("quiet %v after the cancelling", site.quiet(t))
	wg.Wait()
	if v := s.Navigate(t.Context(), bellglass.NavigateRequest{URL: tiny}); v.Status != bellglass.StatusOK {
		t.Errorf("the next call: %s %v", v.Reason, v.Err)
	}
}

// TestDeadlinesNest: whatever takes long, a call ends within its time, and
// brings what was readable.
func TestDeadlinesNest(t *testing.T) {
	t.Parallel()
	const call = 12 * time.Second
	serveBusy("drip.test")
	b := newBrowser(t, func(o *bellglass.Options) {
		o.MaxPages, o.CallTimeout, o.NavigationTimeout = 2, call, 11*time.Second
	})
	read := func(url string) (res bellglass.Result) {
		begun := time.Now()
		res = browse(t, b, "a", url)
		if took := time.Since(begun); took > call+10*time.Second {
			t.Errorf("%s took %v", url, took)
		}
		return res
	}
	var wg sync.WaitGroup
	for i := range 2 { // the navigation's limit leaves too little for the look: it is cut
		wg.Go(func() {
			res := read(fmt.Sprintf("http://drip.test/?%d", i))
			if res.Reason != bellglass.ReasonNavigationTimeout || !strings.Contains(res.Text, "The part that was there.") {
				t.Errorf("got %s %s %q %v", res.Status, res.Reason, res.Text, res.Err)
			}
		})
	}
	wg.Wait()
	res := read("http://drip.test/silent")
	if res.Status != bellglass.StatusTimeout || res.Text != "" {
		t.Errorf("without a document: %s %s %q", res.Status, res.Reason, res.Text)
	}
	reads(t, b, "a")
}
