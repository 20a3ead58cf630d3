package acttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
)

// decided holds the cases of which bellglass decides a point in its own way,
// and says why.
var decided = map[string]func(*testweb.Case){
	// An index means the same element as long as it is that element: what was
	// inserted above it shifts nothing, and the click goes where it was meant to.
	"dg14-stale-insert": func(c *testweb.Case) {
		c.Steps[3].ExpectError, c.Expect.ErrorHasDigest = testweb.WantError{}, false
		c.Expect.PageJS[0].Value = "Beta"
	},
	// Chromium's windows have a method of that name, which hides the element.
	"fi02-typed-inputs": func(c *testweb.Case) {
		for i := range c.Expect.PageJS {
			if c.Expect.PageJS[i].Script == "when.value" {
				c.Expect.PageJS[i].Script = "document.getElementById('when').value"
			}
		}
	},
}

// Time stands still between calls; these pages change while a model thinks.
var realTime = map[string]bool{"dg14-stale-insert": true, "dg15-stale-after-self-nav": true, "dg17-recycled-node": true}

// TestCases runs the cases that act: pages that once broke a tool which does
// this job.
func TestCases(t *testing.T) {
	cases, err := testweb.LoadCases("../../testdata/cases/pages")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range cases {
		acts := false
		for _, s := range c.Steps {
			acts = acts || s.Acts()
		}
		if !acts {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			if f := decided[c.ID]; f != nil {
				f(c)
			}
			runCase(t, c)
		})
	}
	if ran < 30 {
		t.Errorf("only %d cases were run", ran)
	}
}

// runner runs one case.
type runner struct {
	t        *testing.T
	c        *testweb.Case
	origin   string
	probe    *probe
	sessions map[string]*agent
	saved    map[string]answer
	canary   *testweb.Canary
}

func runCase(t *testing.T, c *testweb.Case) {
	host := strings.ToLower(c.ID) + ".case.test"
	r := &runner{t: t, c: c, origin: "http://" + host, probe: &probe{answers: make(chan string, 1)},
		sessions: map[string]*agent{}, saved: map[string]answer{}, canary: testweb.NewCanary(t)}
	web.Handle(host, r.probe.wrap(c))
	var got []testweb.Result
	for _, s := range c.Steps {
		got = append(got, r.step(s))
	}
	for _, wrong := range c.Check(got) {
		t.Error(wrong)
	}
	r.beyond(got)
	if t.Failed() && !testing.Verbose() {
		for i, g := range got {
			t.Logf("step %d %v: %s\n%s", i, c.Steps[i], g.Error, g.Digest)
		}
	}
}

func (r *runner) session(name string) *agent {
	if r.sessions[name] == nil {
		r.sessions[name] = open(r.t, bellglass.SessionOptions{FullURLs: true, RealTime: realTime[r.c.ID]})
	}
	return r.sessions[name]
}

// step runs one step, and turns what was answered into a result.
func (r *runner) step(s testweb.Step) testweb.Result {
	if s.Call == "" {
		time.Sleep(time.Duration(s.WaitMS) * time.Millisecond)
		return testweb.Result{}
	}
	a := r.session(s.Session)
	address := s.Address(r.origin, r.canary.HostPort())
	args := map[string]any{}
	var out answer
	switch s.Call {
	case "navigate":
		args["url"] = address
		if s.WaitMS > 0 {
			args["wait_ms"] = s.WaitMS
		}
		out = a.call("navigate", args)
	case "state":
		if s.MaxElements > 0 {
			args["max_elements"] = s.MaxElements
		}
		if s.ScrollPages != 0 {
			args["scroll_pages"] = s.ScrollPages
		}
		out = a.call("state", args)
	case "click", "fill":
		find, from := a.index, a.last
		if s.TargetFrom != "" {
			from = r.saved[s.TargetFrom]
			find = from.index
		}
		args["generation"] = a.last.generation()
		if s.GenerationFrom != "" {
			args["generation"] = r.saved[s.GenerationFrom].generation()
		}
		if s.Index != nil {
			var index any
			if err := json.Unmarshal(s.Index, &index); err != nil {
				r.t.Fatal(err)
			}
			args["index"] = index
		} else if n, ok := find(s.Target); ok {
			args["index"] = n
		} else {
			r.t.Errorf("no line has %q:\n%s", s.Target, from.Text)
			return testweb.Result{}
		}
		if s.Call == "fill" {
			args["text"] = s.Text
			if s.Submit {
				args["submit"] = true
			}
		}
		out = a.call(s.Call, args)
	case "close":
		out = a.call("navigate", map[string]any{"close": true})
		delete(r.sessions, s.Session)
	case "browse_page":
		res, err := bg.Browse(r.t.Context(), bellglass.Request{Principal: who, URL: address})
		if err != nil {
			r.t.Fatal(err)
		}
		return testweb.Result{Text: res.Text, FinalURL: res.FinalURL, Status: string(res.Status), Reason: string(res.Reason),
			HTTPStatus: res.HTTPStatus, ContentType: res.ContentType, Note: res.Hint}
	case "extract":
		if address != "" {
			a.call("navigate", map[string]any{"url": address})
		}
		if s.Mode != "" {
			args["mode"] = s.Mode
		}
		out = a.call("extract", args)
	default:
		r.t.Fatalf("unknown call %q", s.Call)
	}
	if limit := time.Duration(s.MaxMS) * time.Millisecond; limit > 0 && out.took > limit {
		r.t.Errorf("%v took %v, at most %v", s, out.took, limit)
	}
	if s.Save != "" {
		r.saved[s.Save] = out
	}
	return result(out)
}

