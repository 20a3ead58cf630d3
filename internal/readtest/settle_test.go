package readtest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
)

// leftOut holds the pages that are not read complete, and why.
var leftOut = map[string]string{
	"/shadow":                "closed shadow roots are not read; open ones are in TestVisibleTextIsNotLost",
	"http/socket-page?ms=50": "ws:// is refused, and so the page never gets its text",
}

// TestEveryPageIsReadComplete reads each ready page, over http and https: text
// that comes late must be there, whatever else of the page never ends.
func TestEveryPageIsReadComplete(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		for _, p := range testweb.Pages(scheme + "://other.test") {
			if why := leftOut[scheme+p.Path]; why != "" {
				continue
			}
			if why := leftOut[p.Path]; why != "" {
				continue
			}
			t.Run(scheme+p.Path, func(t *testing.T) {
				t.Parallel()
				start := time.Now()
				res := browse(t, bg, scheme+"://site.test"+p.Path)
				t.Logf("%v", time.Since(start).Round(time.Millisecond))
				if res.Status != bellglass.StatusOK {
					t.Fatalf("status %s, reason %s, %v", res.Status, res.Reason, res.Err)
				}
				want := p.Late // replaces what was there early
				if want == "" {
					want = p.Early
				}
				if !strings.Contains(res.Text, want) {
					t.Errorf("text lacks %q:\n%s", want, res.Text)
				}
			})
		}
	}
}

// TestScriptThatLeavesWhileParsing: the parser stops for the navigation, whose
// own slow answer was once cut as what held the parser up.
func TestScriptThatLeavesWhileParsing(t *testing.T) {
	t.Parallel()
	web.Handle("leave.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			select {
			case <-time.After(6 * time.Second):
			case <-r.Context().Done():
			}
			testweb.HTML("<p>arrived").ServeHTTP(w, r)
		case "/form":
			testweb.HTML(`<form action=/slow><input name=q></form><script>document.forms[0].submit()</script><p>rest`).ServeHTTP(w, r)
		default:
			testweb.HTML(`<script>location.href = '/slow'</script><p>rest`).ServeHTTP(w, r)
		}
	}))
	for _, path := range []string{"/", "/form"} {
		if res := browse(t, bg, "http://leave.test"+path); res.Status != bellglass.StatusOK || res.Text != "arrived" {
			t.Errorf("%s: %s %s %q %v", path, res.Status, res.Reason, res.Text, res.Err)
		}
	}
}
