package bench

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/look"
	"github.com/bellglass/bellglass/internal/testweb"
)

// BenchmarkLook takes a page of some 10,000 elements and compares a look, from
// the script to the rendered digest, with what Chromium's full accessibility
// tree takes until it is here. Both see the document for the first time in
// half of the rounds.
func BenchmarkLook(b *testing.B) {
	f := newFloor(b, newWeb(b))
	script := look.Script(look.Options{})
	var looks, trees []time.Duration
	elements := 0
	for b.Loop() {
		f.read(b, "http://site.test"+testweb.Cards(1430))
		w := world(b, f)
		one := func() {
			start := time.Now()
			elements = len(f.look(b, w, script).Elements)
			looks = append(looks, time.Since(start))
		}
		two := func() {
			start := time.Now()
			_, err := cdpt.Call(b.Context(), f.used.page, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
			check(b, err)
			trees = append(trees, time.Since(start))
		}
		if len(looks)%2 == 0 {
			one, two = two, one
		}
		one()
		two()
	}
	if elements < 2*1430 {
		b.Errorf("%d controls", elements)
	}
	l, t := median(looks), median(trees)
	b.ReportMetric(l, "look-ms")
	b.ReportMetric(t, "axtree-ms")
	b.ReportMetric(l/t, "ratio")
}

// world is an isolated world of the page, as looks have it.
func world(b *testing.B, f *floor) runtime.ExecutionContextID {
	tree, err := cdpt.Call(b.Context(), f.used.page, page.GetFrameTree, cdpt.Empty{})
	check(b, err)
	w, err := cdpt.Call(b.Context(), f.used.page, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: tree.FrameTree.Frame.ID, WorldName: "bellglass"})
	check(b, err)
	return w.ExecutionContextID
}

// look is one look and the digest of it.
func (f *floor) look(b *testing.B, w runtime.ExecutionContextID, script string) *digest.Page {
	r, err := cdpt.Call(b.Context(), f.used.page, runtime.Evaluate, runtime.EvaluateParams{Expression: script, ContextID: w})
	check(b, err)
	if r.ExceptionDetails != nil || r.Result == nil {
		b.Fatal(r.ExceptionDetails)
	}
	var s string
	check(b, json.Unmarshal(r.Result.Value, &s))
	seen, err := look.Parse(s)
	check(b, err)
	var t digest.Table
	p := t.Update(seen)
	if len(p.Render(digest.RenderOptions{Nonce: "bench"})) > digest.MaxBytes {
		b.Error("too long")
	}
	return p
}
