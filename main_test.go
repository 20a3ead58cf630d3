package bellglass_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
)

// One small internet and one browser serve all tests of this package; each
// call has a context of its own anyway.
var (
	web *testweb.Web
	bg  *bellglass.Browser
)

var who = bellglass.Principal{Tenant: "test", Run: "run"}

// The tests run in a network of their own, in which every address is a
// sentinel: what is meant to get out, and what is meant not to, stays here.
func TestMain(m *testing.M) {
	os.Exit(netlab.Main(suite{m}))
}

type suite struct{ m *testing.M }

func (s suite) Run() int {
	flag.Parse() // options asks whether tests are verbose
	// While other packages' browsers use the same two processors, the tests
	// here take some ten minutes, which is go test's own limit; the go command
	// waits for a minute more.
	if f := flag.Lookup("test.timeout"); f != nil && f.Value.String() == "10m0s" {
		flag.Set("test.timeout", "10m50s")
	}
	tmp, err := os.MkdirTemp("", "bellglass-test-") // to see what is left behind
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(tmp)
	os.Chmod(tmp, 0o711) // of root's, browsers at level landlock use it as another user
	os.Setenv("TMPDIR", tmp)
	if web, err = testweb.Start(testweb.Options{IPv6: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, host := range []string{"site.test", "other.test", "sub.site.test"} {
		web.Handle(host, testweb.Site())
	}
	// What fetches robots.txt trusts the system's authorities.
	forget, err := web.SystemRoots()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if bg, err = bellglass.New(options()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := s.m.Run()
	forget()
	if err := bg.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "close:", err)
		code = 1
	}
	web.Close()
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind:", left)
		code = 1
	}
	return code
}

// options are those of a browser on the small internet.
func options() bellglass.Options {
	o := bellglass.Options{
		Seal:    bellglass.SealLevel(os.Getenv("BELLGLASS_SEAL")), // to compare the levels
		Resolve: web.Resolve, UnsafeDial: web.Dial, HostRate: -1,
		CacheTTL:           -1, // these tests look at visits
		UnsafeBrowserFlags: []string{"--ignore-certificate-errors-spki-list=" + web.SPKIHash()},
	}
	if testing.Verbose() {
		o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return o
}

// browse reads a page and fails the test on misuse.
func browse(t testing.TB, b *bellglass.Browser, url string) bellglass.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
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
