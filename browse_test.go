package bellglass_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
	"github.com/bellglass/bellglass/policy"
)

func TestPrincipalIsRequired(t *testing.T) {
	for _, p := range []bellglass.Principal{{}, {Tenant: "t"}, {Run: "r"}, {Tenant: " ", Run: "r"}, {Tenant: "t", Run: "\t"}} {
		if _, err := bg.Browse(t.Context(), bellglass.Request{Principal: p, URL: "http://site.test/tiny"}); err == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
}

func TestOptionsAreCheckedAllAtOnce(t *testing.T) {
	_, err := bellglass.New(bellglass.Options{
		Mode: "open", Allow: []string{"*", "*.com"}, UnsafeAllow: []string{"localhost:80"},
		CallTimeout: time.Second, NavigationTimeout: time.Minute, TextLimit: -1, MaxPages: -3,
	})
	for _, want := range []string{`"open"`, `"*"`, `"*.com"`, "localhost", "NavigationTimeout", "TextLimit", "MaxPages"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

func TestClosedBrowser(t *testing.T) {
	b := newBrowser(t, func(*bellglass.Options) {})
	b.Close()
	if _, err := b.Browse(t.Context(), bellglass.Request{Principal: who, URL: "http://site.test/tiny"}); !errors.Is(err, bellglass.ErrClosed) {
		t.Errorf("Browse: %v", err)
	}
	if _, err := b.Links(t.Context(), bellglass.Request{Principal: who, URL: "http://site.test/tiny"}); !errors.Is(err, bellglass.ErrClosed) {
		t.Errorf("Links: %v", err)
	}
	if err := b.Start(t.Context()); !errors.Is(err, bellglass.ErrClosed) {
		t.Errorf("Start: %v", err)
	}
}

// TestOneCallMoreIsBusyAtOnce: RES-023.
func TestOneCallMoreIsBusyAtOnce(t *testing.T) {
	b := newBrowser(t, func(o *bellglass.Options) { o.MaxPages = 2 })
	gate := make(chan struct{})
	arrived := make(chan struct{}, 2)
	web.Handle("gate.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" { // asked for once, by the first of the two
			http.NotFound(w, r)
			return
		}
		arrived <- struct{}{}
		<-gate
		testweb.HTML("<p>through the gate").ServeHTTP(w, r)
	}))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if res := browse(t, b, "http://gate.test/"); res.Status != bellglass.StatusOK {
				t.Errorf("got %s %s", res.Status, res.Reason)
			}
		})
	}
	<-arrived
	<-arrived
	res := browse(t, b, "http://site.test/tiny")
	if res.Status != bellglass.StatusBusy || res.Reason != bellglass.ReasonPoolFull {
		t.Errorf("third of two: %s %s", res.Status, res.Reason)
	}
	close(gate)
	wg.Wait()
	if res := browse(t, b, "http://site.test/tiny"); res.Status != bellglass.StatusOK {
		t.Errorf("afterwards: %s %s", res.Status, res.Reason)
	}
}

func TestCallsAtOnceDoNotMix(t *testing.T) {
	web.Handle("echo.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		testweb.HTML("<p id=p><script>setTimeout(() => p.textContent = 'page '+location.search, 100)</script>").ServeHTTP(w, r)
	}))
	var wg sync.WaitGroup
	free := make(chan struct{}, suite.Pages)
	for i := range 12 {
		wg.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			res := browse(t, bg, fmt.Sprintf("http://echo.test/?n=%d", i))
			if want := fmt.Sprintf("page ?n=%d", i); res.Text != want {
				t.Errorf("got %s %s %q, want %q", res.Status, res.Reason, res.Text, want)
			}
		})
	}
	wg.Wait()
}

// TestRunsLeaveNothing: what one call stores, the next one must not find.
func TestRunsLeaveNothing(t *testing.T) {
	web.Handle("memory.test", testweb.HTML(`<p id=p></p><script>
		const seen = [document.cookie, localStorage.x, sessionStorage.x, window.name].filter(x => x);
		document.cookie = 'x=1;max-age=900'; localStorage.x = 1; sessionStorage.x = 1; window.name = 'x';
		const open = indexedDB.open('x', 1);
		open.onupgradeneeded = () => { open.result.createObjectStore('s'); if (open.transaction) seen.push('') };
		open.onsuccess = () => { p.textContent = seen.join('') ? 'seen before' : 'never seen' };
	</script>`))
	for i := range 3 {
		if res := browse(t, bg, "https://memory.test/"); res.Text != "never seen" {
			t.Errorf("read %d: %q", i, res.Text)
		}
	}
}

