package plain_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
)

// newAuto makes a browser that decides by the document.
func newAuto(t testing.TB) *bellglass.Browser {
	t.Helper()
	return newBrowser(t, func(o *bellglass.Options) {
		o.Engine, o.BrowserBin, o.Getenv, o.CAFile = bellglass.EngineAuto, "", os.Getenv, ""
		o.UnsafeBrowserFlags = []string{"--ignore-certificate-errors-spki-list=" + web.SPKIHash()}
	})
}

// newChromium makes one that renders everything.
func newChromium(t testing.TB) *bellglass.Browser {
	t.Helper()
	return newBrowser(t, func(o *bellglass.Options) {
		o.Engine, o.BrowserBin, o.Getenv, o.CAFile = bellglass.EngineBrowser, "", os.Getenv, ""
	})
}

// TestAutoAsksChromiumOnlyWhereItMust reads pages of both kinds, and counts
// what the site was asked for: the document once, whoever read it.
func TestAutoAsksChromiumOnlyWhereItMust(t *testing.T) {
	words := strings.Repeat("These are the words of an article that needs nothing but its markup. ", 20)
	draw := func(text string) string {
		return fmt.Sprintf(`<script>addEventListener('load',()=>setTimeout(()=>{document.querySelector('#root').textContent=%q},50))</script>`, text)
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
		w.Header().Set("Set-Cookie", "seen=1")
		switch r.URL.Path {
		case "/article":
			io.WriteString(w, "<title>A</title><main><h1>Article</h1><p>"+words+"</main><script>document.body.append('by a script')</script>")
		case "/app":
			io.WriteString(w, "<title>B</title><div id=root></div>"+draw("drawn, caf\xe9 \xfcber "+words)+
				"<script>document.cookie+=';x=1';fetch('/data?'+document.cookie.split(';')[0])</script>")
		case "/forbidden":
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, "<div id=root>Just a moment</div>"+draw("the wall is gone"))
		case "/move":
			http.Redirect(w, r, "/app", http.StatusFound)
		default:
			io.WriteString(w, "{}")
		}
	}
	web.Handle("auto.test", http.HandlerFunc(handler))
	b := newAuto(t)
	for _, k := range []struct {
		path, text string
		rendered   bool
		status     int
		documents  []string
	}{
		{"/article", "words of an article", false, 200, []string{"/article"}},
		{"/app", "drawn, café über", true, 200, []string{"/app"}},
		{"/move", "drawn", true, 200, []string{"/move", "/app"}},
		{"/forbidden", "the wall is gone", true, 403, []string{"/forbidden"}},
	} {
		before := len(web.Hits("auto.test"))
		res := browse(t, b, "http://auto.test"+k.path)
		if res.Status != bellglass.StatusOK || res.Rendered != k.rendered || res.HTTPStatus != k.status || !strings.Contains(res.Text, k.text) ||
			res.ContentType != "text/html" || res.HiddenUnknown == k.rendered {
			t.Errorf("%s: %+v %v\n%s", k.path, res.Head, res.Err, res.Text)
		}
		var got []string
		for _, h := range web.Hits("auto.test")[before:] {
			switch h.Path {
			case "/favicon.ico", "/robots.txt":
			case "/data":
				if h.Query != "seen=1" { // a cookie that came with the document
					t.Errorf("%s: cookie %q", k.path, h.Query)
				}
			default:
				got = append(got, h.Path)
			}
		}
		if strings.Join(got, " ") != strings.Join(k.documents, " ") {
			t.Errorf("%s: the site was asked for %q, want %q", k.path, got, k.documents)
		}
	}
	for _, k := range []struct {
		url      string
		rendered bool
		text     string
	}{
		{"http://site.test/tiny", true, "A tiny page"}, // it has hardly any text, and a script
		{"http://site.test/late?ms=50", true, testweb.LateText},
		{"http://site.test" + testweb.Cards(100), false, "Product number 99"},
		{"http://site.test/raw?type=json", false, "{"},
	} {
		res := browse(t, b, k.url)
		if res.Status != bellglass.StatusOK || !strings.Contains(res.Text, k.text) {
			t.Errorf("%s: %+v %v", k.url, res.Head, res.Err)
		}
		if k.url != "http://site.test/tiny" && res.Rendered != k.rendered {
			t.Errorf("%s: rendered %v", k.url, res.Rendered)
		}
	}
}
