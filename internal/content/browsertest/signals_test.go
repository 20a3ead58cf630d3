package browsertest

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bellglass/bellglass"
)

// allSignals are those of [bellglass.Head].
var allSignals = []string{"soft_404", "login_wall", "captcha", "consent_wall", "low_content", "hidden_text"}

// labelled is a page with the signals that a person gives it.
type labelled struct {
	name   string
	status int
	want   []string
	html   string
}

func labelledPages(t *testing.T) []labelled {
	b, err := os.ReadFile("testdata/signals.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []labelled
	for _, part := range strings.Split("\n"+string(b), "\n== ")[1:] {
		head, html, _ := strings.Cut(part, "\n")
		f := strings.Split(head, " | ")
		if len(f) != 3 {
			t.Fatalf("%q", head)
		}
		status, err := strconv.Atoi(f[1])
		if err != nil {
			t.Fatal(err)
		}
		p := labelled{name: f[0], status: status, html: html}
		if f[2] != "-" {
			p.want = strings.Fields(f[2])
		}
		for _, s := range p.want {
			if !slices.Contains(allSignals, s) {
				t.Fatalf("%s: no signal %q", p.name, s)
			}
		}
		all = append(all, p)
	}
	return all
}

// score counts for one signal.
type score struct{ right, wrong, missed int }

func (s score) String() string {
	return fmt.Sprintf("right %d, wrong %d, missed %d: precision %.2f, recall %.2f", s.right, s.wrong, s.missed,
		float64(s.right)/float64(max(s.right+s.wrong, 1)), float64(s.right)/float64(max(s.right+s.missed, 1)))
}

// TestSignals measures each signal on the labelled pages. They may be wrong on
// few of them, and more often silent than wrong.
func TestSignals(t *testing.T) {
	var (
		mu     sync.Mutex
		scores = map[string]score{}
		wg     sync.WaitGroup
	)
	for i, p := range labelledPages(t) {
		wg.Go(func() {
			host := fmt.Sprintf("signal%d.test", i)
			web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				w.WriteHeader(p.status)
				fmt.Fprint(w, p.html)
			}))
			res := browse(t, bg, bellglass.Request{URL: "https://" + host + "/"})
			if res.Status != bellglass.StatusOK {
				t.Errorf("%s: %s %s", p.name, res.Status, res.Reason)
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(slices.Sorted(slices.Values(p.want)), slices.Sorted(slices.Values(res.Signals))) {
				t.Logf("%s: got %v, want %v; %d of %d characters hidden", p.name, res.Signals, p.want, res.HiddenChars, res.TotalChars)
			}
			for _, s := range allSignals {
				n := scores[s]
				switch got, want := slices.Contains(res.Signals, s), slices.Contains(p.want, s); {
				case got && want:
					n.right++
				case got:
					n.wrong++
				case want:
					n.missed++
				}
				scores[s] = n
			}
		})
	}
	wg.Wait()
	for _, s := range allSignals {
		n := scores[s]
		t.Logf("%-12s %v", s, n)
		if n.right == 0 || n.wrong*10 > n.right+n.wrong || n.missed*5 > n.right+n.missed {
			t.Errorf("%s: %v", s, n)
		}
	}
}

// TestConsentComesLast: the content is there, and before any banner.
func TestConsentComesLast(t *testing.T) {
	var article strings.Builder
	for i := range 12 {
		fmt.Fprintf(&article, "<p>Paragraph %d of the article tells at some length what happened in the town that day.</p>", i)
	}
	main := "<main><h1>Head</h1>" + article.String() + "</main><footer>Imprint of the paper</footer>"
	banner := func(style string) string {
		return `<div style="` + style + `"><h2>We value your privacy</h2><p>We and our 812 partners use cookies.</p><button>Accept all</button><button>Reject all</button></div>`
	}
	for name, body := range map[string]string{
		"bar":    main + banner("position:fixed;bottom:0;left:0;right:0;background:#eee"),
		"first":  banner("position:fixed;bottom:0;left:0;right:0;background:#eee") + main,
		"flow":   banner("background:#eee;padding:20px") + main,
		"modal":  main + `<div style="position:fixed;inset:0;background:rgba(0,0,0,.6)">` + banner("margin:200px auto;width:500px;background:#fff") + "</div>",
		"opaque": main + `<div style="position:fixed;inset:0;background:#fff;z-index:9">` + banner("margin:200px auto;width:500px;background:#fff") + "</div>",
		"dialog": main + "<dialog id=d>" + banner("") + "</dialog><script>d.showModal()</script>",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(name+".consent.test", "text/html", "<!doctype html><title>Town news</title>"+body)
			for _, whole := range []bool{false, true} {
				res := browse(t, bg, bellglass.Request{URL: url, Whole: whole})
				at, end := strings.Index(res.Text, "privacy"), strings.LastIndex(res.Text, "Paragraph 11")
				if strings.Count(res.Text, "Paragraph") != 12 || at >= 0 && at < end || whole && at < strings.Index(res.Text, "Imprint") {
					t.Errorf("whole %v: banner at %d, content to %d:\n%s", whole, at, end, res.Text)
				}
				if slices.Contains(res.Signals, "consent_wall") {
					t.Errorf("signals %v", res.Signals)
				}
			}
		})
	}
}