// TestCancelledCall: RES-024, the cancelling; the thousand are for a soak.
func TestCancelledCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	res, err := bg.Browse(ctx, bellglass.Request{Principal: who, URL: "http://site.test/hang"})
	if err != nil || res.Reason != bellglass.ReasonCancelled {
		t.Errorf("got %v %s %v", err, res.Reason, res.Err)
	}
}

func TestCallDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	res, err := bg.Browse(ctx, bellglass.Request{Principal: who, URL: "http://site.test/hang"})
	if err != nil || res.Status != bellglass.StatusTimeout || res.Reason != bellglass.ReasonCallDeadline {
		t.Errorf("got %v %s %s %v", err, res.Status, res.Reason, res.Err)
	}
}

// kill ends a browser's process group.
func kill(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }

// TestCrashedBrowserIsAResultAndIsReplaced: a read whose browser dies is done
// once more in another one, and no more than once.
func TestCrashedBrowserIsAResultAndIsReplaced(t *testing.T) {
	s := &suite.Starts{}
	b := newBrowser(t, s.Watch)
	var asked atomic.Int32
	web.Handle("kill.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		if asked.Add(1); r.URL.Path == "/always" || asked.Load() == 1 {
			for _, pid := range s.PIDs() {
				kill(pid)
			}
		}
		testweb.HTML("<p>survived").ServeHTTP(w, r)
	}))
	if res := browse(t, b, "http://kill.test/once"); res.Text != "survived" || asked.Load() != 2 {
		t.Errorf("killed once: %s %s %q %v, asked %d times", res.Status, res.Reason, res.Text, res.Err, asked.Load())
	}
	res := browse(t, b, "http://kill.test/always")
	if res.Status != bellglass.StatusError || res.Reason != bellglass.ReasonBrowserCrashed {
		t.Errorf("got %s %s %v", res.Status, res.Reason, res.Err)
	}
	if res := browse(t, b, "http://site.test/tiny"); res.Status != bellglass.StatusOK {
		t.Errorf("the next call: %s %s %v", res.Status, res.Reason, res.Err)
	}
	if n := len(s.PIDs()); n != 4 || asked.Load() != 4 {
		t.Errorf("%d browsers were started, want 4; asked %d times", n, asked.Load())
	}
}

func TestBrowserThatDiedIdleIsReplacedUnseen(t *testing.T) {
	s := &suite.Starts{}
	b := newBrowser(t, s.Watch)
	browse(t, b, "http://site.test/tiny")
	kill(s.PIDs()[0])
	if res := browse(t, b, "http://site.test/tiny"); res.Status != bellglass.StatusOK {
		t.Errorf("got %s %s %v", res.Status, res.Reason, res.Err)
	}
}

func TestTenantsNeverShareABrowser(t *testing.T) {
	s := &suite.Starts{}
	b := newBrowser(t, func(o *bellglass.Options) { s.Watch(o); o.MaxBrowsers = 2 })
	read := func(tenant string) {
		t.Helper()
		res, err := b.Browse(t.Context(), bellglass.Request{Principal: bellglass.Principal{Tenant: tenant, Run: "1"}, URL: "http://site.test/tiny"})
		if err != nil || res.Status != bellglass.StatusOK {
			t.Fatalf("%s: %v %s", tenant, err, res.Reason)
		}
	}
	for _, k := range []struct {
		tenant string
		want   int // browsers started so far
	}{{"a", 1}, {"a", 1}, {"b", 2}, {"b", 2}, {"a", 2}, {"c", 3}, {"a", 3}, {"b", 4}} {
		read(k.tenant)
		if n := len(s.PIDs()); n != k.want {
			t.Errorf("after %s: %d browsers, want %d", k.tenant, n, k.want)
		}
	}
}

func TestMissingBrowserIsAResult(t *testing.T) {
	b := newBrowser(t, func(o *bellglass.Options) { o.BrowserBin = "/nonexistent/chromium" })
	res := browse(t, b, "http://site.test/tiny")
	if res.Status != bellglass.StatusError || res.Reason != bellglass.ReasonBrowserMissing || !strings.Contains(res.Hint, "doctor") {
		t.Errorf("got %s %s %q", res.Status, res.Reason, res.Hint)
	}
	b = newBrowser(t, func(o *bellglass.Options) { o.BrowserBin = "/bin/true" })
	if res := browse(t, b, "http://site.test/tiny"); res.Reason != bellglass.ReasonBrowserStart {
		t.Errorf("a browser that ends at once: %s %s", res.Status, res.Reason)
	}
}

