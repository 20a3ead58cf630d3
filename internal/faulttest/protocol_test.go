package faulttest

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/cdptest"
)

// outcome is what is looked at of a result.
type outcome struct {
	what   string
	status bellglass.Status
	reason bellglass.Reason
	err    *bellglass.Error
}

// reading reads a page with a frame of another site, one that is no HTML, and
// one that shows nothing with its scripts.
func reading(t testing.TB, b *bellglass.Browser) (out []outcome) {
	for _, url := range []string{"http://all.test/", "http://all.test/table.csv", "http://blank.test/"} {
		res := browse(t, b, url)
		out = append(out, outcome{"browse " + url, res.Status, res.Reason, res.Err})
	}
	return out
}

// acting uses everything that a session can do.
func acting(t testing.TB, b *bellglass.Browser) (out []outcome) {
	add := func(what string, h bellglass.Head) { out = append(out, outcome{what, h.Status, h.Reason, h.Err}) }
	s, err := b.Open(t.Context(), who, bellglass.SessionOptions{Mode: "public", AllowInsecureHTTP: true, Selectors: true, ArtefactDir: t.TempDir()})
	if err != nil {
		var e *bellglass.Error
		if !asError(err, &e) {
			t.Errorf("open: %v", err)
			return nil
		}
		return []outcome{{"open", e.Status, e.Reason, e}}
	}
	defer s.Close()
	ctx := t.Context()
	add("navigate", s.Navigate(ctx, bellglass.NavigateRequest{URL: "http://all.test/"}).Head)
	add("state", s.State(ctx, bellglass.StateRequest{ScrollPages: 0.5}).Head)
	add("click", s.Click(ctx, bellglass.ClickRequest{Selector: "#button"}).Head)
	add("fill", s.Fill(ctx, bellglass.FillRequest{Selector: "#field", Text: "typed"}).Head)
	add("select", s.Fill(ctx, bellglass.FillRequest{Selector: "#select", Text: "two"}).Head)
	add("read", s.Read(ctx, "").Head)
	add("html", s.Extract(ctx, bellglass.ExtractRequest{Mode: bellglass.ExtractHTML, Selector: "form"}).Head)
	add("screenshot", s.Screenshot(ctx, bellglass.ScreenshotRequest{Full: true}).Head)
	add("popup", s.Click(ctx, bellglass.ClickRequest{Selector: "#link"}).Head)
	add("first page", s.State(ctx, bellglass.StateRequest{Page: 1}).Head)
	add("submit", s.Fill(ctx, bellglass.FillRequest{Selector: "#field", Text: "x", Submit: true}).Head)
	add("back", s.Navigate(ctx, bellglass.NavigateRequest{Back: true}).Head)
	return out
}

func asError(err error, to **bellglass.Error) bool {
	for ; err != nil; err = unwrap(err) {
		if e, ok := err.(*bellglass.Error); ok {
			*to = e
			return true
		}
	}
	return false
}

func unwrap(err error) error {
	u, ok := err.(interface{ Unwrap() error })
	if !ok {
		return nil
	}
	return u.Unwrap()
}

// never are reasons that blame the caller or the site for what the browser did.
var never = []bellglass.Reason{
	bellglass.ReasonInvalidURL, bellglass.ReasonInvalidArgument, bellglass.ReasonScheme, bellglass.ReasonHost,
	bellglass.ReasonPort, bellglass.ReasonAddress, bellglass.ReasonDownload, bellglass.ReasonTenantQuota,
}

// known are all reasons.
var known = func() map[bellglass.Reason]bellglass.Status {
	all := map[bellglass.Reason]bellglass.Status{"": bellglass.StatusOK}
	for _, r := range bellglass.Reasons() {
		all[r.Reason] = r.Status
	}
	return all
}()

func (o outcome) check(t testing.TB) {
	t.Helper()
	status, ok := known[o.reason]
	if !ok || status != o.status {
		t.Errorf("%s: status %s with reason %q", o.what, o.status, o.reason)
	}
	if slices.Contains(never, o.reason) {
		t.Errorf("%s: %s for what the browser did (%v)", o.what, o.reason, o.err)
	}
}

