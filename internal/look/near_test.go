package look_test

import (
	"path/filepath"
	"testing"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/look"
)

// TestLookingAgainSeesTheSameOnRealPages: a node that is looked at alone has
// the description that it has in the whole, on pages that nobody here wrote.
func TestLookingAgainSeesTheSameOnRealPages(t *testing.T) {
	t.Parallel()
	dir, _, names := annotatedPages(t)
	p := newTab(t)
	_, err := cdpt.Call(t.Context(), p.s, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	check(t, err)
	seen, other := 0, 0
	for _, name := range names {
		_, err = cdpt.Call(t.Context(), p.s, page.Navigate, page.NavigateParams{URL: "about:blank"})
		check(t, err)
		p.put(outside.ReplaceAllString(gunzip(t, filepath.Join(dir, name+".gz")), ""))
		f := p.frame()
		if len(f.Elements) > 250 { // those beyond are described without their rows
			f.Elements = f.Elements[:250]
		}
		for i, e := range f.Elements {
			if i%30 != 0 && e.Tag == "a" {
				continue
			}
			a, err := p.again(e.Node)
			if err != nil {
				t.Errorf("%s: %q: %v", name, e.Name, err)
				continue
			}
			seen++
			if e.Box != a.Box && e.Row == "" {
				continue // it was beyond the detailed ones, which those in view are first of
			}
			d := differs(e, a)
			if d != "" && e.Box != a.Box { // something of the page came late, and moved the rest
				d = p.differsNow(e.Node)
			}
			if d != "" {
				other++
				t.Logf("%s: %s", name, d)
			}
		}
	}
	// Two rows of the corpus stand around a text that runs.
	if t.Logf("%d controls", seen); seen < 1000 || other > 5 {
		t.Errorf("%d of %d are described otherwise", other, seen)
	}
}

// differs compares what a look saw with what looking again did.
func differs(e, a digest.Element) string {
	a.Doc, a.Options, e.Options = "", nil, nil
	a.Focused = e.Focused // autofocus comes when it likes
	return cmp.Diff(e, a)
}

// differsNow looks once more, both ways.
func (p *tab) differsNow(node int64) string {
	for _, e := range p.look().Elements {
		if e.Node == node {
			a, err := p.again(node)
			check(p.t, err)
			return differs(e, a)
		}
	}
	return "it is not seen any more"
}

// TestCalmTargets: after a look, a node that is where it was needs no second
// one to be called still, and comes with what it is at that moment; one that
// has moved, or had to be scrolled to, does not.
func TestCalmTargets(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.write(`<body style="margin:0"><button id=b style="position:absolute;left:10px;top:10px">Go</button><button style="position:absolute;top:5000px">Far</button>`)
	f := p.frame()
	e, far := find(t, f, "Go"), find(t, f, "Far")
	calm := func(node int64) look.Point {
		t.Helper()
		at, err := look.ParsePoint(p.eval(p.world(), look.CalmPointScript(node)))
		check(t, err)
		return at
	}
	p.js(`b.setAttribute('aria-label','Delete');''`)
	at := calm(e.Node)
	if at.Moved || at.Covered != "" {
		t.Errorf("%+v", at)
	}
	now, _, err := look.ParseNode(at.Now)
	if err != nil || now.Name != "Delete" || now.Node != e.Node {
		t.Error(now, err)
	}
	p.js(`b.style.left='90px';''`)
	if at := calm(e.Node); !at.Moved || at.Now != "" {
		t.Errorf("after it has moved: %+v", at)
	}
	if at := calm(far.Node); !at.Moved {
		t.Errorf("after it was scrolled to: %+v", at)
	}
}
