package bellglass

import (
	"fmt"
	"os"
	"runtime"

	"github.com/bellglass/bellglass/internal/memory"
	"github.com/bellglass/bellglass/internal/pool"
)

// What is planned for, where the operator gives no numbers. A headless shell
// with two blank pages takes some 120 MB, and up to 200 with what ordinary pages
// leave behind; a small page 15 MB, one with frames and scripts 100 to 200
// (proportional set sizes, measured on 156). The rest of the machine keeps a
// quarter of what is free.
const (
	planBrowser = 256 << 20
	planPage    = 160 << 20
	// pagesPerCPU bounds what memory alone would allow: reading is work for
	// processors, and more at once only makes all of it late.
	pagesPerCPU = 8
	maxPlanned  = 64 // pages
	maxBrowsers = 16
	// reserve is what must be free beyond a further browser's need before it is
	// started.
	reserve = 256 << 20
)

// Capacity is how much a [Browser] does at one time.
type Capacity struct {
	Pages    int // [Options].MaxPages
	Browsers int // [Options].MaxBrowsers
	// Why says where these come from, for an operator.
	Why string
}

// Capacity returns how many pages and browsers there may be at one time, and
// what that was worked out from.
func (b *Browser) Capacity() Capacity { return b.capacity }

// plan works out what the operator has left open.
func (o Options) plan(offer memory.Offer, cpus int) (Options, Capacity) {
	why := "as configured"
	if o.MaxPages == 0 || o.MaxBrowsers == 0 {
		why = fmt.Sprintf("%d processors, memory unknown", cpus)
		free := int64(maxPlanned+1) * planPage
		if offer.Total > 0 {
			free = offer.Free / 4 * 3
			why = fmt.Sprintf("%d processors, %d MiB of memory free in the %s, of which a quarter is left alone; %d MiB are planned for a page, %d for a browser",
				cpus, offer.Free>>20, offer.Source, planPage>>20, planBrowser>>20)
		}
		browsers, pages := pool.Plan(free, cpus, pool.Needs{Worker: planBrowser, Lease: planPage, PerCPU: pagesPerCPU, MaxWorkers: maxBrowsers, MaxLeases: maxPlanned})
		if o.MaxPages == 0 {
			o.MaxPages = pages
		}
		if o.MaxBrowsers == 0 {
			o.MaxBrowsers = max(1, min(browsers, o.MaxPages))
		}
	}
	if o.MemoryLimit == 0 {
		o.MemoryLimit = 1<<30 + int64(o.MaxPages)*512<<20
		if offer.Total > 0 {
			o.MemoryLimit = max(min(o.MemoryLimit, offer.Total/4*3), minMemoryLimit)
		}
	}
	return o, Capacity{o.MaxPages, o.MaxBrowsers, why}
}

// here plans for this machine.
func (o Options) here() (Options, Capacity) {
	return o.plan(memory.Available(os.DirFS("/")), runtime.GOMAXPROCS(0))
}

// room says why no further browser has room beside those that run: it needs as
// much memory as the largest one so far.
func (b *Browser) room(running int) error {
	offer := memory.Available(os.DirFS("/"))
	b.mu.Lock()
	need := max(b.heaviest, planBrowser/2) + reserve
	b.mu.Unlock()
	if offer.Total == 0 || offer.Free >= need {
		return nil
	}
	return fmt.Errorf("%d MiB are free, a browser beside %d others needs %d", offer.Free>>20, running, need>>20)
}
