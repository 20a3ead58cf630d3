package look_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/look"
)

// again looks at one node again.
func (p *tab) again(node int64) (digest.Element, error) {
	p.t.Helper()
	e, _, err := look.ParseNode(p.eval(p.world(), look.NodeScript(node)))
	return e, err
}

func (p *tab) point(node int64) look.Point {
	p.t.Helper()
	at, err := look.ParsePoint(p.eval(p.world(), look.PointScript(node)))
	check(p.t, err)
	return at
}

// find returns the element of that name.
func find(t *testing.T, f *digest.Frame, name string) digest.Element {
	t.Helper()
	for _, e := range f.Elements {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no %q in %v", name, lines(f))
	return digest.Element{}
}

// TestLookingAgainSeesTheSame: every element of every page of controls has the
// same description when its node is looked at alone.
func TestLookingAgainSeesTheSame(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	for _, c := range controls {
		p.write(`<base href="https://site.test/"><body>` + c.html)
		f := p.frame()
		for _, e := range f.Elements {
			a, err := p.again(e.Node)
			if err != nil {
				t.Errorf("%s: %q: %v", c.name, e.Name, err)
				continue
			}
			a.Doc, a.Options, e.Options = "", nil, nil
			if d := cmp.Diff(e, a); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
		}
	}
}

// TestIdentityOfNodes: a node keeps its number while it lives, whatever comes
// before it; what is removed is gone; a new document has another name.
func TestIdentityOfNodes(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.write(`<main><button>Alpha</button><button>Beta</button></main>`)
	f := p.frame()
	beta := find(t, f, "Beta")
	p.js(`document.querySelector('main').insertAdjacentHTML('afterbegin','<button>New</button>');''`)
	g := p.frame()
	if e := find(t, g, "Beta"); e.Node != beta.Node || g.Doc != f.Doc {
		t.Error("Beta has another number, or the document another name")
	}
	p.js(`document.querySelectorAll('button')[2].textContent='Delete everything';''`)
	if e, err := p.again(beta.Node); err != nil || e.Name != "Delete everything" {
		t.Error(e, err)
	}
	p.js(`document.querySelectorAll('button')[2].remove();''`)
	if e, err := p.again(beta.Node); !errors.Is(err, look.ErrGone) {
		t.Error(e, err)
	}
	if _, err := p.again(1 << 40); !errors.Is(err, look.ErrGone) {
		t.Error(err)
	}
	if at := p.point(beta.Node); !at.Gone {
		t.Error(at)
	}
}

func TestPoints(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	for _, c := range []struct {
		name, html, target string
		covered            string // what the obstacle's name holds; "" when a click reaches the target
		hit                string // what elementFromPoint finds there
	}{
		{"in view", `<button>Go</button>`, "Go", "", "Go"},
		{"far below", `<div style="height:5000px"></div><button>Go</button>`, "Go", "", "Go"},
		{"in a box that scrolls", `<div style="height:90px;overflow:auto"><div style="height:900px"></div><button>Go</button></div>`, "Go", "", "Go"},
		{"under a sticky header (cl02)", `<style>body{margin:0}header{position:sticky;top:0;height:140px;background:#ccd}</style><header>H</header><button style="display:block">Go</button><div style="height:3000px"></div>`, "Go", "", "Go"},
		{"a wrapped link", `<div style="width:200px;text-align:right">some words first <a href=/w>a link on two lines of text, that is long</a></div>`, "a link on two lines of text, that is long", "", "a link on two lines of text, that is long"},
		{"covered by a layer", `<button>Go</button><div id=wall style="position:fixed;inset:0;background:#0008">We value your privacy</div>`, "Go", `div#wall "We value your privacy"`, ""},
		{"covered in its middle only", `<button style="width:300px;height:60px">Go</button><div style="position:absolute;left:100px;top:0;width:120px;height:80px;background:red"></div>`, "Go", "", "Go"},
		{"beside a nested control (dg12)", `<div role=button tabindex=0 aria-label="Open" style="position:relative;width:300px;height:120px;border:1px solid">Order<button style="position:absolute;left:110px;top:40px;width:80px;height:40px">Delete</button></div>`, "Open", "", "OrderDelete"},
		{"a label stands for its box", `<style>#m{position:absolute;opacity:0;width:0;height:0}</style><label>Mentor<input id=m type=checkbox></label>`, "Mentor", "", "Mentor"},
		{"beside the link in a label", `<style>#m{position:absolute;opacity:0;width:0;height:0}</style><label><input id=m type=checkbox>I accept the <a href=/terms>terms of this service</a></label>`, "I accept the terms of this service", "", "I accept the terms of this service"},
		{"no pointer events (cl06)", `<a href=/ style="pointer-events:none">Dead</a>`, "Dead", "body", ""},
		{"display: contents", `<a href=/c style="display:contents"><span style="display:inline-block;padding:8px">Contents</span></a>`, "Contents", "", "Contents"},
		{"in a closed shadow root", `<x-s></x-s><script>customElements.get('x-s')||customElements.define('x-s',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'closed'}).innerHTML='<button>Sealed</button>'}})</script>`, "Sealed", "", ""},
		{"what a closed root shows in a slot", `<x-b><span>Slotted</span></x-b><script>customElements.get('x-b')||customElements.define('x-b',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'closed'}).innerHTML='<button><slot></slot></button>'}})</script>`, "Slotted", "", "Slotted"},
		{"an area of a map", `<img usemap=#m width=90 height=40 src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><map name=m><area shape=rect coords=45,0,90,40 href=#east alt="East wing"></map>`, "East wing", "", ""},
	} {
		p.write("<body>" + c.html)
		e := find(t, p.frame(), c.target)
		at := p.point(e.Node)
		if at.Gone || (at.Covered != "") != (c.covered != "") || !strings.Contains(at.Covered, c.covered) {
			t.Errorf("%s: %+v", c.name, at)
			continue
		}
		if c.hit == "" {
			continue
		}
		got := p.js("document.elementFromPoint(" + coordinates(at) + ").textContent")
		if got != c.hit {
			t.Errorf("%s: the point hits %q", c.name, got)
		}
		if twice := p.point(e.Node); twice.Moved {
			t.Errorf("%s: it moved, although it did not", c.name)
		}
	}
}

func coordinates(p look.Point) string { return fmt.Sprintf("%g,%g", p.X, p.Y) }

// TestMovingTargets: a point of what moves says so.
func TestMovingTargets(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.write(`<button id=b style="position:absolute;left:10px">Go</button>`)
	e := find(t, p.frame(), "Go")
	p.point(e.Node)
	p.js(`b.style.left='90px';''`)
	if at := p.point(e.Node); !at.Moved {
		t.Error(at)
	}
}
