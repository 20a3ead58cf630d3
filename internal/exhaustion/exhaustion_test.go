package exhaustion

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellglass/bellglass"
)

// A hostile case is a site's answer to everything it is asked, and what the
// call may end as: "" is ok.
type hostile struct {
	id    string
	serve http.HandlerFunc
	want  []bellglass.Reason
	text  string // must be there, if not empty and the call is ok
}

func html(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, body)
	}
}

// repeated writes head, n times part, and tail.
func repeated(head, part string, n int, tail string) http.HandlerFunc {
	block := strings.Repeat(part, 1000)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, head)
		for range n / 1000 {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
		io.WriteString(w, tail)
	}
}

const words = "<p>The text of this page is here."

// Large and busy pages end as these, depending on how fast the machine is.
var tooMuch = []bellglass.Reason{"", bellglass.ReasonTooLarge, bellglass.ReasonUnresponsive, bellglass.ReasonNavigationTimeout, bellglass.ReasonBrowserCrashed}

// TestPagesThatWantEverything reads hostile pages one after the other in one
// browser, which must serve the next call after each.
func TestPagesThatWantEverything(t *testing.T) {
	t.Parallel()
	for _, k := range []hostile{
		{"RES-004 one line of 100 MB", repeated(words, strings.Repeat("x", 1000), 100_000, ""), []bellglass.Reason{bellglass.ReasonTooLarge, bellglass.ReasonUnresponsive}, ""},
		{"RES-004 millions of nodes", repeated(words, "<i>x", 5_000_000, ""), tooMuch, ""},
		{"RES-004 50,000 deep", repeated(words, "<div>", 50_000, "deepest"), []bellglass.Reason{""}, "deepest"},
		{"RES-005 a loop in a worker", html(words + `<script>new Worker(URL.createObjectURL(new Blob(['for(;;);'])))</script>`), []bellglass.Reason{""}, "The text of this page"},
		{"RES-005 a loop at the end", html(words + `<script>addEventListener('pagehide', () => { for(;;); }); addEventListener('unload', () => { for(;;); })</script>`), []bellglass.Reason{""}, "The text of this page"},
		{"RES-018 XML entities", answer("application/xhtml+xml", billionLaughs), append(tooMuch, bellglass.ReasonEmpty), ""},
		{"RES-018 XML entities in plain XML", answer("application/xml", billionLaughs), append(tooMuch, bellglass.ReasonEmpty), ""},
		{"RES-018 SVG that uses itself", html(words + recursiveSVG), tooMuch, "The text of this page"},
	} {
		t.Run(k.id, func(t *testing.T) {
			t.Parallel()
			host := hostOf(k.id)
			web.Handle(host, k.serve)
			b := newBrowser(t, nil)
			res := browse(t, b, "one", "http://"+host+"/")
			if !slices.Contains(k.want, res.Reason) {
				t.Errorf("got %s %s %v, want one of %q", res.Status, res.Reason, res.Err, k.want)
			}
			if res.Status == bellglass.StatusOK && !strings.Contains(res.Text, k.text) {
				t.Errorf("got %.200q, want %q in it", res.Text, k.text)
			}
			usable(t, b, "one")
		})
	}
}

func hostOf(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(id)) + ".test"
}

func answer(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	}
}

var billionLaughs = func() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a0 "ha">`)
	for i := range 30 {
		fmt.Fprintf(&b, `<!ENTITY a%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&a%d;", i), 10))
	}
	b.WriteString(`]><html xmlns="http://www.w3.org/1999/xhtml"><body><p>&a30;</p></body></html>`)
	return b.String()
}()

var recursiveSVG = func() string {
	var b strings.Builder
	b.WriteString(`<svg width="100" height="100"><defs><g id="g0"><text>x</text></g>`)
	for i := range 25 {
		fmt.Fprintf(&b, `<g id="g%d">%s</g>`, i+1, strings.Repeat(fmt.Sprintf(`<use href="#g%d"/>`, i), 10))
	}
	b.WriteString(`<g id="self"><use href="#self"/></g></defs><use href="#g25"/><use href="#self"/></svg>`)
	return b.String()
}()

// TestALoopHoldsUpNobodyElse: RES-005. While one tenant's page does not answer,
// another's is read; the first tenant's call ends at its time, and its next
// one is served.
func TestALoopHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	looping := make(chan struct{}, 8)
	web.Handle("loop.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		html(words+`<script>fetch('/begun', {keepalive: true}); setTimeout(() => { for(;;); })</script>`)(w, r)
		if r.URL.Path == "/begun" {
			looping <- struct{}{}
		}
	}))
	b := newBrowser(t, hasty)
	done := make(chan bellglass.Result, 1)
	go func() { done <- browse(t, b, "loop", "http://loop.test/") }()
	<-looping
	usable(t, b, "other")
	select {
	case res := <-done:
		if res.Status == bellglass.StatusOK && !strings.Contains(res.Text, "The text") {
			t.Errorf("got %s %q", res.Status, res.Text)
		}
	case <-t.Context().Done():
	}
	usable(t, b, "loop")
}

// TestPopupsAreBounded: RES-009. A page that opens windows as fast as it can is
// read, and none of them asks for anything.
func TestPopupsAreBounded(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	web.Handle("popups.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			asked.Add(1)
		}
		html(words+`<script>for (let i = 0; i < 60; i++) open('/popup?' + i)</script>`)(w, r)
	}))
	b := newBrowser(t, nil)
	res := browse(t, b, "one", "http://popups.test/")
	if res.Status != bellglass.StatusOK || !strings.Contains(res.Text, "The text of this page") {
		t.Errorf("got %s %s %v %q", res.Status, res.Reason, res.Err, res.Text)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("popups asked for %d documents", n)
	}
	usable(t, b, "one")
}

