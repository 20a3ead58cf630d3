// Package tasktest has an agent do small tasks on pages of widgets, through the
// MCP server: it sees what the tools answer, and finds what it acts on by its
// line in a digest. What a page's task has come to, its server is told. The
// package has no code of its own.
package tasktest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
	"github.com/bellglass/bellglass/mcpserver"
	"github.com/bellglass/bellglass/policy"
	"github.com/bellglass/bellglass/tools"
)

var (
	web *testweb.Web
	bg  *bellglass.Browser
)

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, suite.Options{SetUp: func(w *testweb.Web) (func() error, error) {
		web = w
		w.Handle(host, http.HandlerFunc(servePage))
		w.Handle("other.tasks.test", http.HandlerFunc(servePage))
		o := suite.BrowserOptions(web)
		o.HostRate = -1
		var err error
		if bg, err = bellglass.New(o); err != nil {
			return nil, err
		}
		return bg.Close, nil
	}}))
}

const host = "tasks.test"

// servePage serves the page of a task, and takes what it has come to.
func servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	name := strings.TrimPrefix(r.URL.Path, "/")
	for _, k := range tasks {
		if k.name == name {
			fmt.Fprintf(w, "<!doctype html><html lang=en><title>%s</title><script>var done = got => fetch('/done?task=%s&got=' + encodeURIComponent(got)), $ = (id, at = document) => at.querySelector(id), on = (e, type, f) => e.addEventListener(type, f)</script><body>%s", k.name, k.name, k.html)
			return
		}
	}
	fmt.Fprintf(w, "<!doctype html><title>Plain</title><p>%s", name)
}

// agent calls tools over the protocol, and remembers the lines that it was
// shown.
type agent struct {
	*testing.T
	client     *mcp.ClientSession
	generation int
	lines      map[int]string
	said       string
}

func newAgent(t *testing.T) *agent {
	t.Helper()
	o := bellglass.SessionOptions{Mode: policy.ModePublic, AllowInsecureHTTP: true}
	sessions, err := tools.NewSessions(bg, tools.SessionsOptions{Session: o})
	if err != nil {
		t.Fatal(err)
	}
	s := mcpserver.New(mcpserver.Options{Version: "1", Principal: bellglass.Principal{Tenant: "test", Run: t.Name()}}, sessions.Tools())
	there, here := mcp.NewInMemoryTransports()
	server, err := s.Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		server.Wait()
		if err := sessions.Close(); err != nil {
			t.Error(err)
		}
	})
	return &agent{T: t, client: client}
}

var (
	indexed    = regexp.MustCompile(`(?m)^\[(\d+)\] (.*)$`)
	generation = regexp.MustCompile(`(?m)^Generation: (\d+)`)
	gone       = regexp.MustCompile(`(?m)^Gone elements: (.*)$`)
)

// call calls a tool and returns its text; the words that it must begin with
// are its status.
func (a *agent) call(tool string, args map[string]any) (text string, ok bool) {
	a.Helper()
	r, err := a.client.CallTool(a.Context(), &mcp.CallToolParams{Name: "browser_" + tool, Arguments: args})
	if err != nil {
		a.Fatalf("%s: an error of the protocol: %v", tool, err)
	}
	a.said = r.Content[0].(*mcp.TextContent).Text
	a.learn(a.said)
	if testing.Verbose() {
		a.Logf("%s %v\n%s", tool, args, a.said)
	}
	return a.said, !r.IsError
}

// learn keeps what a digest, or a difference, says about elements.
func (a *agent) learn(digest string) {
	m := generation.FindStringSubmatch(digest)
	if m == nil {
		return
	}
	a.generation, _ = strconv.Atoi(m[1])
	digest, _, _ = strings.Cut(digest, "\nuntrusted_page_text ")
	if !strings.Contains(digest, "\nChanges since generation ") {
		a.lines = map[int]string{}
	}
	for _, m := range indexed.FindAllStringSubmatch(digest, -1) {
		n, _ := strconv.Atoi(m[1])
		a.lines[n] = m[2]
	}
	if m := gone.FindStringSubmatch(digest); m != nil {
		for part := range strings.SplitSeq(m[1], ", ") {
			from, to, is := strings.Cut(part, "-")
			low, _ := strconv.Atoi(from)
			high := low
			if is {
				high, _ = strconv.Atoi(to)
			}
			for ; low <= high; low++ {
				delete(a.lines, low)
			}
		}
	}
}

