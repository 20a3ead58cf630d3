package faulttest

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
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
	bellglass.ReasonPort, bellglass.ReasonAddress, bellglass.ReasonDownload, bellglass.ReasonTenantQuota, bellglass.ReasonPoolFull,
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
func short(o *bellglass.Options) { o.CallTimeout, o.NavigationTimeout = 10*time.Second, 5*time.Second }

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

// TestEveryCommandMayFail: of each method that reading and acting use, the
// first call or a later one goes wrong in some way. BELLGLASS_FAULTS=all tries
// all ways with each.
func TestEveryCommandMayFail(t *testing.T) {
	for name, scenario := range map[string]func(testing.TB, *bellglass.Browser) []outcome{"reading": reading, "acting": acting} {
		t.Run(name, func(t *testing.T) {
			all := methods(t, scenario)
			// Waiting costs no processor: those that are never answered are
			// tried beside each other.
			free := make(chan struct{}, 4)
			var wg sync.WaitGroup
			t.Run("faults", func(t *testing.T) {
				for i, method := range all {
					for _, fault := range chosen(i) {
						free <- struct{}{}
						wg.Go(func() {
							defer func() { <-free }()
							t.Run(fmt.Sprintf("%s %s", strings.ReplaceAll(method, ".", "-"), fault), func(t *testing.T) {
								inject(t, scenario, method, 1+i%2, fault)
							})
						})
					}
				}
				wg.Wait()
			})
		})
	}
}

// chosen are the faults to try with the i-th method.
func chosen(i int) []cdptest.Fault {
	if os.Getenv("BELLGLASS_FAULTS") == "all" {
		return cdptest.Faults
	}
	return []cdptest.Fault{cdptest.Faults[i%len(cdptest.Faults)]}
}

func inject(t *testing.T, scenario func(testing.TB, *bellglass.Browser) []outcome, method string, nth int, fault cdptest.Fault) {
	line := &cdptest.Line{}
	b := newBrowser(t, line, short)
	if method == "Browser.getVersion" || method == "Target.setAutoAttach" {
		nth = 1 // they belong to the start
	} else {
		recovers(t, b)
	}
	line.SetPlan(func(m string, n int) cdptest.Fault {
		if m == method && n == nth {
			return fault
		}
		return cdptest.None
	})
	for _, o := range scenario(t, b) {
		o.check(t)
	}
	line.SetPlan(nil)
	recovers(t, b)
}
