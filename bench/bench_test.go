// Package bench measures a read beside the least that it could cost, in one
// run on one browser binary. It holds only benchmarks.
package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/cdp"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/policy"
)

// The four pages on which reading is measured.
var pages = []struct{ name, path string }{
	{"tiny", "/tiny"},
	{"late", "/late?ms=50"}, // the floor is too early for its text
	{"cards100", testweb.Cards(100)},
	{"cards1000", testweb.Cards(1000)},
}

var who = bellglass.Principal{Tenant: "bench", Run: "bench"}

// floor is raw CDP: a context that is open already, in a browser that is
// started and sealed like Browse's, through the same kind of proxy; navigate,
// wait for the load event, run the walker.
type floor struct {
	proc     *chrome.Process
	proxy    *egress.Proxy
	addr     string
	attached chan *cdp.Session
	used     *blank // shows one page after the other
}

// blank is a context with a page.
type blank struct {
	id     cdpt.BrowserContextID
	page   *cdp.Session
	loaded chan struct{}
}

func newFloor(b *testing.B, web *testweb.Web) *floor {
	b.Helper()
	ctx := b.Context()
	f := &floor{attached: make(chan *cdp.Session, 4)}
	f.proxy = egress.NewProxy(&egress.Gate{Resolve: web.Resolve, Dial: web.Dial}, egress.Options{})
	rules, err := policy.Compile(policy.Config{Mode: policy.ModePublic, AllowInsecureHTTP: true})
	check(b, err)
	bin, err := chrome.Find(chrome.FindOptions{})
	check(b, err)
	f.proc, err = chrome.Start(ctx, chrome.Options{Binary: bin, Listeners: 2,
		Seals:    []chrome.Level{chrome.Kernel, chrome.Landlock, chrome.ProxyOnly},
		OnAttach: func(_, s *cdp.Session, _ *target.EventAttachedToTarget) { f.attached <- s }})
	check(b, err)
	b.Cleanup(func() { f.proc.Close(); f.proxy.Close() })
	f.proxy.Serve(f.proc.Listeners[0]) // denies everything
	end := f.proxy.Serve(f.proc.Listeners[1])
	end.Assign(egress.NewRun(egress.RunConfig{Tenant: "bench", ID: "floor", Rules: rules, MaxRequests: -1}))
	f.addr = end.Addr().String()
	yes := true
	_, err = cdpt.Call(ctx, f.proc.Browser, target.SetAutoAttach, target.SetAutoAttachParams{AutoAttach: true, Flatten: &yes})
	check(b, err)
	f.used = f.open(b)
	return f
}

// open makes a context with a blank page.
func (f *floor) open(b *testing.B) *blank {
	ctx := b.Context()
	c, err := cdpt.Call(ctx, f.proc.Browser, target.CreateBrowserContext, target.CreateBrowserContextParams{
		ProxyServer: "http://" + f.addr, ProxyBypassList: "<-loopback>"})
	check(b, err)
	made, err := cdpt.Call(ctx, f.proc.Browser, target.CreateTarget, target.CreateTargetParams{
		URL: "about:blank", BrowserContextID: c.BrowserContextID, Width: 1280, Height: 800})
	check(b, err)
	p := &blank{id: c.BrowserContextID, loaded: make(chan struct{}, 16)}
	for p.page == nil {
		if s := <-f.attached; s.TargetID == made.TargetID {
			p.page = s
		}
	}
	cdp.On(p.page, page.LoadEventFired, func(*page.EventLoadEventFired) { p.loaded <- struct{}{} })
	_, err = cdpt.Call(ctx, p.page, page.Enable, page.EnableParams{})
	check(b, err)
	return p
}

var walker = extract.Script(extract.ScriptOptions{})

// read returns how long one pass took, in the page that has shown others.
func (f *floor) read(b *testing.B, url string) time.Duration { return f.used.read(b, url) }

// readUnused is the same in a context that was opened for it, before, as
// Browse's is: its process has shown nothing yet.
func (f *floor) readUnused(b *testing.B, url string) time.Duration {
	p := f.open(b)
	time.Sleep(150 * time.Millisecond)
	took := p.read(b, url)
	_, err := cdpt.Call(b.Context(), f.proc.Browser, target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: p.id})
	check(b, err)
	return took
}

func (p *blank) read(b *testing.B, url string) time.Duration {
	start := time.Now()
	_, err := cdpt.Call(b.Context(), p.page, page.Navigate, page.NavigateParams{URL: url})
	check(b, err)
	<-p.loaded
	r, err := cdpt.Call(b.Context(), p.page, runtime.Evaluate, runtime.EvaluateParams{Expression: walker})
	check(b, err)
	if r.ExceptionDetails != nil {
		b.Fatal(r.ExceptionDetails.Text)
	}
	return time.Since(start)
}

