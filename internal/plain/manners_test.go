package plain_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
)

// robotsSite serves a robots.txt and pages.
func robotsSite(host string, robots http.HandlerFunc) {
	web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			robots(w, r)
		case strings.HasPrefix(r.URL.Path, "/to/"):
			http.Redirect(w, r, strings.TrimPrefix(r.URL.RequestURI(), "/to/"), http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/refresh/"):
			testweb.HTML(`<meta http-equiv="refresh" content="0;url=`+strings.TrimPrefix(r.URL.RequestURI(), "/refresh/")+`">`).ServeHTTP(w, r)
		default:
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<p>words of "+r.URL.Path)
		}
	}))
}

// says answers with a status and a body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// paths are those that a host was asked for.
func paths(host string) string {
	var all []string
	for _, h := range web.Hits(host) {
		if h.Path != "/favicon.ico" {
			all = append(all, h.Path)
		}
	}
	return strings.Join(all, " ")
}

const rules = "# ours\nuser-agent: *\ndisallow: /private\nallow: /private/open\n"

// TestRobots goes through what a site can say, with either engine; what the
// site saw is the proof.
func TestRobots(t *testing.T) {
	reset := func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }
	for _, engine := range []bellglass.Engine{bellglass.EngineHTTP, bellglass.EngineBrowser} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			b := newBrowser(t, nil)
			if engine == bellglass.EngineBrowser {
				b = newChromium(t)
			}
			host := func(name string) string { return name + "-" + string(engine) + ".test" }
			robotsSite(host("rules"), says(200, rules))
			robotsSite(host("named"), says(200, "user-agent: bellglass\ndisallow: /\n\nuser-agent: *\nallow: /"))
			robotsSite(host("none"), says(404, ""))
			robotsSite(host("forbidden"), says(403, rules))
			robotsSite(host("broken"), says(503, rules))
			robotsSite(host("reset"), reset)
			robotsSite(host("limited"), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(429)
			})
			robotsSite(host("moved"), func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://"+host("rules")+"/robots.txt", http.StatusMovedPermanently)
			})
			robotsSite(host("inside"), func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://10.0.0.1/robots.txt", http.StatusFound)
			})
			robotsSite(host("html"), says(200, "<html><title>user-agent</title>"))
			robotsSite(host("huge"), says(200, rules+strings.Repeat("# x\n", 200_000)))
			robotsSite(host("free"), says(200, ""))
			robotsSite(host("bad-cut"), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1000")
				io.WriteString(w, "user-agent: *\n")
			})
			for _, k := range []struct {
				name, path string
				reason     bellglass.Reason
				hint       string
				saw        string // all that the site was asked for so far
			}{
				{"rules", "/open", "", "", "/robots.txt /open"},
				{"rules", "/private/x", bellglass.ReasonRobots, "Line 3", "/robots.txt /open"},
				{"rules", "/private/open", "", "", "/robots.txt /open /private/open"},
				{"named", "/", bellglass.ReasonRobots, "Line 2", "/robots.txt"},
				{"none", "/private", "", "", "/robots.txt /private"},
				{"forbidden", "/private", "", "", "/robots.txt /private"},
				{"broken", "/", bellglass.ReasonRobots, "HTTP 503", "/robots.txt"},
				{"broken", "/again", bellglass.ReasonRobots, "HTTP 503", "/robots.txt"},
				{"reset", "/", bellglass.ReasonConnection, "", "*"},
				{"bad-cut", "/", bellglass.ReasonConnection, "", "/robots.txt"},
				{"limited", "/", bellglass.ReasonRateLimited, "", "/robots.txt"},
				{"limited", "/again", bellglass.ReasonRateLimited, "", "/robots.txt"},
				{"moved", "/private", bellglass.ReasonRobots, "Line 3", "/robots.txt"},
				{"inside", "/private", "", "", "/robots.txt /private"},
				{"html", "/private", "", "", "/robots.txt /private"},
				{"huge", "/private", bellglass.ReasonRobots, "Line 3", "/robots.txt"},
				{"nowhere", "/", bellglass.ReasonDNS, "", ""},
				{"free", "/to/http://" + host("rules") + "/open2", "", "", "*"},
				{"free", "/to/http://" + host("rules") + "/private/y", bellglass.ReasonRobots, "Line 3", "*"},
				{"free", "/to/http://" + host("named") + "/y", bellglass.ReasonRobots, "Line 2", "*"},
				{"rules", "/to/http://" + host("rules") + "/private/y", bellglass.ReasonRobots, "Line 3", "*"},
				{"free", "/refresh/http://" + host("named") + "/y", bellglass.ReasonRobots, "Line 2", "*"},
				{"free", "/to/http://nowhere-" + host("named") + "/y", bellglass.ReasonDNS, "", "*"},
			} {
				res := browse(t, b, "http://"+host(k.name)+k.path)
				if res.Reason != k.reason || !strings.Contains(res.Hint, k.hint) || res.Status != bellglass.StatusOf(k.reason) {
					t.Errorf("%s%s: %s %q %q (%v)", k.name, k.path, res.Status, res.Reason, res.Hint, res.Err)
				}
				if k.reason != "" && (res.Text != "" || res.Title != "") || k.reason == "" && !strings.Contains(res.Text, "words of") {
					t.Errorf("%s%s: text %q", k.name, k.path, res.Text)
				}
				if k.reason == bellglass.ReasonRateLimited && (res.RetryAfter < 5*time.Second || res.RetryAfter > 7*time.Second) {
					t.Errorf("%s: retry after %v", k.name, res.RetryAfter)
				}
				if saw := paths(host(k.name)); k.saw != "*" && saw != k.saw {
					t.Errorf("%s%s: the site saw %q, want %q", k.name, k.path, saw, k.saw)
				}
			}
			// A redirect is judged before it is followed.
			saw := strings.Fields(paths(host("rules")) + " " + paths(host("named")))
			if slices.Contains(saw, "/private/y") || slices.Contains(saw, "/y") {
				t.Error("what a redirect led to was asked for:", saw)
			}
		})
	}
}

