package look_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	cdpt "github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"github.com/bellglass/bellglass/internal/look"
)

func bigPage() string {
	var b strings.Builder
	b.WriteString("<title>Big</title><main>")
	for i := range 1250 {
		fmt.Fprintf(&b, `<div class=card><h3><a href="/p/%d">Product %d</a></h3><p>Some <b>text</b> about it, %d words.</p><span class=price>$%d</span><button>Add to cart</button></div>`, i, i, i, i)
	}
	return b.String()
}

func TestPerf(t *testing.T) {
	if os.Getenv("PERF") == "" {
		t.Skip()
	}
	p := newTab(t)
	p.write(bigPage())
	w := p.world()
	sc := look.Script(look.Options{})
	sc = strings.Replace(sc, "const listed = look();", "const T0=performance.now();const listed = look();const T1=performance.now();", 1)
	sc = strings.Replace(strings.Replace(sc, "const e = listed.map(describe);", "const e = listed.map(describe);const T3=performance.now();return `look ${T1-T0} describe ${T3-T1}`;", 1), "bellglass.looker", "x", 1)
	for range 5 {
		t.Log(p.eval(w, sc))
	}
	for range 4 {
		var v look.Revealer
		start := time.Now()
		n, err := v.Reveal(t.Context(), p.s, w)
		a := time.Since(start)
		start = time.Now()
		var doc struct {
			Result struct {
				ObjectID string `json:"objectId"`
			} `json:"result"`
		}
		check(t, p.s.Call(t.Context(), "Runtime.evaluate", map[string]any{"expression": "document"}, &doc))
		var out struct {
			Node jsonv2.Value `json:"node"`
		}
		check(t, p.s.Call(t.Context(), "DOM.describeNode", map[string]any{"objectId": doc.Result.ObjectID, "depth": -1, "pierce": true}, &out))
		t.Log("reveal", n, err, a, "describe", time.Since(start), len(out.Node))
	}
	for range 5 {
		start := time.Now()
		p.eval(w, look.Script(look.Options{}))
		a := time.Since(start)
		start = time.Now()
		p.eval(w, "'x'/*"+strings.Repeat("abcdefgh\n", 7000)+"*/")
		b := time.Since(start)
		start = time.Now()
		p.eval(w, "'{x}:'.repeat(56000)")
		c := time.Since(start)
		start = time.Now()
		p.eval(w, "'x'")
		d := time.Since(start)
		start = time.Now()
		p.eval(w, "{const t=performance.now();"+look.Script(look.Options{})+";''+(performance.now()-t)}")
		t.Log(a, b, c, d, time.Since(start), p.eval(w, "{const t=performance.now();"+look.Script(look.Options{})+";''+(performance.now()-t)}"))
	}
	for range 6 {
		start := time.Now()
		_, err := cdpt.Call(t.Context(), p.s, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		check(t, err)
		ax := time.Since(start)
		start = time.Now()
		s := p.eval(w, look.Script(look.Options{}))
		ev := time.Since(start)
		start = time.Now()
		f, err := look.Parse(s)
		check(t, err)
		t.Logf("ax %v, look %v (%.3f), parse %v, %d KB, %d elements, suspects %d", ax, ev, float64(ev)/float64(ax), time.Since(start), len(s)/1024, len(f.Elements), f.Suspects)
	}
	if os.Getenv("PERF") == "prof" {
		cdpt.Call(t.Context(), p.s, runtime.Enable, cdpt.Empty{})
		var out struct {
			Profile jsonv2.Value `json:"profile"`
		}
		check(t, p.s.Call(t.Context(), "Profiler.enable", nil, nil))
		check(t, p.s.Call(t.Context(), "Profiler.setSamplingInterval", map[string]any{"interval": 100}, nil))
		check(t, p.s.Call(t.Context(), "Profiler.start", nil, nil))
		for range 5 {
			p.eval(w, look.Script(look.Options{}))
		}
		check(t, p.s.Call(t.Context(), "Profiler.stop", nil, &out))
		os.WriteFile("/tmp/digest.prof.json", out.Profile, 0o600)
	}
}
