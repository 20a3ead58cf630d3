package plain_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/policy"
)

// events collects what the proxy decides.
type events struct {
	mu  sync.Mutex
	all []string
}

func (e *events) add(ev egress.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, fmt.Sprintf("%s %s %s %s:%d %s", ev.Kind, ev.Tenant, ev.Method, ev.Host, ev.Port, ev.Reason))
}

func (e *events) list() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.all...)
}

// TestEveryConnectionPassesTheProxy: the run's connections are told of as those
// of a browser are, and a redirect to where nobody may go is refused there.
func TestEveryConnectionPassesTheProxy(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		url    string
		reason bellglass.Reason
		events []string
	}{
		{"http://site.test/tiny", "", []string{"decision test GET site.test:80 ", "close test GET site.test:80 "}},
		{"https://site.test/tiny", "", []string{"decision test CONNECT site.test:443 ", "close test CONNECT site.test:443 "}},
		{"http://site.test/redirect?n=1&to=http://169.254.169.254/latest/", bellglass.ReasonAddress, []string{
			"decision test GET site.test:80 ", "close test GET site.test:80 ", "decision test GET 169.254.169.254:80 address_not_public"}},
		{"https://site.test/redirect?n=1&to=https://10.0.0.1/", bellglass.ReasonAddress, []string{
			"decision test CONNECT site.test:443 ", "decision test CONNECT 10.0.0.1:443 address_not_public", "close test CONNECT site.test:443 "}},
		{"http://site.test/redirect?n=1&to=http://localhost/", bellglass.ReasonHost, []string{
			"decision test GET site.test:80 ", "close test GET site.test:80 ", "decision test GET localhost:80 host_not_allowed"}},
		{"http://site.test/redirect?n=1&to=file:///etc/passwd", bellglass.ReasonScheme, []string{
			"decision test GET site.test:80 ", "close test GET site.test:80 "}},
	} {
		var seen events
		b := newBrowser(t, func(o *bellglass.Options) { o.OnConnection, o.IgnoreRobots = seen.add, true })
		res := browse(t, b, k.url)
		if res.Reason != k.reason || res.Reason != "" && (res.Text != "" || res.Hint == "") {
			t.Errorf("%s: %s %s %v", k.url, res.Status, res.Reason, res.Err)
		}
		b.Close()
		if diff := cmp.Diff(k.events, seen.list()); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", k.url, diff)
		}
	}
}

// TestRedirectsAreJudgedHopByHop: a host that pages may load from is not one
// that may be opened, and it is not asked at all.
func TestRedirectsAreJudgedHopByHop(t *testing.T) {
	t.Parallel()
	web.Handle("hop-out.test", testweb.Site())
	b := newBrowser(t, func(o *bellglass.Options) {
		o.Mode, o.Allow, o.Resources = policy.ModeAllowlist, []string{"site.test"}, []string{"hop-out.test"}
	})
	for _, url := range []string{
		"http://site.test/redirect?n=2&to=http://hop-out.test/tiny",
		"https://site.test/redirect?n=1&to=https://hop-out.test/tiny",
		"http://site.test/refresh?n=1&to=http://hop-out.test/tiny",
	} {
		res := browse(t, b, url)
		if res.Status != bellglass.StatusRejected || res.Reason != bellglass.ReasonHost || res.Text != "" || res.Title != "" {
			t.Errorf("%s: %s %s %q", url, res.Status, res.Reason, res.Text)
		}
	}
	if hits := web.Hits("hop-out.test"); len(hits) > 0 {
		t.Error("it was asked:", hits)
	}
	if res := browse(t, newBrowser(t, nil), "http://site.test/redirect?n=2&to=http://hop-out.test/tiny"); res.Status != bellglass.StatusOK {
		t.Errorf("the control: %s %s", res.Status, res.Reason)
	}
}

// TestRequestIsHonest looks at what a site is told.
func TestRequestIsHonest(t *testing.T) {
	t.Parallel()
	web.Handle("honest.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
			return
		}
		io.WriteString(w, "<p>words")
	}))
	b := newBrowser(t, nil)
	for _, scheme := range []string{"http", "https"} {
		if res := browse(t, b, scheme+"://honest.test/"); res.FinalURL != scheme+"://honest.test/next" {
			t.Errorf("ended at %s", res.FinalURL)
		}
	}
	hits := web.Hits("honest.test")
	if len(hits) != 6 { // robots.txt and the two hops, over http and https
		t.Fatalf("%d requests: %v", len(hits), hits)
	}
	for _, h := range hits {
		if ua := h.Header.Get("User-Agent"); !strings.Contains(ua, "bellglass/") || h.Header.Get("Cookie") != "" {
			t.Errorf("%s: user agent %q, cookie %q", h, ua, h.Header.Get("Cookie"))
		}
		if h.Host != "honest.test" || h.Method != "GET" || h.Header.Get("Referer") != "" {
			t.Errorf("%s: %s", h, h.Header)
		}
	}
}