// short makes calls give up soon, for here some are never answered.
func short(o *bellglass.Options) { o.CallTimeout, o.NavigationTimeout = 6*time.Second, 4*time.Second }

// methods runs a scenario without faults, and returns the methods that were
// called, most of them in the scenario.
func methods(t *testing.T, scenario func(testing.TB, *bellglass.Browser) []outcome) []string {
	t.Helper()
	line := &cdptest.Line{}
	b := newBrowser(t, line, nil)
	for _, o := range scenario(t, b) {
		if o.status != bellglass.StatusOK {
			t.Errorf("without faults, %s: %s %s %v", o.what, o.status, o.reason, o.err)
		}
	}
	return slices.Sorted(maps.Keys(line.Calls()))
}

// fault is one command that goes wrong.
type fault struct {
	scenario func(testing.TB, *bellglass.Browser) []outcome
	method   string
	nth      int
	kind     cdptest.Fault
}

func (f fault) String() string { return fmt.Sprintf("call %d of %s: %s", f.nth, f.method, f.kind) }

// faults are the commands that reading uses, and those that only acting does,
// with what is to go wrong with them: of every third command one call, in one
// way. With BELLGLASS_FAULTS=each it is every command, with =all the first two
// calls of each, in all ways; make faults does that.
func faults(t *testing.T) (out []fault) {
	seen := map[string]bool{}
	for _, scenario := range []func(testing.TB, *bellglass.Browser) []outcome{reading, acting} {
		for i, method := range methods(t, scenario) {
			switch {
			case seen[method]:
			case os.Getenv("BELLGLASS_FAULTS") == "all":
				for _, kind := range cdptest.Faults {
					for n := range 2 {
						out = append(out, fault{scenario, method, n + 1, kind})
					}
				}
			case os.Getenv("BELLGLASS_FAULTS") == "each" || i%3 == 0:
				out = append(out, fault{scenario, method, 1 + i%2, cdptest.Faults[i%len(cdptest.Faults)]})
			}
			seen[method] = true
		}
	}
	return out
}

// TestEveryCommandMayFail: of each method that reading and acting use, a call
// goes wrong. What comes of it is a result that blames neither caller nor site,
// and the browser, or the next one, reads on. Waiting costs no processor, so
// three browsers are at work beside each other.
func TestEveryCommandMayFail(t *testing.T) {
	todo := make(chan fault)
	var wg sync.WaitGroup
	for range 3 {
		line := &cdptest.Line{}
		b := newBrowser(t, line, short)
		wg.Go(func() {
			for f := range todo {
				inject(t, b, line, f)
			}
		})
	}
	for _, f := range faults(t) {
		todo <- f
	}
	close(todo)
	wg.Wait()
}

func inject(t testing.TB, b *bellglass.Browser, line *cdptest.Line, f fault) {
	said := &report{TB: t, about: f.String()}
	recovers(said, b)
	if f.method == "Browser.getVersion" { // it belongs to the start: of the next browser
		f.nth = 1
		line.SetPlan(func(m string, n int) cdptest.Fault {
			if m == "Page.navigate" && n == 1 {
				return cdptest.Die
			}
			return f.at(m, n)
		})
	} else {
		line.SetPlan(f.at)
	}
	for _, o := range f.scenario(said, b) {
		o.check(said)
	}
	line.SetPlan(nil)
	recovers(said, b)
}

func (f fault) at(method string, n int) cdptest.Fault {
	if method == f.method && n == f.nth {
		return f.kind
	}
	return cdptest.None
}

// report says of errors which fault they are about.
type report struct {
	testing.TB
	about string
}

func (r *report) Errorf(format string, args ...any) {
	r.Helper()
	r.TB.Errorf("%s: %s", r.about, fmt.Sprintf(format, args...))
}