// result cuts an answer into the parts that cases judge.
func result(a answer) testweb.Result {
	head, rest, _ := strings.Cut(a.Text, "Page: ")
	if rest == "" {
		head = a.Text
	}
	res := testweb.Result{
		FinalURL: a.str("final_url"), Status: a.str("status"), Reason: a.str("reason"),
		Note: head,
	}
	res.HTTPStatus, _ = a.Fields["http_status"].(int)
	if _, text, ok := strings.Cut(a.Text, "\nuntrusted_page_text "); ok {
		_, text, _ = strings.Cut(text, "\n")
		if i := strings.LastIndex(text, "end "); i >= 0 {
			res.Text = text[:i]
		}
	}
	if rest != "" {
		res.Digest, _, _ = strings.Cut("Page: "+rest, "\nuntrusted_page_text ")
		for _, m := range indexed.FindAllString(res.Digest, -1) {
			res.Text += m + "\n"
		}
		if _, events, ok := strings.Cut(rest, "\nEvents: "); ok {
			line, _, _ := strings.Cut(events, "\n")
			res.Note += line
		}
	}
	if a.IsError {
		res.Error = head
	}
	return res
}

// beyond judges what only the one who runs the case can know.
func (r *runner) beyond(got []testweb.Result) {
	e := r.c.Expect
	if hits := r.canary.Hits(); e.CanaryHits != nil && len(hits) != *e.CanaryHits {
		r.t.Errorf("the canary was reached: %v", hits)
	}
	for _, p := range e.PageJS {
		if diff := cmp.Diff(p.Value, r.probe.ask(r, p.Script)); diff != "" {
			r.t.Errorf("%s (-want +got):\n%s", p.Script, diff)
		}
	}
	// How often something is listed is about the first digest.
	lines := indexed.FindAllString(got[0].Digest, -1)
	for what, want := range e.DigestCount {
		if n := strings.Count(strings.Join(lines, "\n"), what); n != want {
			r.t.Errorf("%q is listed %d times, want %d", what, n, want)
		}
	}
	for what, want := range e.DigestCountEnabled {
		n := 0
		for _, line := range lines {
			if strings.Contains(line, what) && !strings.Contains(line, "disabled") {
				n++
			}
		}
		if n != want {
			r.t.Errorf("%q is listed %d times enabled, want %d", what, n, want)
		}
	}
	if n := e.DigestCountAtLeast; n > 0 {
		if have := len(indexed.FindAllString(got[0].Digest, -1)); have < n {
			r.t.Errorf("%d elements, at least %d", have, n)
		}
	}
}

// probe lets a test ask a case's page for the value of an expression: what the
// session itself cannot do. The page's server appends a listener; the question
// comes as a fragment, and the answer goes back to the server.
type probe struct {
	mu      sync.Mutex
	answers chan string
	hash    string // the page's own, before the first question
}

const listener = `<script>addEventListener('hashchange', async e => {
	const at = location.hash.indexOf('bellglass-probe=');
	if (at < 0) return;
	e.stopImmediatePropagation();
	let v;
	try { v = await (0, eval)(decodeURIComponent(location.hash.slice(at + 16))) } catch (x) { v = String(x) }
	fetch('/bellglass-probe', { method: 'POST', body: JSON.stringify(v === undefined ? null : v) });
}, true)</script>`

func (p *probe) wrap(c *testweb.Case) http.Handler {
	h, routed := c.Handler(), map[string]bool{}
	for _, r := range c.Server.Routes {
		routed[r.Path] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := strings.TrimPrefix(path.Clean(req.URL.Path), "/")
		switch {
		case name == "bellglass-probe":
			if b, err := io.ReadAll(req.Body); err == nil {
				p.answers <- string(b)
			}
		case len(c.Expect.PageJS) > 0 && !routed[name] && (name == "" || strings.HasSuffix(name, ".html")):
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, req)
			for k, v := range rec.Header() {
				w.Header()[k] = v
			}
			w.Header().Del("Content-Length")
			w.WriteHeader(rec.Code)
			w.Write(rec.Body.Bytes())
			fmt.Fprint(w, listener)
		default:
			h.ServeHTTP(w, req)
		}
	})
}

// ask evaluates an expression in the page that the last step was about.
func (p *probe) ask(r *runner, expression string) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := r.c.Steps[len(r.c.Steps)-1].Session
	a := r.sessions[last]
	if a == nil {
		return "the session is closed"
	}
	at, hash, found := strings.Cut(a.ok(a.call("state", nil)).str("final_url"), "#")
	if found && !strings.HasPrefix(hash, "bellglass-probe=") {
		p.hash = "#" + hash
	}
	expression = strings.ReplaceAll(expression, "location.hash", strconv.Quote(p.hash)) // which the question takes the place of
	a.call("navigate", map[string]any{"url": at + "#bellglass-probe=" + url.PathEscape(expression)})
	select {
	case s := <-p.answers:
		var v any
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			return err.Error()
		}
		return v
	case <-time.After(5 * time.Second):
		return "no answer"
	}
}
