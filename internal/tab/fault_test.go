package tab_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellglass/bellglass/internal/cdp"
	"github.com/bellglass/bellglass/internal/cdptest"
	"github.com/bellglass/bellglass/internal/look"
	"github.com/bellglass/bellglass/internal/tab"
)

// pageText is what the walker says of a page with one paragraph.
const pageText = "bellglass-page 1\twidth=800\theight=600\tnodes=3\n<p\nTSome text that is long enough to be no stub of a page.\n>\n"

// read is one use of a tab.
func read(ctx context.Context, tb *tab.Tab) (*tab.Page, error) {
	return tb.Read(ctx, tab.Request{URL: "http://site.test/", Timeout: 15 * time.Second})
}

// act is another: all that a session does, whatever comes of it. The error is
// that of the first navigation.
func act(ctx context.Context, tb *tab.Tab) (*tab.Page, error) {
	l, err := tb.Live(ctx, tab.LiveOptions{Timeout: 15 * time.Second})
	if err != nil {
		return nil, err
	}
	at, err := l.Navigate(ctx, "http://site.test/")
	if slow := each(ctx, l, nil); slow != nil {
		return nil, slow
	}
	return &tab.Page{URL: at.URL, Status: at.Status}, err
}

// each does everything that a session can do, one after the other, and hands
// what comes of it to told. The error is that one of them took too long.
func each(ctx context.Context, l *tab.Live, told func(i int, err error)) error {
	for i, do := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := l.Glance(ctx, look.Options{}); return err },
		func(ctx context.Context) error { _, _, _, err := l.Aim(ctx, node); return err },
		func(ctx context.Context) error { return l.Click(ctx, node, 5, 5) },
		func(ctx context.Context) error { _, err := l.Focus(ctx, node); return err },
		func(ctx context.Context) error { return l.Slide(ctx, node, 3) },
		func(ctx context.Context) error { _, err := l.Describe(ctx, node); return err },
		func(ctx context.Context) error {
			return l.Type(ctx, node, "text", false, func(context.Context) error { return nil })
		},
		func(ctx context.Context) error { return l.Set(ctx, node, "date", "2026-01-02") },
		func(ctx context.Context) error { return l.Choose(ctx, node, false, "one") },
		func(ctx context.Context) error { _, err := l.Value(ctx, node); return err },
		func(ctx context.Context) error { _, err := l.Submit(ctx, node); return err },
		func(ctx context.Context) error { return l.Press(ctx, tab.KeyEnter) },
		func(ctx context.Context) error { return l.Scroll(ctx, 1) },
		func(ctx context.Context) error { return l.ScrollTo(ctx, node) },
		func(ctx context.Context) error { _, err := l.Shows(ctx, "text"); return err },
		func(ctx context.Context) error { _, err := l.Select(ctx, "#a"); return err },
		func(ctx context.Context) error { _, err := l.Content(ctx, ""); return err },
		func(ctx context.Context) error { _, err := l.HTML(ctx, "p"); return err },
		func(ctx context.Context) error { _, err := l.Screenshot(ctx, true, nil); return err },
		func(ctx context.Context) error { return l.Step(ctx, time.Second) },
		l.Look, l.Alive,
		func(ctx context.Context) error { _, err := l.Back(ctx); return err },
		func(ctx context.Context) error { _, _, err := l.Form(ctx, node); return err },
		func(ctx context.Context) error { _, err := l.Invalid(ctx, node); return err },
		func(ctx context.Context) error { return l.Run(ctx) },
		func(ctx context.Context) error { return l.Wait(ctx, time.Second) },
		func(ctx context.Context) error { _, err := l.Content(ctx, "p"); return err },
		func(ctx context.Context) error { _, err := l.Navigate(ctx, "http://site.test/again"); return err },
		func(ctx context.Context) error { return l.Kill(ctx) },
	} {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		begun := time.Now()
		err := do(ctx)
		cancel()
		if time.Since(begun) > 15*time.Second {
			return fmt.Errorf("act %d took %v", i, time.Since(begun))
		}
		if told != nil {
			told(i, err)
		}
	}
	return nil
}

var node = tab.Node{Frame: "T-S-C1", Node: 7}