// TestNothingBlocks reads pages that ask for a person's attention: RES-006 and
// RES-007 are the storm of dialogs and beforeunload.
func TestNothingBlocks(t *testing.T) {
	for _, k := range []struct{ path, text string }{
		{"/dialog?kind=alert", "answered:"},
		{"/dialog?kind=confirm", "answered: false"},
		{"/dialog?kind=prompt", "answered: null"},
		{"/dialog?kind=confirm&when=later", "answered: false"},
		{"/dialog?kind=storm", "answered:"},
		{"/dialog?kind=print", "answered:"},
		{"/dialog?kind=beforeunload", "answered:"},
		{"/popup", "popup opened"},
		{"/downloads?when=load", "a page with downloads"},
		{"/permissions", "geolocation: refused"},
		{"/guarded", testweb.LateText},
	} {
		t.Run(k.path, func(t *testing.T) {
			res := browse(t, bg, "https://site.test"+k.path)
			if res.Status != bellglass.StatusOK || !strings.Contains(res.Text, k.text) {
				t.Errorf("got %s %s %v:\n%s", res.Status, res.Reason, res.Err, res.Text)
			}
			// queryLocalFonts() resolves with an empty list when denied.
			if strings.Contains(strings.ReplaceAll(res.Text, "fonts: granted", ""), ": granted") {
				t.Errorf("a permission was granted:\n%s", res.Text)
			}
		})
	}
}

func TestServiceWorkersAreRefused(t *testing.T) {
	web.Handle("worker.test", testweb.Site())
	res := browse(t, bg, "https://worker.test/service-worker")
	if !strings.Contains(res.Text, "refused: ") {
		t.Errorf("got %s %q", res.Status, res.Text)
	}
	for _, h := range web.Hits("worker.test") {
		if h.Path == "/service-worker.js" {
			t.Error("its script was fetched:", h)
		}
	}
}

// TestPopupsRunNothing: the site that a popup leads to must see no request.
func TestPopupsRunNothing(t *testing.T) {
	web.Handle("popped.test", testweb.Site())
	browse(t, bg, "https://site.test/popup?to=https://popped.test/tiny")
	browse(t, bg, "https://site.test/popup?to=http://popped.test/tiny")
	if hits := web.Hits("popped.test"); len(hits) > 0 {
		t.Error("the popup loaded:", hits)
	}
}

func TestImagesMediaAndFontsAreDropped(t *testing.T) {
	web.Handle("pictures.test", testweb.HTML(`<p>words</p><img src=/a.png><video src=/b.mp4></video>
		<style>@font-face{font-family:f;src:url(/c.woff2)}p{font-family:f}</style><link rel=stylesheet href=/d.css>`))
	res := browse(t, bg, "http://pictures.test/")
	if !strings.Contains(res.Text, "words") {
		t.Errorf("got %q", res.Text)
	}
	var paths []string
	for _, h := range web.Hits("pictures.test") {
		paths = append(paths, h.Path)
	}
	got := strings.Join(paths, " ")
	if strings.ContainsAny(got, "abc") && (strings.Contains(got, "a.png") || strings.Contains(got, "b.mp4") || strings.Contains(got, "c.woff2")) {
		t.Errorf("fetched: %s", got)
	}
	if !strings.Contains(got, "/d.css") {
		t.Errorf("the style sheet was not fetched: %s", got)
	}
	if len(res.Blocked) > 0 {
		t.Errorf("dropped pictures count as refusals: %v", res.Blocked)
	}
}

// TestBombLeavesTheBrowserUsable: one endless word, 64 MB of it in 64 KB.
func TestBombLeavesTheBrowserUsable(t *testing.T) {
	s := &suite.Starts{}
	b := newBrowser(t, s.Watch)
	res := browse(t, b, "http://site.test/bomb?coding=gzip&mib=64")
	if res.Status != bellglass.StatusError || res.Reason != bellglass.ReasonTooLarge && res.Reason != bellglass.ReasonUnresponsive {
		t.Errorf("got %s %s %v", res.Status, res.Reason, res.Err)
	}
	if res := browse(t, b, "http://site.test/tiny"); res.Status != bellglass.StatusOK {
		t.Errorf("the next call: %s %s %v", res.Status, res.Reason, res.Err)
	}
}

func TestOversizePageIsRefused(t *testing.T) {
	b := newBrowser(t, func(o *bellglass.Options) { o.MaxPageBytes = 64 << 10 })
	for url, want := range map[string]bellglass.Reason{
		"http://site.test/tiny":                   "",
		"http://site.test" + testweb.Cards(1000):  bellglass.ReasonTooLarge,
		"https://site.test" + testweb.Cards(1000): bellglass.ReasonTooLarge,
	} {
		if res := browse(t, b, url); res.Reason != want {
			t.Errorf("%s: %s %s", url, res.Status, res.Reason)
		}
	}
}