// TestReloadingIsBounded: RES-011. Pages that come back to themselves for ever
// are fetched a few times, and read.
func TestReloadingIsBounded(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"interval": words + `<script>setInterval(() => location.reload(), 10)</script>`,
		"refresh":  `<meta http-equiv="refresh" content="0">` + words,
		"assign":   words + `<script>setTimeout(() => location.href = '/?' + Math.random())</script>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			web.Handle("reload-"+name+".test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				html(body)(w, r)
			}))
			b := newBrowser(t, nil)
			res := browse(t, b, "one", "http://reload-"+name+".test/")
			if res.Reason != "" && res.Reason != bellglass.ReasonRedirects {
				t.Errorf("got %s %s %v", res.Status, res.Reason, res.Err)
			}
			if n := asked.Load(); n > 15 {
				t.Errorf("asked %d times", n)
			}
			usable(t, b, "one")
		})
	}
}

// TestServersThatStandStill: RES-016. Connections that are accepted and then
// silent, also in the middle of a TLS handshake. Slow DNS and addresses that
// nobody answers at are tested beside the Gate.
func TestServersThatStandStill(t *testing.T) {
	t.Parallel()
	for _, k := range []struct{ name, scheme string }{{"silent", "http"}, {"handshake", "https"}} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			host := k.name + ".test"
			port := map[string]uint16{"http": 80, "https": 443}[k.scheme]
			web.HandleConn(host, port, func(c net.Conn) { io.Copy(io.Discard, c) })
			b := newBrowser(t, hasty)
			res := browse(t, b, "one", k.scheme+"://"+host+"/")
			if res.Status != bellglass.StatusTimeout {
				t.Errorf("got %s %s %v", res.Status, res.Reason, res.Err)
			}
			usable(t, b, "one")
		})
	}
}

// TestFloodsOfHeaders: RES-019 and RES-020, over http, where the proxy reads
// the header, and over https, where the browser does.
func TestFloodsOfHeaders(t *testing.T) {
	t.Parallel()
	for _, k := range []hostile{
		{"RES-019 a header of 1 MB", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("a", 1<<20))
			html(words)(w, r)
		}, []bellglass.Reason{bellglass.ReasonConnection, bellglass.ReasonTooLarge}, ""},
		{"RES-019 100,000 headers", func(w http.ResponseWriter, r *http.Request) {
			for i := range 100_000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), "a")
			}
			html(words)(w, r)
		}, []bellglass.Reason{bellglass.ReasonConnection, bellglass.ReasonTooLarge}, ""},
		{"RES-020 103 Early Hints", hints(http.StatusEarlyHints), []bellglass.Reason{"", bellglass.ReasonConnection, bellglass.ReasonNavigationTimeout}, ""},
		{"RES-020 100 Continue", hints(http.StatusContinue), []bellglass.Reason{"", bellglass.ReasonConnection, bellglass.ReasonNavigationTimeout}, ""},
	} {
		t.Run(k.id, func(t *testing.T) {
			t.Parallel()
			host := hostOf(k.id)
			web.Handle(host, k.serve)
			b := newBrowser(t, nil)
			for _, scheme := range []string{"http", "https"} {
				res := browse(t, b, "one", scheme+"://"+host+"/")
				if !slices.Contains(k.want, res.Reason) {
					t.Errorf("%s: got %s %s %v, want one of %q", scheme, res.Status, res.Reason, res.Err, k.want)
				}
			}
			usable(t, b, "one")
		})
	}
}

// hints writes interim answers, more than anybody has use for.
func hints(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for range 5000 {
			w.WriteHeader(code)
		}
		html(words)(w, r)
	}
}

// TestCookieBombIsThrownAway: RES-021. A page that sets so many cookies that
// its own server refuses the next request harms nobody but itself.
func TestCookieBombIsThrownAway(t *testing.T) {
	t.Parallel()
	var bombed atomic.Bool
	web.Handle("cookies.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := len(r.Header.Get("Cookie")); n > 32<<10 {
			bombed.Store(true)
			w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		body := words
		if r.URL.Path == "/bomb" {
			body += `<script>for (let i = 0; i < 100; i++) document.cookie = 'c' + i + '=' + 'x'.repeat(3900); location.href = '/next'</script>`
		}
		html(body)(w, r)
	}))
	b := newBrowser(t, nil)
	res := browse(t, b, "one", "https://cookies.test/bomb")
	if !bombed.Load() {
		t.Errorf("the bomb did not go off: %s %s %v", res.Status, res.Reason, res.Err)
	}
	// Over plain http the proxy refuses such a head before the site does; that
	// is no mistake of the caller's.
	if res := browse(t, b, "one", "http://cookies.test/bomb"); res.Reason != bellglass.ReasonConnection {
		t.Errorf("got %s %s %v", res.Status, res.Reason, res.Err)
	}
	res = browse(t, b, "one", "http://cookies.test/")
	if res.Status != bellglass.StatusOK || !strings.Contains(res.Text, "The text of this page") {
		t.Errorf("the next call: %s %s %v", res.Status, res.Reason, res.Err)
	}
}
