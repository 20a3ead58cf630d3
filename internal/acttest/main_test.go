// Package acttest tests sessions on a real browser and a small internet. It
// has no code of its own.
package acttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
	"github.com/bellglass/bellglass/policy"
)

// One small internet and one browser serve all tests; each session has a
// context of its own anyway.
var (
	web *testweb.Web
	bg  *bellglass.Browser
)

var who = bellglass.Principal{Tenant: "test", Run: "run"}

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, suite.Options{Web: testweb.Options{IPv6: true}, SetUp: func(w *testweb.Web) (func() error, error) {
		web = w
		var err error
		if bg, err = bellglass.New(options()); err != nil {
			return nil, err
		}
		return bg.Close, nil
	}}))
}

func options() bellglass.Options {
	o := suite.BrowserOptions(web)
	o.HostRate, o.MaxPages = -1, 12
	return o
}

// agent is a model's hands: it sees only what the tools answer.
type agent struct {
	*testing.T
	s     *bellglass.Session
	last  answer
	lines map[int]string // of the elements that are known, by index
}

// answer is what a tool said.
type answer struct {
	bellglass.ToolResult
	took time.Duration
}

func (a answer) str(key string) string { s, _ := a.Fields[key].(string); return s }

func (a answer) generation() int { n, _ := a.Fields["generation"].(int); return n }

// open opens a session that may reach all of the small internet, unless
// options say otherwise.
func open(t *testing.T, o bellglass.SessionOptions) *agent {
	t.Helper()
	if o.Mode == "" {
		o.Mode, o.AllowInsecureHTTP = policy.ModePublic, true
	}
	s, err := bg.Open(t.Context(), who, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &agent{T: t, s: s}
}

// call calls a tool.
func (a *agent) call(tool string, args map[string]any) answer {
	a.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		a.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), suite.Patience)
	defer cancel()
	began := time.Now()
	r := answer{ToolResult: a.s.Call(ctx, "browser_"+tool, raw), took: time.Since(began)}
	if r.generation() > 0 {
		a.last = r
		a.learn(r.Text)
	}
	if testing.Verbose() {
		a.Logf("%s %s (%v)\n%s", tool, raw, r.took, r.Text)
	}
	return r
}

// learn keeps what a digest, or a difference, says about elements.
func (a *agent) learn(digest string) {
	digest, _, _ = strings.Cut(digest, "\nuntrusted_page_text ")
	if !strings.Contains(digest, "\nChanges since generation ") {
		a.lines = map[int]string{}
	}
	for _, m := range indexed.FindAllStringSubmatch(digest, -1) {
		n, _ := strconv.Atoi(m[1])
		a.lines[n] = m[2]
	}
}

func (a *agent) ok(r answer) answer {
	a.Helper()
	if r.str("status") != "ok" {
		a.Fatalf("not ok:\n%s", r.Text)
	}
	return r
}

func (a *agent) goTo(url string) answer {
	a.Helper()
	return a.ok(a.call("navigate", map[string]any{"url": url}))
}

var indexed = regexp.MustCompile(`(?m)^\[(\d+)\] (.*)$`)

// index finds the line of a digest that carries a text.
func (r answer) index(target string) (int, bool) {
	for _, m := range indexed.FindAllStringSubmatch(r.Text, -1) {
		if strings.Contains(m[2], target) {
			n, _ := strconv.Atoi(m[1])
			return n, true
		}
	}
	return 0, false
}

// index finds the first element that is known by a text.
func (a *agent) index(target string) (int, bool) {
	for _, n := range slices.Sorted(maps.Keys(a.lines)) {
		if strings.Contains(a.lines[n], target) {
			return n, true
		}
	}
	return 0, false
}

func (a *agent) find(target string) int {
	a.Helper()
	if n, ok := a.index(target); ok {
		return n
	}
	a.Fatalf("no line has %q:\n%s", target, a.last.Text)
	return 0
}

func (a *agent) click(target string) answer {
	a.Helper()
	return a.call("click", map[string]any{"index": a.find(target), "generation": a.last.generation()})
}

func (a *agent) fill(target, text string) answer {
	a.Helper()
	return a.call("fill", map[string]any{"index": a.find(target), "generation": a.last.generation(), "text": text})
}

// serve answers a host of this test's own with one page.
func serve(host, html string) string {
	web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, html)
	}))
	return "http://" + host + "/"
}
