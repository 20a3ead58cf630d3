// Package faulttest tests what becomes of calls whose browser misbehaves: each
// command of the debugging protocol fails, is never answered or is answered
// with nonsense at some time, parts of the browser are killed, and the machine
// runs out of what it has. It has no code of its own.
package faulttest

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/cdptest"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
)

var web *testweb.Web

func TestMain(m *testing.M) {
	chrome.InterposeForTests(interpose)
	os.Exit(suite.Main(leaks{m}, suite.Options{SetUp: func(w *testweb.Web) (func() error, error) {
		web = w
		serve()
		return nil, nil
	}}))
}

// leaks reports goroutines that the tests have left. The servers of the small
// internet begin to listen when they are first asked, and end after this.
type leaks struct{ m *testing.M }

func (l leaks) Run() int {
	here := goleak.IgnoreCurrent()
	code := l.m.Run()
	servers := goleak.IgnoreAnyFunction("github.com/bellglass/bellglass/internal/testweb.(*Web).listen.func1")
	if err := goleak.Find(here, servers); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return code
}

// lines are the interposed lines of the tests' browsers, by a switch on their
// command line that Chromium does not know.
var lines sync.Map

const lineFlag = "--test-line="

func interpose(o chrome.Options, r io.ReadCloser, w io.WriteCloser) (io.ReadCloser, io.WriteCloser) {
	for _, f := range o.UnsafeFlags {
		if id, ok := strings.CutPrefix(f, lineFlag); ok {
			if l, ok := lines.Load(id); ok {
				return l.(*cdptest.Line).Wrap(r, w)
			}
		}
	}
	return r, w
}

func serve() {
	web.Handle("site.test", testweb.Site())
	web.Handle("frame.test", testweb.HTML("<p>in the frame"))
	pages := http.NewServeMux()
	pages.Handle("/table.csv", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		io.WriteString(w, "a,b\n1,2\n")
	}))
	pages.Handle("/popup", testweb.HTML("<p>popped up"))
	pages.Handle("/", testweb.HTML(`<title>All</title><p>Some text.<img src=/x.png>
		<form action=/popup><input name=a id=field><select id=select><option>one<option>two</select></form>
		<p><button id=button onclick="this.textContent = 'clicked'">click</button> <a id=link target=_blank href=/popup>open</a>
		<div id=host></div><script>host.attachShadow({mode: 'closed'}).innerHTML = '<button>hidden one</button>';
		setTimeout(() => document.body.append('late text'), 100)</script>
		<iframe src="http://frame.test/"></iframe><noscript>nothing</noscript>`))
	web.Handle("all.test", pages)
	web.Handle("blank.test", testweb.HTML("<noscript><p>without scripts</noscript><script></script>"))
}

// newBrowser makes a browser with short limits, whose pipe goes by way of line
// if that is not nil.
func newBrowser(t testing.TB, line *cdptest.Line, change func(*bellglass.Options)) *bellglass.Browser {
	t.Helper()
	o := suite.BrowserOptions(web)
	o.HostRate, o.CacheTTL, o.IgnoreRobots = -1, -1, true
	if line != nil {
		id := rand.Text()
		lines.Store(id, line)
		o.UnsafeBrowserFlags = append(o.UnsafeBrowserFlags, lineFlag+id)
	}
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

var who = bellglass.Principal{Tenant: "test", Run: "run"}

func browse(t testing.TB, b *bellglass.Browser, url string) bellglass.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	res, err := b.Browse(ctx, bellglass.Request{Principal: who, URL: url})
	if err != nil {
		t.Errorf("Browse(%q): %v", url, err)
	}
	return res
}

// recovers reports whether the browser reads pages again: at once, or after a
// call that found out what had happened. Where browsers have died again and
// again there is a pause, which calls are told.
func recovers(t testing.TB, b *bellglass.Browser) {
	t.Helper()
	for failed, begun := 0, time.Now(); ; {
		res := browse(t, b, "http://site.test/tiny")
		switch {
		case res.Status == bellglass.StatusOK:
			return
		case res.Status == bellglass.StatusBusy && time.Since(begun) < time.Minute:
			time.Sleep(res.RetryAfter)
			continue
		}
		if failed++; failed == 3 {
			t.Errorf("the third call after it: %s %s %v", res.Status, res.Reason, res.Err)
			return
		}
	}
}