// TestPageThatDripsForEverIsReadInPart: RES-001.
func TestPageThatDripsForEverIsReadInPart(t *testing.T) {
	b := newBrowser(t, func(o *bellglass.Options) { o.CallTimeout, o.NavigationTimeout = 20*time.Second, 2*time.Second })
	res := browse(t, b, "http://site.test/drip?every=100&n=0")
	if res.Status != bellglass.StatusTimeout || res.Reason != bellglass.ReasonNavigationTimeout || res.Text == "" {
		t.Errorf("got %s %s %q", res.Status, res.Reason, res.Text)
	}
}

func TestQueryAndOffset(t *testing.T) {
	var body strings.Builder
	for i := range 400 {
		fmt.Fprintf(&body, "<p>Paragraph number %d speaks of nothing in particular.</p>", i)
	}
	web.Handle("long.test", testweb.HTML("<main><h1>Long</h1>"+body.String()+"<p>The needle is here.</p></main>"))
	req := bellglass.Request{Principal: who, URL: "http://long.test/"}
	first, err := bg.Browse(t.Context(), req)
	if err != nil || !first.Truncated || first.NextOffset == 0 || first.TotalChars <= len([]rune(first.Text)) {
		t.Fatalf("first: %v %+v", err, first.Head)
	}
	req.Offset = first.NextOffset
	second, err := bg.Browse(t.Context(), req)
	if err != nil || second.Truncated || !strings.Contains(second.Text, "needle") || strings.Contains(second.Text, "number 0 ") {
		t.Errorf("second: %v %.200q", err, second.Text)
	}
	req.Offset, req.Query = 0, "NEEDLE"
	if res, err := bg.Browse(t.Context(), req); err != nil || !strings.Contains(res.Text, "needle") || len(res.Text) > len(first.Text) {
		t.Errorf("query: %v %.200q", err, res.Text)
	}
	req.Query, req.Offset = "", -1
	if res, err := bg.Browse(t.Context(), req); err != nil || res.Reason != bellglass.ReasonInvalidArgument {
		t.Errorf("negative offset: %v %s", err, res.Reason)
	}
}

func TestLinks(t *testing.T) {
	var body strings.Builder
	for i := range 150 {
		fmt.Fprintf(&body, `<a href="/l/%d">Link %d</a> `, i, i)
	}
	web.Handle("links.test", testweb.HTML(`<a href="https://elsewhere.test/x">Elsewhere</a> <a href="#top">Top</a> <a href="mailto:a@b">Mail</a>
		<a href="javascript:void 0">Script</a> <a href="/l/1">Again</a> <a style="display:none" href="/secret">Hidden</a>`+body.String()))
	req := bellglass.Request{Principal: who, URL: "http://links.test/"}
	res, err := bg.Links(t.Context(), req)
	if err != nil || res.Status != bellglass.StatusOK || len(res.Links) != 100 || res.Total != 151 || res.NextOffset != 100 {
		t.Fatalf("%v %+v, %d links of %d", err, res.Head, len(res.Links), res.Total)
	}
	req.Offset = res.NextOffset
	rest, err := bg.Links(t.Context(), req)
	if err != nil || len(rest.Links) != 51 || rest.Truncated {
		t.Fatalf("rest: %v, %d links", err, len(rest.Links))
	}
	all := append(res.Links, rest.Links...)
	if last := all[len(all)-1]; last.URL != "https://elsewhere.test/x" {
		t.Errorf("links to other sites come last, not %v", last)
	}
	for _, l := range all {
		if !strings.HasPrefix(l.URL, "http") || strings.Contains(l.URL, "secret") {
			t.Errorf("listed: %v", l)
		}
	}
	req.Offset, req.Query = 0, "link 14"
	if res, err := bg.Links(t.Context(), req); err != nil || res.Total != 11 {
		t.Errorf("query: %v, %d links", err, res.Total)
	}
}

// TestOffPolicyFramesYieldNoText: a frame may be embedded from where the run
// may load, and still not be read.
func TestOffPolicyFramesYieldNoText(t *testing.T) {
	web.Handle("inner.test", testweb.HTML("<p>inner words"))
	web.Handle("outer.test", testweb.HTML(`<p>outer words<iframe src="http://inner.test/"></iframe>`))
	b := newBrowser(t, func(o *bellglass.Options) {
		o.Mode, o.Allow, o.Resources = policy.ModeAllowlist, []string{"outer.test"}, []string{"inner.test"}
	})
	res := browse(t, b, "http://outer.test/")
	if !strings.Contains(res.Text, "outer words") || strings.Contains(res.Text, "inner words") {
		t.Errorf("got %s %q", res.Status, res.Text)
	}
	if res := browse(t, bg, "http://outer.test/"); !strings.Contains(res.Text, "inner words") {
		t.Errorf("the control: with everything allowed the frame should be read: %q", res.Text)
	}
}
