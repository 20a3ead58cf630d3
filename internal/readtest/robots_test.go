package readtest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
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

// TestRobotsIsNeverRendered, also when the browser asks for it: a site that
// answers everything with its pages has no rules, and its scripts do not run
// for the sake of them. Rules in a file of any type count, as far as they are
// read.
func TestRobotsIsNeverRendered(t *testing.T) {
	type answer struct {
		status int
		typ    string
		more   string
		body   string
	}
	var ran atomic.Int32
	page := "<!doctype html><script>fetch('/ran')</script>" + strings.Repeat("<a href=/x>link</a> ", 200_000)
	for name, k := range map[string]struct {
		robots answer
		reason bellglass.Reason
	}{
		"a-page":     {answer{200, "text/html", "", page}, ""},
		"attachment": {answer{200, "application/octet-stream", "attachment", "User-agent: *\nDisallow: /\n"}, bellglass.ReasonRobots},
		"as-html":    {answer{200, "text/html", "", "User-agent: *\nDisallow: /\n"}, bellglass.ReasonRobots},
		"bad-type":   {answer{200, "no type", "", "User-agent: *\nDisallow: /\n"}, bellglass.ReasonRobots},
		"very-long":  {answer{200, "text/plain", "", "User-agent: *\nDisallow: /\n" + strings.Repeat("# and so on\n", 500_000)}, bellglass.ReasonRobots},
		"forbidden":  {answer{403, "text/html", "", page}, ""},
		"failing":    {answer{503, "text/html", "", page}, bellglass.ReasonRobots},
		"too-often":  {answer{429, "text/html", "", page}, bellglass.ReasonRateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			web.Handle(name+"-robots.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/ran":
					ran.Add(1)
				case "/robots.txt":
					w.Header().Set("Content-Type", k.robots.typ)
					if k.robots.more != "" {
						w.Header().Set("Content-Disposition", k.robots.more)
					}
					w.WriteHeader(k.robots.status)
					io.WriteString(w, k.robots.body)
				default:
					testweb.HTML("<p>arrived").ServeHTTP(w, r)
				}
			}))
			res := browse(t, bg, "https://"+name+"-robots.test/")
			if res.Reason != k.reason || (res.Text == "arrived") != (k.reason == "") {
				t.Errorf("got %s %s %v %q", res.Status, res.Reason, res.Err, res.Text)
			}
		})
	}
	if ran.Load() > 0 {
		t.Error("a script ran")
	}
}
