// Package sealtest tries to get out of a real browser, and into it, by every way
// that a page, a server or a machine has, each with its control: the same
// attempt without the seal is seen to leak. It holds only tests.
package sealtest

import (
	"context"
	"os"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
)

// One small internet and one browser serve all tests.
var (
	web *testweb.Web
	bg  *bellglass.Browser
)

var who = bellglass.Principal{Tenant: "test", Run: "run"}

// The tests run in a network of their own, in which every address is a
// sentinel: what is meant to get out, and what is meant not to, stays here.
func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, suite.Options{Web: testweb.Options{IPv6: true}, SetUp: func(w *testweb.Web) (func() error, error) {
		web = w
		for _, host := range []string{"site.test", "other.test", "sub.site.test"} {
			web.Handle(host, testweb.Site())
		}
		var err error
		if bg, err = bellglass.New(options()); err != nil {
			return nil, err
		}
		return bg.Close, nil
	}}))
}

// options are those of a browser on the small internet.
func options() bellglass.Options {
	o := suite.BrowserOptions(web)
	o.HostRate, o.CacheTTL = -1, -1 // these tests look at visits
	return o
}

// browse reads a page and fails the test on misuse.
func browse(t testing.TB, b *bellglass.Browser, url string) bellglass.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), suite.Patience)
	defer cancel()
	res, err := b.Browse(ctx, bellglass.Request{Principal: who, URL: url})
	if err != nil {
		t.Fatalf("Browse(%q): %v", url, err)
	}
	return res
}

// newBrowser makes a browser on the small internet with other options.
func newBrowser(t testing.TB, change func(*bellglass.Options)) *bellglass.Browser {
	t.Helper()
	o := options()
	change(&o)
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
