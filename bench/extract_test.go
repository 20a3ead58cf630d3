package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	cdpt "github.com/chromedp/cdproto/cdp"
	cdprt "github.com/chromedp/cdproto/runtime"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/testweb"
)

// BenchmarkExtract takes a page of some 10,000 elements and compares its
// extraction, from the script to the Markdown of the main part, with what
// Chromium's full accessibility tree takes until it is here.
func BenchmarkExtract(b *testing.B) {
	f := newFloor(b, newWeb(b))
	script := extract.Script(extract.ScriptOptions{})
	var ours, trees []time.Duration
	for b.Loop() {
		f.read(b, "http://site.test"+testweb.Cards(1430))
		w := world(b, f)
		one := func() {
			start := time.Now()
			r, err := cdpt.Call(b.Context(), f.used.page, cdprt.Evaluate, cdprt.EvaluateParams{Expression: script, ContextID: w})
			check(b, err)
			var s string
			check(b, json.Unmarshal(r.Result.Value, &s))
			d, err := extract.Parse(s)
			check(b, err)
			text := d.Text(extract.TextOptions{})
			ours = append(ours, time.Since(start))
			if !strings.Contains(text, "Product number 1429") {
				b.Fatal("the last card is missing")
			}
		}
		two := func() {
			start := time.Now()
			_, err := cdpt.Call(b.Context(), f.used.page, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
			check(b, err)
			trees = append(trees, time.Since(start))
		}
		if len(ours)%2 == 0 {
			one, two = two, one
		}
		one()
		two()
	}
	o, t := median(ours), median(trees)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(o, "extract-ms")
	b.ReportMetric(t, "axtree-ms")
	b.ReportMetric(o/t, "ratio")
}

// BenchmarkHuge reads a page of 250,000 nodes, and reports how long that took
// and the most memory that was seen meanwhile, in MB: of our own heap, and
// of the browser's processes together.
func BenchmarkHuge(b *testing.B) {
	web := newWeb(b)
	var page strings.Builder
	for i := range 125_000 {
		fmt.Fprintf(&page, "<p>line %d", i)
	}
	web.Handle("huge.test", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page.String())
	}))
	br := newBrowser(b, web)
	var took []time.Duration
	var heap, pss float64
	whole := 0 // reads that brought text; on a busy machine the page may be given up
	for b.Loop() {
		var done atomic.Bool
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			for !done.Load() {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				heap = max(heap, float64(m.HeapAlloc)/(1<<20))
				_, p := memory(b)
				pss = max(pss, p)
				time.Sleep(50 * time.Millisecond)
			}
		}()
		start := time.Now()
		res, err := br.Browse(b.Context(), bellglass.Request{Principal: who, URL: "http://huge.test/"})
		took = append(took, time.Since(start))
		done.Store(true)
		<-watched
		check(b, err)
		if res.Status == bellglass.StatusOK && strings.HasPrefix(res.Text, "line 0") {
			whole++
		} else {
			b.Logf("ended as %s %v", res.Reason, res.Err)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(took), "browse-ms")
	b.ReportMetric(float64(whole)/float64(len(took)), "read")
	b.ReportMetric(heap, "heap-MB")
	b.ReportMetric(pss, "browser-PSS-MB")
}