// answers are those of a browser that is asked about elements.
func answers(method string, _ json.RawMessage) string {
	switch method {
	case "DOM.resolveNode":
		return `{"object":{"type":"object","objectId":"O1"}}`
	case "Runtime.callFunctionOn":
		return `{"result":{"type":"string","value":""}}`
	case "Page.getNavigationHistory":
		return `{"currentIndex":1,"entries":[{"id":1,"url":"http://site.test/a","userTypedURL":"","title":"","transitionType":"link"},{"id":2,"url":"http://site.test/","userTypedURL":"","title":"","transitionType":"link"}]}`
	case "Page.getLayoutMetrics":
		return `{"layoutViewport":{},"visualViewport":{},"contentSize":{},"cssLayoutViewport":{"clientWidth":800,"clientHeight":600},"cssVisualViewport":{},"cssContentSize":{"width":800,"height":900}}`
	case "Page.captureScreenshot":
		return `{"data":"iVBORw0KGgo="}`
	}
	return ""
}

// trial is one tab that is opened, reads a page and is closed.
type trial struct {
	opened, read, closed error
	page                 *tab.Page
	took                 time.Duration
}

// try does that within limits, on a browser made of Go with a line to it.
func try(t *testing.T, use func(context.Context, *tab.Tab) (*tab.Page, error), plan func(string, int) cdptest.Fault) (trial, map[string]int) {
	t.Helper()
	b := &cdptest.Browser{Text: pageText, Answer: answers}
	line := &cdptest.Line{Plan: plan}
	host := tab.NewHost()
	r, w := line.Wrap(b.Pipe())
	conn := cdp.New(r, w, host.Attach)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	begun := time.Now()
	var got trial
	short, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if got.opened = host.Bind(short, conn); got.opened == nil {
		var tb *tab.Tab
		if tb, got.opened = host.Open(short, tab.Config{Proxy: "127.0.0.1:1"}); got.opened == nil {
			got.page, got.read = use(ctx, tb)
			got.closed = tb.Close(context.Background())
		}
	}
	got.took = time.Since(begun)
	if got.opened != nil && !errors.Is(got.opened, tab.ErrLeft) && conn.Err() == nil && b.Contexts() > 0 && plan != nil {
		// A context may only be left where its making was not answered as it
		// should: then nobody knows its name.
		if n := line.Calls()["Target.disposeBrowserContext"]; n > 0 {
			t.Errorf("%d contexts are left, and nobody says so: %v", b.Contexts(), got.opened)
		}
	}
	return got, line.Calls()
}

// TestWithoutFaults, what the other tests take away from.
func TestWithoutFaults(t *testing.T) {
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, _ := try(t, use, nil)
				if err := errors.Join(got.opened, got.read, got.closed); err != nil {
					t.Fatal(err)
				}
				if got.page == nil || got.page.Status != 200 || name == "read" && (got.page.Doc == nil || got.page.Doc.TextLen == 0) {
					t.Errorf("got %+v", got.page)
				}
			})
		})
	}
}

var uses = map[string]func(context.Context, *tab.Tab) (*tab.Page, error){"read": read, "act": act}

// all makes TestEachCallOfEachMethodGoesWrong try all ways with all calls,
// instead of every fifteenth.
var all = os.Getenv("BELLGLASS_FAULTS") == "all"

// TestEachCallOfEachMethodGoesWrong in each way: there is an error or a page,
// within the time that there is, and no goroutine is left (the bubble would not
// end).
func TestEachCallOfEachMethodGoesWrong(t *testing.T) {
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			var calls map[string]int
			synctest.Test(t, func(t *testing.T) { _, calls = try(t, use, nil) })
			tried, told := 0, 0
			for i, method := range slices.Sorted(maps.Keys(calls)) {
				for n := 1; n <= min(calls[method], 4); n++ {
					for k, kind := range cdptest.Faults {
						if !all && (i+n+k)%15 != 0 {
							continue
						}
						tried++
						if wrong(t, use, method, n, kind) {
							told++
						}
					}
				}
			}
			t.Logf("%d calls went wrong, %d of them were told", tried, told)
			if told < tried/4 {
				t.Errorf("only %d of %d were told", told, tried)
			}
		})
	}
}

