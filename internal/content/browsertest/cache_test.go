package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
)

// counting serves a page that differs at every visit, and counts them.
func counting(host string) (url string, visits *atomic.Int32) {
	visits = &atomic.Int32{}
	web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		n := visits.Add(1)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<title>Visit %d</title><main><h1>Visit %d</h1>", n, n)
		for i := range 600 {
			fmt.Fprintf(w, "<p>Paragraph %d of visit %d, about caf\u00e9s  and nothing else.</p>", i, n)
		}
		fmt.Fprint(w, `</main><footer>colophon of the site</footer><a href="/one">Über uns</a>`)
	}))
	return "https://" + host + "/", visits
}

// TestGoingOnCostsNoVisit: all pieces are of the same page, which the site
// would not serve twice.
func TestGoingOnCostsNoVisit(t *testing.T) {
	t.Parallel()
	url, visits := counting("going-on.test")
	run := bellglass.Principal{Tenant: "test", Run: "going on"}
	var all strings.Builder
	hash := ""
	for offset, pieces := 0, 0; pieces == 0 || offset > 0; pieces++ {
		res := browse(t, bg, bellglass.Request{Principal: run, URL: url, Offset: offset})
		if res.Status != bellglass.StatusOK || res.Title != "Visit 1" || hash != "" && res.ContentHash != hash || len(res.ContentHash) != 16 {
			t.Fatalf("piece %d: %s %s %q %s", pieces, res.Status, res.Reason, res.Title, res.ContentHash)
		}
		hash = res.ContentHash
		all.WriteString(res.Text)
		offset = res.NextOffset
	}
	if n := strings.Count(all.String(), "of visit 1,"); n != 600 || strings.Contains(all.String(), "visit 2") {
		t.Errorf("%d paragraphs", n)
	}
	res := browse(t, bg, bellglass.Request{Principal: run, URL: url, Query: "CAFES AND nothing"})
	if !strings.Contains(res.Text, "[… at ") || !strings.Contains(res.Text, "cafés and nothing") || res.ContentHash != hash {
		t.Errorf("query: %q", clip(res.Text, 200))
	}
	var at int
	if fmt.Sscanf(res.Text, "[… at %d]", &at); !strings.HasPrefix(browse(t, bg, bellglass.Request{Principal: run, URL: url, Offset: at}).Text, strings.Split(res.Text, "\n")[1]) {
		t.Errorf("the passage is not at %d", at)
	}
	if whole := browse(t, bg, bellglass.Request{Principal: run, URL: url, Whole: true, Query: "colophon"}); !strings.Contains(whole.Text, "colophon of the site") {
		t.Errorf("whole: %q", clip(whole.Text, 200))
	}
	links, err := bg.Links(t.Context(), bellglass.Request{Principal: run, URL: url, Query: "uber  UNS"})
	if err != nil || len(links.Links) != 1 || links.Title != "Visit 1" {
		t.Errorf("links: %v %v", err, links)
	}
	if again := browse(t, bg, bellglass.Request{Principal: run, URL: url}); again.ContentHash != hash || again.Rendered != true {
		t.Errorf("again: %s %v", again.ContentHash, again.Rendered)
	}
	if n := visits.Load(); n != 1 {
		t.Errorf("%d visits", n)
	}
	fresh := browse(t, bg, bellglass.Request{Principal: run, URL: url, Fresh: true})
	if fresh.Title != "Visit 2" || fresh.ContentHash == hash || visits.Load() != 2 {
		t.Errorf("fresh: %q, %d visits", fresh.Title, visits.Load())
	}
	if res := browse(t, bg, bellglass.Request{Principal: run, URL: url}); res.Title != "Visit 2" || visits.Load() != 2 {
		t.Errorf("after the fresh one: %q, %d visits", res.Title, visits.Load())
	}
}

// TestOthersGetNothing of what a run has read, not even of the same tenant.
func TestOthersGetNothing(t *testing.T) {
	t.Parallel()
	url, visits := counting("others.test")
	for i, p := range []bellglass.Principal{{Tenant: "a", Run: "1"}, {Tenant: "a", Run: "2"}, {Tenant: "b", Run: "1"}, {Tenant: "a\x001", Run: ""}} {
		if p.Run == "" {
			p = bellglass.Principal{Tenant: "a\x001", Run: "x"}
		}
		browse(t, bg, bellglass.Request{Principal: p, URL: url})
		if n := visits.Load(); n != int32(i+1) {
			t.Errorf("%v: %d visits", p, n)
		}
	}
	browse(t, bg, bellglass.Request{Principal: bellglass.Principal{Tenant: "a", Run: "1"}, URL: url})
	if n := visits.Load(); n != 4 {
		t.Errorf("the first again: %d visits", n)
	}
}

// TestWhatIsNotKept: failures, parts, and everything where the operator says so.
func TestWhatIsNotKept(t *testing.T) {
	t.Parallel()
	var visits atomic.Int32
	web.Handle("failing.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			return
		}
		visits.Add(1)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "<p>come back later")
	}))
	for range 2 {
		browse(t, bg, bellglass.Request{URL: "https://failing.test/"})
	}
	if n := visits.Load(); n != 2 {
		t.Errorf("a failure was kept: %d visits", n)
	}
	o := options()
	o.CacheTTL = -1
	b, err := bellglass.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	url, visited := counting("off.test")
	for range 2 {
		browse(t, b, bellglass.Request{URL: url})
	}
	if n := visited.Load(); n != 2 {
		t.Errorf("switched off: %d visits", n)
	}
}

// TestKeptPagesGetOld.
func TestKeptPagesGetOld(t *testing.T) {
	t.Parallel()
	o := options()
	o.CacheTTL = time.Nanosecond
	b, err := bellglass.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	url, visits := counting("old.test")
	for range 2 {
		browse(t, b, bellglass.Request{URL: url})
	}
	if n := visits.Load(); n != 2 {
		t.Errorf("%d visits", n)
	}
}