// TestPathsAreSentAsTheyStand: what net/url would write otherwise.
func TestPathsAreSentAsTheyStand(t *testing.T) {
	t.Parallel()
	web.Handle("paths.test", testweb.Site())
	b := newBrowser(t, nil)
	for _, k := range [][2]string{{"/echo/%zz", "/echo/%zz"}, {"/echo/a%2Fb?q=%zz&r=[]'", "/echo/a%2Fb?q=%zz&r=[]%27"}, {"/a;b=c/@:", "/a;b=c/@:"}} {
		for _, scheme := range []string{"http", "https"} {
			if strings.Contains(k[0], "%zz") && !strings.Contains(k[0], "?") {
				// net/http's server, which is behind the site, refuses it: 400
				// over HTTP/1, a protocol error over HTTP/2, which net/http's
				// client tries again until time is up.
				if res := browse(t, b, "http://paths.test"+k[0]); res.HTTPStatus != 400 {
					t.Errorf("%s: %d %s", k[0], res.HTTPStatus, res.Reason)
				}
				continue
			}
			browse(t, b, scheme+"://paths.test"+k[0])
			hits := web.Hits("paths.test")
			h := hits[len(hits)-1]
			got := h.Path
			if h.Query != "" {
				got += "?" + h.Query
			}
			if want := k[1]; got != want {
				t.Errorf("%s %s: the server saw %s", scheme, k[0], got)
			}
		}
	}
}

func TestContentCodings(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, func(o *bellglass.Options) { o.MaxPageBytes = 1 << 20 })
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		res := browse(t, b, "https://site.test/coded?coding="+coding)
		if res.Status != bellglass.StatusOK || !strings.Contains(res.Text, "compressed") {
			t.Errorf("%s: %s %s %q %v", coding, res.Status, res.Reason, res.Text, res.Err)
		}
		if res := browse(t, b, "https://site.test/bomb?mib=4&coding="+coding); res.Reason != bellglass.ReasonTooLarge || res.Text != "" {
			t.Errorf("bomb of %s: %s %s %v", coding, res.Status, res.Reason, res.Err)
		}
	}
	web.Handle("coding.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", r.URL.Query().Get("is"))
		io.WriteString(w, "<p>plain words")
	}))
	for is, want := range map[string]bellglass.Reason{"identity": "", "": "", "compress": bellglass.ReasonContent, "br": bellglass.ReasonContent,
		"zstd": bellglass.ReasonContent, "gzip, gzip, gzip": bellglass.ReasonContent} {
		if res := browse(t, b, "https://coding.test/?is="+strings.ReplaceAll(is, " ", "%20")); res.Reason != want {
			t.Errorf("%q: %s %s, want %q (%v)", is, res.Status, res.Reason, want, res.Err)
		}
	}
}

