package sealtest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/policy"
)

// leads maps the paths of allowed.test and of the hosts below it to where they
// redirect; {{…}} is filled in by the test.
func leads(code int, to func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Not http.Redirect: it would repair what is meant to be broken.
		w.Header()["Location"] = []string{to()}
		w.WriteHeader(code)
	})
}

// TestRedirects holds the attacks by which a page that may be read leads to
// where nobody may. evil.test exists, and must not even be resolved.
func TestRedirects(t *testing.T) {
	canary := testweb.NewCanary(t)
	names := func() int {
		return len(slices.DeleteFunc(web.Resolved(), func(n string) bool { return n != "evil.test" }))
	}
	before, dials := names(), len(web.Dialed())
	mux := http.NewServeMux()
	for _, host := range []string{"allowed.test", "a.allowed.test", "b.allowed.test", "c.allowed.test", "d.allowed.test"} {
		web.Handle(host, mux)
	}
	web.Handle("evil.test", testweb.Site())
	to := func(url string) func() string { return func() string { return url } }
	for path, h := range map[string]http.Handler{
		"/302": leads(302, canary.URL), "/303": leads(303, canary.URL),
		"/evil":       leads(302, to("https://evil.test/")),
		"/r":          leads(302, canary.URL),
		"/fetch":      testweb.HTML(`<p>page text<script>fetch('/r').catch(() => document.body.append('fetch failed'))</script>`),
		"/file":       leads(302, to("file:///etc/hostname")),
		"/fetch-file": testweb.HTML(`<p id=p>page text<script>fetch('/file').then(r => r.text()).then(x => p.append(x), () => p.append(', fetch failed'))</script>`),
		"/data":       leads(302, to("data:text/html,<h1>inline</h1><script>document.title='ran'</script>")),
		"/javascript": leads(302, to("javascript:document.title='ran'")),
		"/userinfo":   leads(302, to("https://allowed.test@evil.test/")),
		"/port":       leads(302, to("http://allowed.test:8443/")),
		"/numeric":    leads(302, to("http://2130706433/")),
		"/mapped":     leads(302, to("http://[::ffff:127.0.0.1]/")),
		"/metadata":   leads(302, to("http://169.254.169.254/latest/")),
		"/downgrade":  leads(302, to("http://allowed.test/plain")),
		"/plain":      testweb.HTML("<p>over plain http"),
		"/replace":    testweb.HTML(`<p>page text<script>setTimeout(() => location.replace('https://evil.test/'), 10)</script>`),
		"/push":       testweb.HTML(`<p>page text<script>history.pushState({}, '', '/evil'); setTimeout(() => location.reload(), 10)</script>`),
		"/open":       testweb.HTML(`<p>page text<script>setTimeout(() => { document.open(); document.write('<p>page text<iframe src="https://evil.test/">'); document.close() }, 10)</script>`),
		"/post":       testweb.HTML(`<p>page text<form id=f method=post action="https://evil.test/"><input name=x value=y></form><script>setTimeout(() => f.submit(), 10)</script>`),
		"/blob":       testweb.HTML(`<p>page text<script>setTimeout(() => { location.href = URL.createObjectURL(new Blob(['<p>blob<script>fetch("https://evil.test/")</'+'script>'], {type: 'text/html'})) }, 10)</script>`),
		"/data-page":  testweb.HTML(`<p>page text<script>setTimeout(() => { location.href = 'data:text/html,<script>fetch("https://evil.test/")</'+'script>' }, 10)</script>`),
		"/top":        testweb.HTML(`<p>page text<iframe src="/top-frame"></iframe>`),
		"/top-frame":  testweb.HTML(`<script>top.location.href = 'https://evil.test/'</script>`),
		"/crlf":       leads(302, to("http://allowed.test/landed?x=%0d%0aX-Injected:%20yes")),
		"/landed":     testweb.HTML("<p>landed"),
	} {
		mux.Handle(path, h)
	}
	hosts := []string{"a", "b", "c", "d"}
	for i, h := range hosts {
		next := "http://169.254.169.254/"
		if i+1 < len(hosts) {
			next = "http://" + hosts[i+1] + ".allowed.test/chain-" + hosts[i+1]
		}
		mux.Handle("/chain-"+h, leads(302, to(next)))
	}
	mux.Handle("/chain", leads(302, to("http://a.allowed.test/chain-a")))

	allow := newBrowser(t, func(o *bellglass.Options) {
		o.Mode, o.Allow = policy.ModeAllowlist, []string{".allowed.test"}
	})
	secure := newBrowser(t, func(o *bellglass.Options) {
		o.Mode, o.Allow, o.RequireHTTPS = policy.ModeAllowlist, []string{".allowed.test"}, true
	})
	stays := func(text string) outcome { return outcome{bellglass.StatusOK, "", text, ""} }
	refused := func(r bellglass.Reason, host string) outcome {
		return outcome{bellglass.StatusRejected, r, "", host}
	}
	for _, k := range []struct {
		id, url string
		b       *bellglass.Browser
		want    outcome
	}{
		{"RED-002 302 to loopback", "http://allowed.test/302", allow, refused(bellglass.ReasonAddress, "127.0.0.1")},
		{"RED-003 303 to loopback", "http://allowed.test/303", allow, refused(bellglass.ReasonAddress, "127.0.0.1")},
		{"RED-003 303 over https", "https://allowed.test/303", allow, refused(bellglass.ReasonAddress, "127.0.0.1")},
		{"RED-006 to a host not listed", "http://allowed.test/evil", allow, refused(bellglass.ReasonHost, "evil.test")},
		{"RED-007 hop of a fetch", "http://allowed.test/fetch", allow, stays("page text")},
		{"RED-008 five hosts, then private", "http://allowed.test/chain", allow, refused(bellglass.ReasonAddress, "169.254.169.254")},
		{"RED-010 file", "http://allowed.test/file", allow, refused(bellglass.ReasonScheme, "")},
		{"RED-010 file by fetch", "http://allowed.test/fetch-file", allow, stays("page text, fetch failed")},
		{"RED-011 data", "http://allowed.test/data", allow, refused(bellglass.ReasonScheme, "")},
		{"RED-012 javascript", "http://allowed.test/javascript", allow, refused(bellglass.ReasonScheme, "")},
		{"RED-013 user information", "http://allowed.test/userinfo", allow, refused(bellglass.ReasonHost, "evil.test")},
		{"RED-014 CRLF", "http://allowed.test/crlf", allow, stays("landed")},
		{"RED-018 location.replace", "http://allowed.test/replace", allow, stays("page text")},
		{"RED-018 pushState and reload", "http://allowed.test/push", allow, stays("page text")},
		{"RED-018 document.open", "http://allowed.test/open", allow, stays("page text")},
		{"RED-018 form.submit", "http://allowed.test/post", allow, stays("page text")},
		{"RED-019 blob document", "http://allowed.test/blob", allow, outcome{}},
		{"RED-019 data document", "http://allowed.test/data-page", allow, stays("page text")},
		{"RED-020 downgrade", "https://allowed.test/downgrade", secure, refused(bellglass.ReasonScheme, "")},
		{"RED-021 port", "http://allowed.test/port", allow, refused(bellglass.ReasonPort, "allowed.test")},
		{"RED-022 frame moves the top", "http://allowed.test/top", allow, stays("page text")},
		{"to a number", "http://allowed.test/numeric", allow, refused(bellglass.ReasonAddress, "127.0.0.1")},
		{"to a mapped address", "http://allowed.test/mapped", allow, refused(bellglass.ReasonAddress, "")},
		{"to metadata", "https://allowed.test/metadata", allow, refused(bellglass.ReasonAddress, "169.254.169.254")},
	} {
		t.Run(k.id, func(t *testing.T) {
			res := browse(t, k.b, k.url)
			k.want.check(t, res)
		})
	}
	if hits := canary.Hits(); len(hits) > 0 {
		t.Error("the sentinel on loopback was reached:", hits)
	}
	if names() > before {
		t.Error("evil.test was resolved")
	}
	for _, h := range web.Hits("allowed.test") {
		if h.Header.Get("X-Injected") != "" {
			t.Error("RED-014: a header was injected:", h)
		}
		if h.Method != "GET" {
			t.Error("a page was read with", h)
		}
	}
	for _, d := range web.Dialed()[dials:] {
		if d.Refused && !strings.HasPrefix(d.To.Addr().String(), "93.184.217.") {
			t.Error("dialed outside:", d)
		}
	}
}

