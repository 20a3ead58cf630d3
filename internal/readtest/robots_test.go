package readtest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
)

// TestRobotsOfWhereAPageEndsUp: a script moves on to another site, whose
// certificate only the browser trusts. Its robots.txt is then the browser's to
// ask for, and what it says counts.
func TestRobotsOfWhereAPageEndsUp(t *testing.T) {
	for name, k := range map[string]struct {
		rules  string
		reason bellglass.Reason
	}{
		"allowed":   {"User-agent: *\nDisallow: /elsewhere\n", ""},
		"forbidden": {"User-agent: *\nDisallow: /\n", bellglass.ReasonRobots},
	} {
		t.Run(name, func(t *testing.T) {
			end := "end-" + name + ".test"
			web.Handle(end, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					fmt.Fprint(w, k.rules)
					return
				}
				testweb.HTML("<p>arrived").ServeHTTP(w, r)
			}))
			web.Handle("begin-"+name+".test", testweb.HTML("<p>wait<script>location = 'https://"+end+"/'</script>"))
			res := browse(t, bg, "https://begin-"+name+".test/")
			if res.Reason != k.reason || (res.Text == "arrived") != (k.reason == "") {
				t.Errorf("got %s %s %v %q", res.Status, res.Reason, res.Err, res.Text)
			}
		})
	}
}