// wrong lets one call go wrong, and reports whether that was told.
func wrong(t *testing.T, use func(context.Context, *tab.Tab) (*tab.Page, error), method string, n int, kind cdptest.Fault) (told bool) {
	t.Run(fmt.Sprintf("%s %d %s", method, n, kind), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			got, _ := try(t, use, func(m string, i int) cdptest.Fault {
				if m == method && i == n {
					return kind
				}
				return cdptest.None
			})
			told = errors.Join(got.opened, got.read, got.closed) != nil
			if got.took > 5*time.Minute {
				t.Errorf("it took %v: %v, %v, %v", got.took, got.opened, got.read, got.closed)
			}
			if got.opened == nil && got.read == nil && got.page == nil {
				t.Error("neither page nor error")
			}
			if dead := kind == cdptest.Broken || kind == cdptest.Die; dead && !told {
				t.Error("the browser was gone, and nobody said so")
			}
		})
	})
	return told
}

// live opens a session's page on a browser made of Go and goes to a page.
func live(t *testing.T, b *cdptest.Browser) (*tab.Tab, *tab.Live) {
	t.Helper()
	host := tab.NewHost()
	r, w := b.Pipe()
	conn := cdp.New(r, w, host.Attach)
	t.Cleanup(func() { conn.Close() })
	err := host.Bind(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	tb, err := host.Open(t.Context(), tab.Config{Proxy: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := tb.Live(t.Context(), tab.LiveOptions{Timeout: 15 * time.Second})
	if err == nil {
		_, err = l.Navigate(t.Context(), "http://site.test/")
	}
	if err != nil {
		t.Fatal(err)
	}
	return tb, l
}

// TestActsOnAPageThatIsGone are told so, each of them, and at once.
func TestActsOnAPageThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb, l := live(t, &cdptest.Browser{Text: pageText, Answer: answers})
		if err := tb.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		err := each(t.Context(), l, func(i int, err error) {
			if !errors.Is(err, tab.ErrCrashed) && !errors.Is(err, tab.ErrGone) {
				t.Errorf("act %d: %v", i, err)
			}
		})
		if err != nil || time.Since(begun) > 0 {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

// TestActsWithOddAnswers: scripts that throw, and yield what is none of what
// ours yield. Nothing panics, and everything ends.
func TestActsWithOddAnswers(t *testing.T) {
	thrown := `{"result":{"type":"object"},"exceptionDetails":{"exceptionId":1,"text":"Uncaught","lineNumber":1,"columnNumber":1,"exception":{"type":"object","description":"Error: odd"}}}`
	for name, odd := range map[string]map[string]string{
		"a script throws":   {"Runtime.evaluate": thrown, "Runtime.callFunctionOn": thrown},
		"no exception":      {"Runtime.evaluate": `{"exceptionDetails":{"exceptionId":1,"text":"odd","lineNumber":1,"columnNumber":1}}`},
		"nothing":           {"Runtime.evaluate": `{"result":{"type":"undefined"}}`, "Runtime.callFunctionOn": `{"result":{"type":"undefined"}}`},
		"not JSON":          {"Runtime.evaluate": `{"result":{"type":"string","value":"{["}}`, "Runtime.callFunctionOn": `{"result":{"type":"string","value":"]"}}`},
		"numbers":           {"Runtime.evaluate": `{"result":{"type":"string","value":"NaN NaN \"x\""}}`, "Runtime.callFunctionOn": `{"result":{"type":"string","value":"1e999 2"}}`},
		"no object":         {"DOM.resolveNode": `{"object":{"type":"object","subtype":"null"}}`},
		"no world":          {"Page.createIsolatedWorld": `{"executionContextId":0}`},
		"no history":        {"Page.getNavigationHistory": `{"currentIndex":7,"entries":[]}`},
		"a picture of none": {"Page.captureScreenshot": `{"data":""}`},
		"a page of no size": {"Page.getLayoutMetrics": `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turned := false
				b := &cdptest.Browser{Text: pageText}
				b.Answer = func(method string, p json.RawMessage) string {
					if a := odd[method]; turned && a != "" {
						return a
					}
					return answers(method, p)
				}
				tb, l := live(t, b)
				turned = true
				if err := each(t.Context(), l, nil); err != nil {
					t.Error(err)
				}
				if err := tb.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
