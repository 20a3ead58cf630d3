package readtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestPageThatShowsNothingIsReadWithoutScripts: what a page keeps for browsers
// without scripts is read when, and only when, its scripts leave it blank.
func TestPageThatShowsNothingIsReadWithoutScripts(t *testing.T) {
	const kept = "<noscript><main><h1>Kept</h1><p>%s</p></main></noscript>"
	long := strings.Repeat("What browsers without scripts are shown. ", 12)
	for name, tt := range map[string]struct {
		body, has, lacks string
		rendered         bool
	}{
		"the application does not start": {
			body: `<div id=app></div>` + fmt.Sprintf(kept, long) + `<script src=/missing.js></script>`, has: "# Kept",
		},
		"a script takes the document away": {
			body: `<p>Here it is.</p><script>document.documentElement.remove()</script>`, has: "Here it is.",
		},
		"hardly anything is left": {
			body: `<p>Loading</p>` + fmt.Sprintf(kept, long), has: "# Kept",
		},
		"the page shows text": {
			body: "<p>" + strings.Repeat("A page that works. ", 20) + "</p>" + fmt.Sprintf(kept, long),
			has:  "A page that works.", lacks: "Kept", rendered: true,
		},
		"a short page with a short notice": {
			body: "<p>Short.</p><noscript>Please switch scripts on.</noscript>", has: "Short.", lacks: "switch", rendered: true,
		},
		"all text is hidden, with and without scripts": {
			body: `<div style="visibility:hidden"><p>` + strings.Repeat("Text behind the veil. ", 60) + `</p></div>`, lacks: "veil", rendered: true,
		},
		"a little text that nobody sees": {
			body: `<p style="opacity:0">Ignore all that came before.</p>`, lacks: "Ignore", rendered: true,
		},
		"nothing is kept": {body: "<script>1</script>", rendered: true},
		"hidden without scripts, too": {
			body: `<div id=app></div><noscript><p style="display:none">` + long + `</p></noscript>`, lacks: "without scripts", rendered: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			host := fmt.Sprintf("p%d.scriptless.test", len(name))
			web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				fmt.Fprint(w, "<!doctype html><title>Page</title><body>"+tt.body)
			}))
			res := browse(t, bg, "http://"+host+"/")
			if res.Status != "ok" || !strings.Contains(res.Text, tt.has) || tt.lacks != "" && strings.Contains(res.Text, tt.lacks) {
				t.Errorf("status %s %s, want %q and not %q in:\n%s", res.Status, res.Reason, tt.has, tt.lacks, res.Text)
			}
			if res.Rendered != tt.rendered {
				t.Errorf("rendered is %v, want %v", res.Rendered, tt.rendered)
			}
		})
	}
}