// TestIgnoreRobots is the control: nobody asks, and everything is read.
func TestIgnoreRobots(t *testing.T) {
	t.Parallel()
	robotsSite("ignored.test", says(200, rules))
	b := newBrowser(t, func(o *bellglass.Options) { o.IgnoreRobots = true })
	if res := browse(t, b, "http://ignored.test/private/x"); res.Status != bellglass.StatusOK {
		t.Errorf("%s %s", res.Status, res.Reason)
	}
	if saw := paths("ignored.test"); saw != "/private/x" {
		t.Errorf("the site saw %q", saw)
	}
}

// TestRobotsTokens: an operator's User-Agent has a name that sites may address.
func TestRobotsTokens(t *testing.T) {
	t.Parallel()
	robotsSite("tokens.test", says(200, "user-agent: acmebot\ndisallow: /acme\n\nuser-agent: chrome\ndisallow: /"))
	b := newBrowser(t, func(o *bellglass.Options) {
		o.UserAgent = "Mozilla/5.0 (compatible; AcmeBot/2.0; +https://acme.example/bot) Chrome/156.0"
	})
	if res := browse(t, b, "http://tokens.test/acme"); res.Reason != bellglass.ReasonRobots {
		t.Errorf("%s %s", res.Status, res.Reason)
	}
	if res := browse(t, b, "http://tokens.test/other"); res.Status != bellglass.StatusOK {
		t.Errorf("%s %s", res.Status, res.Reason)
	}
	for _, h := range web.Hits("tokens.test") {
		if !strings.Contains(h.Header.Get("User-Agent"), "AcmeBot") {
			t.Errorf("%s: %s", h, h.Header.Get("User-Agent"))
		}
	}
}

// TestTenantsDoNotShareRobots: who reads a site must not learn from the time it
// takes that another tenant has.
func TestTenantsDoNotShareRobots(t *testing.T) {
	t.Parallel()
	robotsSite("shared.test", says(404, ""))
	b := newBrowser(t, nil)
	for _, tenant := range []string{"a", "b", "a"} {
		if _, err := b.Browse(t.Context(), bellglass.Request{Principal: bellglass.Principal{Tenant: tenant, Run: "1"}, URL: "http://shared.test/x"}); err != nil {
			t.Fatal(err)
		}
	}
	if saw := paths("shared.test"); saw != "/robots.txt /x /robots.txt /x /x" {
		t.Errorf("the site saw %q", saw)
	}
}

