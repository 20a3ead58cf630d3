// Package browsertest reads, with a real browser, what is no HTML page. It
// holds only tests.
package browsertest

import (
	"net/http"
	"os"
	"testing"
	"time"

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

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, suite.Options{SetUp: func(w *testweb.Web) (func() error, error) {
		web = w
		forget, err := web.SystemRoots()
		if err != nil {
			return nil, err
		}
		if bg, err = bellglass.New(options()); err != nil {
			forget()
			return nil, err
		}
		return func() error {
			forget()
			return bg.Close()
		}, nil
	}}))
}

func options() bellglass.Options {
	o := suite.BrowserOptions(web)
	o.HostRate = -1
	o.IgnoreRobots = true // these servers answer everything alike
	return o
}

// free bounds the reads at a time.
var free = make(chan struct{}, suite.Pages)

// browse reads a page and fails the test on misuse.
func browse(t testing.TB, b *bellglass.Browser, r bellglass.Request) bellglass.Result {
	t.Helper()
	free <- struct{}{}
	defer func() { <-free }()
	if r.Principal == (bellglass.Principal{}) {
		r.Principal = who
	}
	return suite.BrowseAs(t, b, r)
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