func check(b *testing.B, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

func newWeb(b *testing.B) *testweb.Web {
	web := testweb.New(b)
	web.Handle("site.test", testweb.Site())
	return web
}

func newBrowser(b *testing.B, web *testweb.Web) *bellglass.Browser {
	br, err := bellglass.New(bellglass.Options{CacheTTL: -1, HostRate: -1, Resolve: web.Resolve, UnsafeDial: web.Dial})
	check(b, err)
	b.Cleanup(func() { br.Close() })
	check(b, br.Start(b.Context()))
	return br
}

// BenchmarkBrowse takes by turns the floor, the floor in an unused context, and
// a whole Browse (fresh context, settled, complete text) on each page. It
// reports the medians, their ratios and the median of the ratios of each round,
// which what else the machine does moves least. Between reads the pool gets
// time to prepare the next blank page, as it has with a caller that thinks;
// BenchmarkBusy is without it.
func BenchmarkBrowse(b *testing.B) {
	web := newWeb(b)
	raw, br := newFloor(b, web), newBrowser(b, web)
	for _, p := range pages {
		b.Run(p.name, func(b *testing.B) {
			url := "http://site.test" + p.path
			var floors, unused, ours []time.Duration
			var ratios, unusedRatios []float64
			for b.Loop() {
				time.Sleep(150 * time.Millisecond)
				took := map[int]time.Duration{}
				for i := range 3 {
					switch k := (i + len(ours)) % 3; k {
					case 0:
						took[k] = raw.read(b, url)
					case 1:
						took[k] = raw.readUnused(b, url)
					case 2:
						took[k] = browse(b, br, url, p.name)
					}
				}
				floors, unused, ours = append(floors, took[0]), append(unused, took[1]), append(ours, took[2])
				ratios = append(ratios, float64(took[2])/float64(took[0]))
				unusedRatios = append(unusedRatios, float64(took[2])/float64(took[1]))
			}
			f, u, o := median(floors), median(unused), median(ours)
			b.ReportMetric(0, "ns/op") // it holds the pauses
			b.ReportMetric(f, "floor-ms")
			b.ReportMetric(u, "unused-floor-ms")
			b.ReportMetric(o, "browse-ms")
			b.ReportMetric(o/f, "ratio")
			b.ReportMetric(o/u, "unused-ratio")
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "paired-ratio")
			slices.Sort(unusedRatios)
			b.ReportMetric(unusedRatios[len(unusedRatios)/2], "paired-unused-ratio")
		})
	}
}

func browse(b *testing.B, br *bellglass.Browser, url, name string) time.Duration {
	start := time.Now()
	res, err := br.Browse(b.Context(), bellglass.Request{Principal: who, URL: url})
	took := time.Since(start)
	check(b, err)
	if res.Status != bellglass.StatusOK {
		b.Fatalf("%s: %s %v", url, res.Reason, res.Err)
	}
	if name == "late" && !strings.Contains(res.Text, testweb.LateText) {
		b.Fatalf("%s: read too early: %q", url, res.Text)
	}
	return took
}

// BenchmarkMemory reports the memory of the browser with two warm pages, in
// MB: the sum of all its processes' resident and proportional set sizes.
func BenchmarkMemory(b *testing.B) {
	web := newWeb(b)
	br := newBrowser(b, web)
	for b.Loop() {
		browse(b, br, "http://site.test/tiny", "tiny")
	}
	time.Sleep(500 * time.Millisecond)
	rss, pss := memory(b)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rss, "RSS-MB")
	b.ReportMetric(pss, "PSS-MB")
}

// memory sums the set sizes of our own descendants.
func memory(b *testing.B) (rss, pss float64) { return memoryOf(b, os.Getpid()) }

// memoryOf sums those of the descendants of a process.
func memoryOf(b *testing.B, pid int) (rss, pss float64) {
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, t := range tasks {
			kids, _ := os.ReadFile(t)
			for _, k := range strings.Fields(string(kids)) {
				n, _ := strconv.Atoi(k)
				pids = append(pids, n)
			}
		}
	}
	for _, pid := range pids[1:] {
		sizes := rollup(pid)
		rss += sizes["Rss:"]
		pss += sizes["Pss:"]
	}
	if rss == 0 {
		b.Skip("no /proc/PID/smaps_rollup here")
	}
	return rss, pss
}

// rollup returns the sizes of a process, in MB: none if it is gone.
func rollup(pid int) map[string]float64 {
	sizes := map[string]float64{}
	roll, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(roll)) {
		if f := strings.Fields(line); len(f) >= 2 {
			kb, _ := strconv.ParseFloat(f[1], 64)
			sizes[f[0]] = kb / 1024
		}
	}
	return sizes
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}