// TestRetryAfterIsHonoured: a site that asks to be left alone is, by this
// tenant; another site is not concerned.
func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	limit := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			calls.Add(1)
			w.Header().Set("Retry-After", time.Now().Add(30*time.Second).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, body)
		}
	}
	web.Handle("slowdown.test", limit("<p>Too many requests"))
	web.Handle("silent-slowdown.test", limit(""))
	b := newBrowser(t, nil)
	first := browse(t, b, "http://slowdown.test/")
	if first.Status != bellglass.StatusOK || first.HTTPStatus != 429 || !strings.Contains(first.Text, "Too many") {
		t.Errorf("the site's own words: %+v", first.Head)
	}
	second := browse(t, b, "http://slowdown.test/other")
	if second.Reason != bellglass.ReasonRateLimited || second.RetryAfter < 20*time.Second || second.RetryAfter > 30*time.Second {
		t.Errorf("the next one: %s %s after %v", second.Status, second.Reason, second.RetryAfter)
	}
	if calls.Load() != 1 {
		t.Errorf("the site was asked %d times", calls.Load())
	}
	if res := browse(t, b, "http://silent-slowdown.test/"); res.Reason != bellglass.ReasonRateLimited || res.RetryAfter < 20*time.Second || res.HTTPStatus != 429 {
		t.Errorf("without words: %s %s %d after %v", res.Status, res.Reason, res.HTTPStatus, res.RetryAfter)
	}
	if res := browse(t, b, "http://site.test/tiny"); res.Status != bellglass.StatusOK {
		t.Errorf("another site: %s %s", res.Status, res.Reason)
	}
}

// TestHostRate: reads of one host are bounded, and the caller is told when to
// go on.
func TestHostRate(t *testing.T) {
	t.Parallel()
	robotsSite("rate.test", says(404, ""))
	b := newBrowser(t, func(o *bellglass.Options) { o.HostRate = 20 })
	for i := range 6 {
		res := browse(t, b, fmt.Sprintf("http://rate.test/%d", i))
		switch {
		case i < 5 && res.Status != bellglass.StatusOK:
			t.Errorf("read %d: %s %s", i, res.Status, res.Reason)
		case i == 5 && (res.Reason != bellglass.ReasonRateLimited || res.RetryAfter <= 0 || res.RetryAfter > 3*time.Second):
			t.Errorf("read %d: %s %s after %v", i, res.Status, res.Reason, res.RetryAfter)
		}
	}
	other, err := b.Browse(t.Context(), bellglass.Request{Principal: bellglass.Principal{Tenant: "other", Run: "1"}, URL: "http://rate.test/x"})
	if err != nil || other.Status != bellglass.StatusOK {
		t.Errorf("another tenant: %v %s", err, other.Reason)
	}
}

// TestRobotsCanBeLeft: who gives up while robots.txt is on its way is told so.
func TestRobotsCanBeLeft(t *testing.T) {
	t.Parallel()
	robotsSite("hanging.test", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	b := newBrowser(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		web.Wait(t.Context(), "hanging.test", func(testweb.Hit) bool { return true })
		cancel()
	}()
	res, err := b.Browse(ctx, bellglass.Request{Principal: who, URL: "http://hanging.test/"})
	if err != nil || res.Reason != bellglass.ReasonCancelled {
		t.Errorf("%v %s %s %v", err, res.Status, res.Reason, res.Err)
	}
	if saw := paths("hanging.test"); saw != "/robots.txt" {
		t.Errorf("the site saw %q", saw)
	}
}

// TestRobotsByTheBrowser: an authority that Chromium alone trusts vouches for a
// site; its robots.txt is then asked for by Chromium.
func TestRobotsByTheBrowser(t *testing.T) {
	t.Parallel()
	robotsSite("byown.test", says(200, rules))
	robotsSite("byown-none.test", says(404, "<p>none"))
	b := newBrowser(t, func(o *bellglass.Options) {
		o.Engine, o.BrowserBin, o.Getenv, o.CAFile = bellglass.EngineBrowser, "", os.Getenv, ""
		o.UnsafeBrowserFlags = []string{"--ignore-certificate-errors-spki-list=" + web.SPKIHash()}
	})
	for _, k := range []struct {
		url    string
		reason bellglass.Reason
	}{
		{"https://byown.test/private", bellglass.ReasonRobots},
		{"https://byown.test/open", ""},
		{"https://byown-none.test/private", ""},
	} {
		if res := browse(t, b, k.url); res.Reason != k.reason {
			t.Errorf("%s: %s %s %v", k.url, res.Status, res.Reason, res.Err)
		}
	}
	if saw := paths("byown.test"); saw != "/robots.txt /open" {
		t.Errorf("the site saw %q", saw)
	}
}