// outcome is what a read of a hostile page must come to. The zero outcome
// only asks that nothing of the forbidden is in the result.
type outcome struct {
	status bellglass.Status
	reason bellglass.Reason
	text   string // must be in it
	host   string // that the hint or the blocked hosts must name
}

func (o outcome) check(t *testing.T, res bellglass.Result) {
	t.Helper()
	if o.status != "" && (res.Status != o.status || res.Reason != o.reason) {
		t.Errorf("got %s %s (%v), want %s %s", res.Status, res.Reason, res.Err, o.status, o.reason)
	}
	if !strings.Contains(res.Text, o.text) {
		t.Errorf("text lacks %q: %q", o.text, res.Text)
	}
	if res.Status != bellglass.StatusOK && res.Text != "" {
		t.Errorf("a refusal has text: %q", res.Text)
	}
	for _, never := range []string{"inline", "ran", "vm\n"} {
		if strings.Contains(res.Text, never) || res.Title == never {
			t.Errorf("the result holds %q: %q %q", never, res.Title, res.Text)
		}
	}
	if u := res.FinalURL; u != "" && !strings.HasPrefix(u, "http") && !strings.HasSuffix(u, ":") {
		t.Errorf("final URL %q", u)
	}
	named := strings.Contains(res.Hint, o.host)
	for _, b := range res.Blocked {
		named = named || b.Host == o.host
	}
	if !named {
		t.Errorf("neither %q nor %v names %q", res.Hint, res.Blocked, o.host)
	}
}

// TestRedirectsReachTheSentinelWithoutJudgement is the control: with the one
// address opened, the same redirect arrives.
func TestRedirectsReachTheSentinelWithoutJudgement(t *testing.T) {
	canary := testweb.NewCanary(t)
	web.Handle("leads.test", leads(302, canary.URL))
	b := newBrowser(t, func(o *bellglass.Options) {
		o.UnsafeAllow = []string{canary.HostPort()}
		dial := o.UnsafeDial
		o.UnsafeDial = dialLoopback(canary, dial)
	})
	browse(t, b, "http://leads.test/")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := canary.Wait(ctx, func(testweb.CanaryHit) bool { return true }); !ok {
		t.Error("the sentinel was not reached: the other test proves nothing")
	}
}
