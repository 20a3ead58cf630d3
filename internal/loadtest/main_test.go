// Package loadtest tests many calls at once, their time and what becomes of
// them when parts fail, with real browsers on a small internet. It has no code
// of its own.
package loadtest

import (
	"context"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
)

var web *testweb.Web

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, suite.Options{SetUp: func(w *testweb.Web) (func() error, error) {
		web = w
		web.Handle("site.test", testweb.Site())
		return nil, nil
	}}))
}

// newBrowser makes a browser on the small internet.
func newBrowser(t testing.TB, change func(*bellglass.Options)) *bellglass.Browser {
	t.Helper()
	o := suite.BrowserOptions(web)
	o.HostRate, o.CacheTTL, o.IgnoreRobots = -1, -1, true
	if change != nil {
		change(&o)
	}
	b, err := bellglass.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error("close:", err)
		}
	})
	return b
}

// browse reads a page as a tenant, and fails the test on misuse.
func browse(t testing.TB, b *bellglass.Browser, tenant, url string) bellglass.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, err := b.Browse(ctx, bellglass.Request{Principal: bellglass.Principal{Tenant: tenant, Run: "1"}, URL: url})
	if err != nil {
		t.Errorf("Browse(%q): %v", url, err)
	}
	return res
}

const tiny = "http://site.test/tiny"

// reads reports whether an ordinary page is read.
func reads(t testing.TB, b *bellglass.Browser, tenant string) {
	t.Helper()
	if res := browse(t, b, tenant, tiny); res.Status != bellglass.StatusOK {
		t.Errorf("%s: %s %s %v", tenant, res.Status, res.Reason, res.Err)
	}
}

func refused(t testing.TB, b *bellglass.Browser, tenant string, want bellglass.Reason) {
	t.Helper()
	res := browse(t, b, tenant, tiny)
	if res.Status != bellglass.StatusBusy || res.Reason != want || res.RetryAfter <= 0 {
		t.Errorf("%s: %s %s, again after %v; want busy %s", tenant, res.Status, res.Reason, res.RetryAfter, want)
	}
}

// gate serves a page that comes only when the test lets it. Arrived gets a
// value for each request.
func gate(t *testing.T, host string) (arrived <-chan struct{}, open func()) {
	t.Helper()
	in, out := make(chan struct{}, 64), make(chan struct{})
	web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in <- struct{}{}
		select {
		case <-out:
		case <-r.Context().Done():
			return
		}
		testweb.HTML("<p>through the gate").ServeHTTP(w, r)
	}))
	open = sync.OnceFunc(func() { close(out) })
	t.Cleanup(open)
	return in, open
}

// gone waits until a process has ended.
func gone(t testing.TB, pid int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("process %d has not ended", pid)
			return
		}
	}
}
