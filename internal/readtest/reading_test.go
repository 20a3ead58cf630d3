package readtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellglass/bellglass/internal/testweb"
)

// TestMediaTypeIsBounded: it is the site's words, and stands outside the fence.
func TestMediaTypeIsBounded(t *testing.T) {
	for name, k := range map[string]struct{ sent, want string }{
		"endless": {"text/" + strings.Repeat("a", 50_000), ""},
		"upper":   {"TEXT/HTML; charset=utf-8", "text/html"},
		"markup":  {"text/plain-<b>hi</b>", ""},
		"feed":    {"application/rss+xml", "application/rss+xml"},
	} {
		host := name + ".types.test"
		web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", k.sent)
			fmt.Fprint(w, "<rss><channel><title>words</title></channel></rss>")
		}))
		if res := browse(t, bg, "https://"+host+"/"); res.ContentType != k.want {
			t.Errorf("%s: got %.100q, want %q", name, res.ContentType, k.want)
		}
	}
}

// TestPartsAreMarked: a page that breaks off is not called whole.
func TestPartsAreMarked(t *testing.T) {
	web.Handle("broken.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" { // a part of that would be no permission
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Length", "10000")
		fmt.Fprint(w, "<title>t</title><p>the first part")
		w.(http.Flusher).Flush()
		time.Sleep(500 * time.Millisecond) // until it is on the page
		panic(http.ErrAbortHandler)
	}))
	for _, scheme := range []string{"http", "https"} {
		if res := browse(t, bg, scheme+"://broken.test/"); !res.Truncated || res.NextOffset != 0 {
			t.Errorf("%s: %s %s truncated %v %q", scheme, res.Status, res.Reason, res.Truncated, res.Text)
		}
	}
	if res := browse(t, bg, "https://site.test/tiny"); res.Truncated {
		t.Error("a whole page is called a part")
	}
}

// TestFramesInShadowTreesAreSeenOrHidden: the walker does not come by them, and
// all were once taken for visible.
func TestFramesInShadowTreesAreSeenOrHidden(t *testing.T) {
	const put = `<script>
		const put = (style, mode, text, inner = '') => {
			const host = document.createElement('div'); host.style.cssText = style; document.body.append(host);
			const f = document.createElement('iframe'); f.srcdoc = '<p>' + text; f.style.cssText = 'width:300px;height:100px;' + inner;
			host.attachShadow({mode}).append(f);
		};
		put('', 'open', 'seen-open'); put('', 'closed', 'seen-closed');
		put('opacity:0', 'open', 'hidden-opacity'); put('position:absolute;left:-9999px', 'closed', 'hidden-offpage');
		put('visibility:hidden', 'open', 'hidden-visibility'); put('height:0;overflow:hidden', 'open', 'hidden-clipped');
		put('', 'open', 'hidden-filter', 'filter:opacity(0)'); put('clip-path:inset(50%)', 'closed', 'hidden-clippath');
	</script>`
	web.Handle("shadow.test", testweb.HTML("<p>page text"+put))
	res := browse(t, bg, "https://shadow.test/")
	for _, want := range []string{"page text", "seen-open", "seen-closed"} {
		if !strings.Contains(res.Text, want) {
			t.Errorf("text lacks %q", want)
		}
	}
	if strings.Contains(res.Text, "hidden-") || res.HiddenChars == 0 {
		t.Errorf("hidden text came through, or was not counted (%d):\n%s", res.HiddenChars, res.Text)
	}
}

// TestApplicationsGetTheirData: a menu and a footer around "Loading…" are no
// reason to read the page before its answer of 600 ms has come.
func TestApplicationsGetTheirData(t *testing.T) {
	menu := "<nav>" + strings.Repeat("<a href=/x>A menu item</a> ", 40) + "</nav>"
	footer := "<footer>" + strings.Repeat("Words at the bottom of the page. ", 20) + "</footer>"
	web.Handle("app.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api" {
			time.Sleep(600 * time.Millisecond)
			fmt.Fprint(w, "the data has come")
			return
		}
		testweb.HTML(menu+"<main><h1>Things</h1><div id=root>Loading…</div></main>"+footer+
			`<script>fetch('/api').then(r => r.text()).then(t => { root.textContent = t })</script>`).ServeHTTP(w, r)
	}))
	if res := browse(t, bg, "https://app.test/"); !strings.Contains(res.Text, "the data has come") {
		t.Errorf("got %s %q", res.Status, res.Text)
	}
}
