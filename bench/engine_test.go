package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
)

// BenchmarkEngines alternates a read by the plain engine and one by the browser
// on pages that need no scripts, and reports the medians and how many times
// faster the former is.
func BenchmarkEngines(b *testing.B) {
	web := newWeb(b)
	rendered := newBrowser(b, web)
	plain, err := bellglass.New(bellglass.Options{Engine: bellglass.EngineHTTP, CacheTTL: -1, HostRate: -1, Resolve: web.Resolve, UnsafeDial: web.Dial})
	check(b, err)
	b.Cleanup(func() { plain.Close() })
	for _, p := range []struct{ name, path string }{{"tiny", "/tiny"}, {"cards100", testweb.Cards(100)}, {"cards1000", testweb.Cards(1000)}} {
		b.Run(p.name, func(b *testing.B) {
			url := "http://site.test" + p.path
			var http, chromium []time.Duration
			for b.Loop() {
				// A pause before each: after a read, the browser makes another
				// blank page.
				time.Sleep(150 * time.Millisecond)
				chromium = append(chromium, browse(b, rendered, url, p.name))
				time.Sleep(150 * time.Millisecond)
				http = append(http, browse(b, plain, url, p.name))
			}
			h, c := median(http), median(chromium)
			b.ReportMetric(0, "ns/op") // it holds the pauses
			b.ReportMetric(h, "http-ms")
			b.ReportMetric(c, "browser-ms")
			b.ReportMetric(c/h, "times")
		})
	}
}

// BenchmarkRobots reports what asking for robots.txt adds to a read: of a site
// that was never read before, and of one whose file is known. Each has a browser
// of its own, so that all get the same pauses.
func BenchmarkRobots(b *testing.B) {
	web := newWeb(b)
	first, known := newBrowser(b, web), newBrowser(b, web)
	ignoring, err := bellglass.New(bellglass.Options{CacheTTL: -1, HostRate: -1, IgnoreRobots: true, Resolve: web.Resolve, UnsafeDial: web.Dial})
	check(b, err)
	b.Cleanup(func() { ignoring.Close() })
	check(b, ignoring.Start(b.Context()))
	browse(b, known, "http://site.test/tiny", "tiny")
	var cold, warm, without []time.Duration
	n := 0
	for b.Loop() {
		n++
		host := fmt.Sprintf("site-%d.test", n)
		web.Handle(host, testweb.Site())
		for _, k := range []struct {
			by  *bellglass.Browser
			url string
			to  *[]time.Duration
		}{{first, "http://" + host + "/tiny", &cold}, {ignoring, "http://site.test/tiny", &without}, {known, "http://site.test/tiny", &warm}} {
			time.Sleep(150 * time.Millisecond)
			*k.to = append(*k.to, browse(b, k.by, k.url, "tiny"))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(cold), "first-ms")
	b.ReportMetric(median(warm), "known-ms")
	b.ReportMetric(median(without), "ignored-ms")
}
