package suite

import (
	"context"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
)

// Who reads in tests that do not care.
var Who = bellglass.Principal{Tenant: "test", Run: "run"}

// ReadMain runs the tests of m with the usual sites up on *web, and with one
// browser, *b, that serves all tests: each call has a context of its own anyway.
// It returns the exit code.
//
// The network is of the tests' own, and every address in it a sentinel: what is
// meant to get out, and what is meant not to, stays there.
func ReadMain(m interface{ Run() int }, web **testweb.Web, b **bellglass.Browser) int {
	return Main(m, Options{Web: testweb.Options{IPv6: true}, SetUp: func(w *testweb.Web) (func() error, error) {
		*web = w
		for _, host := range []string{"site.test", "other.test", "sub.site.test"} {
			w.Handle(host, testweb.Site())
		}
		var err error
		if *b, err = bellglass.New(VisitOptions(w)); err != nil {
			return nil, err
		}
		return (*b).Close, nil
	}})
}

// VisitOptions are BrowserOptions for tests that look at visits: nothing is
// kept, and no host is spared.
func VisitOptions(web *testweb.Web) bellglass.Options {
	o := BrowserOptions(web)
	o.HostRate, o.CacheTTL = -1, -1
	return o
}

// NewBrowser makes a browser, and closes it after the test.
func NewBrowser(t testing.TB, o bellglass.Options) *bellglass.Browser {
	t.Helper()
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

// Browse reads a page and fails the test on misuse.
func Browse(t testing.TB, b *bellglass.Browser, url string) bellglass.Result {
	t.Helper()
	return BrowseAs(t, b, bellglass.Request{Principal: Who, URL: url})
}

// BrowseAs is the same with the whole request.
func BrowseAs(t testing.TB, b *bellglass.Browser, r bellglass.Request) bellglass.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	res, err := b.Browse(ctx, r)
	if err != nil {
		t.Fatalf("Browse(%q): %v", r.URL, err)
	}
	return res
}
