// Package browsertest reads, with a real browser, what is no HTML page. It
// holds only tests.
package browsertest

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
)

// One small internet and one browser serve all tests.
var (
	web *testweb.Web
	bg  *bellglass.Browser
)

var who = bellglass.Principal{Tenant: "test", Run: "run"}

func TestMain(m *testing.M) { os.Exit(netlab.Main(suite{m})) }

type suite struct{ m *testing.M }

func (s suite) Run() int {
	flag.Parse()
	tmp, err := os.MkdirTemp("", "bellglass-test-") // to see what is left behind
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(tmp)
	os.Chmod(tmp, 0o711)
	os.Setenv("TMPDIR", tmp)
	forget := func() {}
	if web, err = testweb.Start(testweb.Options{}); err == nil {
		forget, err = web.SystemRoots()
	}
	if err == nil {
		bg, err = bellglass.New(options())
	}
	if err != nil {
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

func options() bellglass.Options {
	o := bellglass.Options{
		Seal:    bellglass.SealLevel(os.Getenv("BELLGLASS_SEAL")),
		Resolve: web.Resolve, UnsafeDial: web.Dial, HostRate: -1,
		IgnoreRobots: true, // these servers answer everything alike

		UnsafeBrowserFlags: []string{"--ignore-certificate-errors-spki-list=" + web.SPKIHash()},
	}
	if testing.Verbose() {
		o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return o
}

// free bounds the reads at a time.
var free = make(chan struct{}, bellglass.DefaultMaxPages)

// browse reads a page and fails the test on misuse.
func browse(t testing.TB, b *bellglass.Browser, r bellglass.Request) bellglass.Result {
	t.Helper()
	free <- struct{}{}
	defer func() { <-free }()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	if r.Principal == (bellglass.Principal{}) {
		r.Principal = who
	}
	res, err := b.Browse(ctx, r)
	if err != nil {
		t.Fatalf("Browse(%q): %v", r.URL, err)
	}
	return res
}

// serve makes a host answer with these headers and this body, and returns the
// address of its root.
func serve(host, contentType, body string, headers ...string) string {
	web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Content-Type"] = nil
		if contentType != "" {
			h.Set("Content-Type", contentType)
		}
		for i := 0; i < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		http.ServeContent(w, r, "", time.Time{}, readSeeker(body))
	}))
	return "https://" + host + "/"
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