// find is the index of the first line that has all these words, which "&"
// separates.
func (a *agent) find(words string) int {
	a.Helper()
	for _, n := range slices.Sorted(maps.Keys(a.lines)) {
		all := true
		for w := range strings.SplitSeq(words, " & ") {
			all = all && strings.Contains(a.lines[n], w)
		}
		if all {
			return n
		}
	}
	a.Fatalf("no line has %q:\n%s", words, a.said)
	return 0
}

// step does one step of a task: a verb, the words of a line, and what else the
// verb needs after " = ".
func (a *agent) step(s string) {
	a.Helper()
	verb, rest, _ := strings.Cut(s, " ")
	words, text, _ := strings.Cut(rest, " = ")
	args := map[string]any{}
	on := func() map[string]any {
		args["index"], args["generation"] = a.find(words), a.generation
		return args
	}
	must := func(said string, ok bool) {
		if !ok {
			a.Fatalf("%s: %s", s, said)
		}
	}
	switch verb {
	case "click":
		must(a.call("click", on()))
	case "accept":
		on()["dialog"] = "accept"
		must(a.call("click", args))
	case "fill", "submit", "enter", "tab":
		on()["text"] = text
		switch verb {
		case "submit":
			args["submit"] = true
		case "enter":
			args["key"] = "Enter"
		case "tab":
			args["key"] = "Tab"
		}
		must(a.call("fill", args))
	case "refuse", "refuse-fill":
		why := text
		tool := "click"
		if on(); verb == "refuse-fill" {
			tool, args["text"] = "fill", "x"
		}
		if said, ok := a.call(tool, args); ok || !strings.Contains(said, why) {
			a.Fatalf("%s: %s", s, said)
		}
	case "try-fill":
		on()["text"] = text
		a.call("fill", args)
	case "look":
		must(a.call("state", nil))
	case "wait":
		must(a.call("state", map[string]any{"wait_for": rest}))
	case "scroll":
		must(a.call("state", map[string]any{"scroll_pages": 1}))
	case "has":
		if !strings.Contains(a.said, rest) {
			a.Fatalf("lacks %q: %s", rest, a.said)
		}
	case "lacks":
		if strings.Contains(a.said, rest) {
			a.Fatalf("has %q: %s", rest, a.said)
		}
	default:
		a.Fatalf("unknown step %q", s)
	}
}

// TestTasks does all tasks, one after the other in one session, and compares
// what the server was told with what was to be done: that, once, and nothing
// else.
func TestTasks(t *testing.T) {
	const groups = 2
	for g := range groups {
		t.Run(strconv.Itoa(g), func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			for i, k := range tasks {
				if i%groups == g {
					t.Run(k.name, func(t *testing.T) { a.do(t, k) })
				}
			}
		})
	}
}

func (a *agent) do(t *testing.T, k task) {
	outer := a.T
	a.T = t
	defer func() { a.T = outer }()
	if said, ok := a.call("navigate", map[string]any{"url": "http://" + host + "/" + k.name}); !ok {
		t.Fatal(said)
	}
	for _, s := range k.steps {
		a.step(s)
	}
	of := func(h testweb.Hit) (string, bool) {
		q, err := url.ParseQuery(h.Query)
		return q.Get("got"), err == nil && h.Path == "/done" && q.Get("task") == k.name
	}
	if k.want != "" {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		web.Wait(ctx, host, func(h testweb.Hit) bool { _, is := of(h); return is })
		cancel()
	}
	var got []string
	for _, h := range web.Hits(host) {
		if s, is := of(h); is {
			got = append(got, s)
		}
	}
	if s := strings.Join(got, "; "); s != k.want {
		t.Errorf("it came to %q, want %q\n%s", s, k.want, a.said)
	}
}