// TestServersThatDoNotFinish: the part that came is returned and named so.
func TestServersThatDoNotFinish(t *testing.T) {
	t.Parallel()
	raw := func(host, head string, then func(net.Conn)) {
		web.HandleConn(host, 80, func(c net.Conn) {
			c.Read(make([]byte, 4096))
			io.WriteString(c, head)
			if then != nil {
				then(c)
			}
		})
	}
	const html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n"
	wait := func(c net.Conn) { c.Read(make([]byte, 1)) } // until the client leaves
	raw("cut.test", html+"<p>some words", nil)
	raw("silent.test", html+"<p>some words", wait)
	raw("headless.test", "HTTP/1.1 200 OK\r\nContent-", wait)
	raw("bodyless.test", html, wait)
	raw("cutatonce.test", html, nil)
	raw("hugehead.test", "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 300<<10)+"\r\n\r\n", nil)
	raw("endlesshints.test", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100), wait)
	b := newBrowser(t, func(o *bellglass.Options) {
		o.CallTimeout, o.NavigationTimeout, o.IgnoreRobots = 20*time.Second, 5*time.Second, true
	})
	var wg sync.WaitGroup
	for _, k := range []struct {
		url       string
		status    bellglass.Status
		reason    bellglass.Reason
		text      string
		truncated bool
	}{
		{"http://cut.test/", bellglass.StatusOK, "", "some words", true},
		{"http://silent.test/", bellglass.StatusOK, "", "some words", true},
		{"http://headless.test/", bellglass.StatusTimeout, bellglass.ReasonNavigationTimeout, "", false},
		{"http://bodyless.test/", bellglass.StatusTimeout, bellglass.ReasonNavigationTimeout, "", false},
		{"http://cutatonce.test/", bellglass.StatusError, bellglass.ReasonConnection, "", false},
		{"http://hugehead.test/", bellglass.StatusError, bellglass.ReasonConnection, "", false},
		{"http://endlesshints.test/", bellglass.StatusError, bellglass.ReasonConnection, "", false},
		{"https://site.test/hang", bellglass.StatusTimeout, bellglass.ReasonNavigationTimeout, "", false},
		{"http://site.test/drip?every=100&n=0", bellglass.StatusTimeout, bellglass.ReasonNavigationTimeout, "drop 9", false},
		{"https://site.test/slow?ms=300", bellglass.StatusOK, "", "second half", false},
	} {
		wg.Go(func() {
			res := browse(t, b, k.url)
			if res.Status != k.status || res.Reason != k.reason || !strings.Contains(res.Text, k.text) || res.Truncated != k.truncated {
				t.Errorf("%s: %s %s truncated %v %q (%v)", k.url, res.Status, res.Reason, res.Truncated, res.Text, res.Err)
			}
		})
	}
	wg.Wait()
}

// TestCallerCanLeave: who gives up is told so, and nothing goes on.
func TestCallerCanLeave(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		web.Wait(t.Context(), "site.test", func(h testweb.Hit) bool { return h.Query == "leave" })
		cancel()
	}()
	res, err := b.Browse(ctx, bellglass.Request{Principal: who, URL: "http://site.test/hang?leave"})
	if err != nil || res.Reason != bellglass.ReasonCancelled {
		t.Errorf("%v: %s %s %v", err, res.Status, res.Reason, res.Err)
	}
	short := newBrowser(t, func(o *bellglass.Options) { o.CallTimeout, o.NavigationTimeout = time.Second, 900*time.Millisecond })
	if res := browse(t, short, "https://site.test/hang"); res.Reason != bellglass.ReasonNavigationTimeout {
		t.Errorf("%s %s", res.Status, res.Reason)
	}
}

// TestNoMoreReadsThanPages: MaxPages bounds reads of this engine, too.
func TestNoMoreReadsThanPages(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, func(o *bellglass.Options) { o.MaxPages = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Browse(ctx, bellglass.Request{Principal: who, URL: "http://site.test/hang?busy"})
	}()
	web.Wait(t.Context(), "site.test", func(h testweb.Hit) bool { return h.Query == "busy" })
	if res := browse(t, b, "http://site.test/tiny"); res.Status != bellglass.StatusBusy || res.Reason != bellglass.ReasonPoolFull || res.RetryAfter == 0 {
		t.Errorf("%s %s %v", res.Status, res.Reason, res.RetryAfter)
	}
	cancel()
	<-done
	if res := browse(t, b, "http://site.test/tiny"); res.Status != bellglass.StatusOK {
		t.Errorf("afterwards: %s %s", res.Status, res.Reason)
	}
}

// TestHiddenTextIsUnknown: what was not laid out is not counted.
func TestHiddenTextIsUnknown(t *testing.T) {
	t.Parallel()
	web.Handle("hidden.test", page(`<title>T</title><p>seen <b style="display:none">MARK</b><p style="opacity:0">MARK<a href=/x>go</a>`))
	b := newBrowser(t, nil)
	res := browse(t, b, "https://hidden.test/")
	if res.Text != "seen" || !res.HiddenUnknown || res.HiddenChars != 0 || res.Rendered || res.Title != "T" {
		t.Errorf("%+v %q", res.Head, res.Text)
	}
	links, err := b.Links(t.Context(), bellglass.Request{Principal: who, URL: "https://hidden.test/"})
	if err != nil || len(links.Links) != 0 {
		t.Errorf("%v %v", err, links.Links)
	}
}
