package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
)

// BenchmarkSeal measures what the jail costs, in one run: browsers at each
// level are started by turns, each reads some small pages, and what is
// reported are the medians of the levels and their ratios to proxy-only, and
// the browser's proportional set size. Run it as an ordinary user: root's
// browser has its own sandbox only in the jail, so that there the ratios hold
// what that costs, too.
func BenchmarkSeal(b *testing.B) {
	web := newWeb(b)
	levels := []bellglass.SealLevel{bellglass.SealProxyOnly, bellglass.SealKernel, bellglass.SealLandlock}
	starts, reads := map[bellglass.SealLevel][]time.Duration{}, map[bellglass.SealLevel][]time.Duration{}
	pss := map[bellglass.SealLevel][]float64{}
	round := func(l bellglass.SealLevel) {
		br, err := bellglass.New(bellglass.Options{CacheTTL: -1, HostRate: -1, Resolve: web.Resolve, UnsafeDial: web.Dial, Seal: l})
		check(b, err)
		defer br.Close()
		begin := time.Now()
		check(b, br.Start(b.Context()))
		starts[l] = append(starts[l], time.Since(begin))
		for i := range 6 {
			time.Sleep(150 * time.Millisecond) // the pool prepares the next page
			if took := browse(b, br, "http://site.test/tiny", "tiny"); i > 0 {
				reads[l] = append(reads[l], took)
			}
		}
		_, p := memory(b)
		pss[l] = append(pss[l], p)
	}
	turn := 0
	for b.Loop() {
		order := slices.Clone(levels)
		if turn++; turn%2 == 0 {
			slices.Reverse(order)
		}
		for _, l := range order {
			round(l)
		}
	}
	b.ReportMetric(0, "ns/op") // it holds the pauses
	base := levels[0]
	for _, l := range levels {
		b.ReportMetric(median(starts[l]), "start-ms-"+string(l))
		b.ReportMetric(median(reads[l]), "browse-ms-"+string(l))
		slices.Sort(pss[l])
		b.ReportMetric(pss[l][len(pss[l])/2], "PSS-MB-"+string(l))
		if l != base {
			b.ReportMetric(median(starts[l])/median(starts[base]), "start-ratio-"+string(l))
			b.ReportMetric(median(reads[l])/median(reads[base]), "browse-ratio-"+string(l))
		}
	}
}
