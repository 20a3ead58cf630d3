//go:build linux

package loadtest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/memory"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
)

// Of a soak.
const (
	soakCallers = 6
	killEvery   = 10 * time.Second
)

// TestSoak lets callers of two tenants read and act, good pages and bad ones,
// with cancellings and kills at random, for BELLGLASS_SOAK ("15m"; else it does
// not run). Each call must have its result, and nothing may be left at the end.
func TestSoak(t *testing.T) {
	if os.Getenv("BELLGLASS_SOAK") == "" {
		t.Skip("BELLGLASS_SOAK is not set")
	}
	span, err := time.ParseDuration(os.Getenv("BELLGLASS_SOAK"))
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	serveSoak()
	before := measure()
	k := &soak{t: t, outcomes: map[string]int{}}
	k.b = newBrowser(t, func(o *bellglass.Options) {
		o.MaxPages, o.MaxBrowsers, o.QueueTimeout, o.RecyclePages = soakCallers, 2, 2*time.Second, 100
	})
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var wg sync.WaitGroup
	for i := range soakCallers {
		wg.Go(func() { k.caller(ctx, i, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	wg.Go(func() { k.killer(ctx, rand.New(rand.NewPCG(seed, 1000))) })
	wg.Go(func() { k.observe(ctx, span) })
	wg.Wait()
	k.report()
	if err := k.b.Close(); err != nil {
		t.Error("close:", err)
	}
	k.compare(before, measure())
}

// soak is a soak in progress.
type soak struct {
	t *testing.T
	b *bellglass.Browser

	mu             sync.Mutex
	calls, results int
	outcomes       map[string]int
	times          []time.Duration // of reads of good pages that were ok
	kills          int
	memory         []int64 // of everything, each half minute
}

func serveSoak() {
	web.Handle("good.test", testweb.Site())
	web.Handle("form.test", testweb.HTML(`<p>Some text.<form action=/done><input id=f name=a><button id=b type=button onclick="this.textContent='clicked'">click</button></form>`))
	for host, page := range map[string]string{
		"loop.test":    `<p>x<script>for(;;);</script>`,
		"alloc.test":   `<p>x<script>const a = []; setInterval(() => { a.push(new Uint8Array(5e7).fill(1)); if (a.length > 10) a.length = 0 }, 1)</script>`,
		"dialogs.test": `<p>x<script>setInterval(() => alert(1), 1)</script>`,
		"popups.test":  `<p>x<script>for (let i = 0; i < 20; i++) window.open('/')</script>`,
		"workers.test": `<p>x<script>for (let i = 0; i < 8; i++) new Worker(URL.createObjectURL(new Blob(['for(;;);'])))</script>`,
		"frames.test":  `<p>x` + strings.Repeat(`<iframe src="http://good.test/tiny"></iframe>`, 12),
		"reload.test":  `<p>x<script>setTimeout(() => location.reload(), 5)</script>`,
		"deep.test":    strings.Repeat("<div>", 5000) + "deep",
		"storage.test": `<p>x<script>try { for (let i = 0; ; i++) localStorage[i] = 'x'.repeat(1e5) } catch {}</script>`,
	} {
		web.Handle(host, testweb.HTML(page))
	}
	web.Handle("hang.test", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	web.Handle("reset.test", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
}

var (
	goodPages = []string{"http://good.test/tiny", "http://good.test/late?ms=50", "http://good.test" + testweb.Cards(100), "http://good.test/fetched?ms=20"}
	badPages  = []string{"http://loop.test/", "http://alloc.test/", "http://dialogs.test/", "http://popups.test/", "http://workers.test/",
		"http://frames.test/", "http://reload.test/", "http://deep.test/", "http://storage.test/", "http://hang.test/", "http://reset.test/", "http://good.test/redirect?n=30&to=/tiny"}
)

// call counts a call and its result.
func (k *soak) call(what string, f func() (bellglass.Status, bellglass.Reason)) bool {
	k.mu.Lock()
	k.calls++
	k.mu.Unlock()
	begun := time.Now()
	status, reason := f()
	took := time.Since(begun)
	k.mu.Lock()
	defer k.mu.Unlock()
	if status != "" && (status == bellglass.StatusOK) == (reason == "") && bellglass.StatusOf(reason) == status {
		k.results++
	}
	k.outcomes[fmt.Sprintf("%s: %s %s", what, status, reason)]++
	if what == "good" && status == bellglass.StatusOK {
		k.times = append(k.times, took)
	}
	return status == bellglass.StatusOK
}

func (k *soak) caller(ctx context.Context, i int, r *rand.Rand) {
	who := bellglass.Principal{Tenant: []string{"a", "b"}[i%2], Run: fmt.Sprint(i)}
	for ctx.Err() == nil {
		switch n := r.IntN(10); {
		case n < 6:
			k.read(who, "good", goodPages[r.IntN(len(goodPages))], 0)
		case n < 7:
			k.read(who, "bad", badPages[r.IntN(len(badPages))], 0)
		case n < 8:
			k.read(who, "cancelled", badPages[r.IntN(len(badPages))], time.Duration(1+r.IntN(500))*time.Millisecond)
		default:
			k.act(who)
		}
	}
}

func (k *soak) read(who bellglass.Principal, what, url string, limit time.Duration) {
	ctx := context.Background()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	k.call(what, func() (bellglass.Status, bellglass.Reason) {
		res, err := k.b.Browse(ctx, bellglass.Request{Principal: who, URL: url})
		if err != nil {
			k.t.Error(err)
		}
		return res.Status, res.Reason
	})
}

func (k *soak) act(who bellglass.Principal) {
	ctx := context.Background()
	var s *bellglass.Session
	if !k.call("open", func() (bellglass.Status, bellglass.Reason) {
		var err error
		s, err = k.b.Open(ctx, who, bellglass.SessionOptions{Mode: "public", AllowInsecureHTTP: true, Selectors: true})
		if e, ok := err.(*bellglass.Error); ok {
			return e.Status, e.Reason
		}
		if err != nil {
			k.t.Error(err)
		}
		return bellglass.StatusOK, ""
	}) {
		return
	}
	defer s.Close()
	for _, c := range []struct {
		what string
		do   func() bellglass.View
	}{
		{"navigate", func() bellglass.View { return s.Navigate(ctx, bellglass.NavigateRequest{URL: "http://form.test/"}) }},
		{"click", func() bellglass.View { return s.Click(ctx, bellglass.ClickRequest{Selector: "#b"}) }},
		{"fill", func() bellglass.View {
			return s.Fill(ctx, bellglass.FillRequest{Selector: "#f", Text: "x", Submit: true})
		}},
		{"state", func() bellglass.View { return s.State(ctx, bellglass.StateRequest{}) }},
	} {
		k.call(c.what, func() (bellglass.Status, bellglass.Reason) { v := c.do(); return v.Status, v.Reason })
	}
}

func (k *soak) killer(ctx context.Context, r *rand.Rand) {
	parts := []string{"--remote-debugging-pipe", "--type=renderer", "network.mojom", "--type=gpu", "--type=zygote"}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(killEvery):
		}
		all := suite.Descendants(parts[r.IntN(len(parts))])
		if len(all) > 0 && syscall.Kill(all[r.IntN(len(all))], syscall.SIGKILL) == nil {
			k.mu.Lock()
			k.kills++
			k.mu.Unlock()
		}
	}
}

func (k *soak) observe(ctx context.Context, span time.Duration) {
	tick := time.NewTicker(max(span/40, 5*time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		n := memory.Tree(os.DirFS("/"), os.Getpid())
		k.mu.Lock()
		k.memory = append(k.memory, n)
		k.mu.Unlock()
	}
}

func (k *soak) report() {
	for _, what := range slices.Sorted(maps.Keys(k.outcomes)) {
		k.t.Logf("%6d %s", k.outcomes[what], what)
	}
	slices.Sort(k.times)
	if n := len(k.times); n > 0 {
		k.t.Logf("good pages: %d read, p50 %v, p95 %v, p99 %v, slowest %v", n, k.times[n/2], k.times[n*95/100], k.times[n*99/100], k.times[n-1])
	} else {
		k.t.Error("no good page was read")
	}
	k.t.Logf("%d calls, %d results, %d kills", k.calls, k.results, k.kills)
	if k.calls != k.results {
		k.t.Errorf("%d calls, %d results", k.calls, k.results)
	}
	if n := k.outcomes["good: error internal"]; n > 0 {
		k.t.Errorf("%d reads ended as internal", n)
	}
	// What is used varies with the pages that are open: medians of the second
	// and the last quarter are compared.
	if n := len(k.memory); n >= 8 {
		early, late := middle(k.memory[n/4:n/2]), middle(k.memory[n*3/4:])
		k.t.Logf("memory of all processes: %d MiB in the second quarter, %d MiB in the last", early>>20, late>>20)
		if late > early*3/2+64<<20 {
			k.t.Errorf("memory grew from %d to %d MiB", early>>20, late>>20)
		}
	}
}

func middle(all []int64) int64 {
	s := slices.Sorted(slices.Values(all))
	return s[len(s)/2]
}

// footprint is what may be left behind.
type footprint struct {
	processes, descriptors, listeners, goroutines int
	files                                         []string
}

func measure() footprint {
	var f footprint
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		runtime.GC()
		fds, _ := os.ReadDir("/proc/self/fd")
		f = footprint{processes: len(suite.Descendants("")), descriptors: len(fds), listeners: listeners(), goroutines: runtime.NumGoroutine()}
		f.files, _ = filepath.Glob(filepath.Join(os.TempDir(), "*"))
		if f.processes == 0 || time.Now().After(end) {
			return f
		}
	}
}

// listeners counts the TCP sockets that listen in this network.
func listeners() (n int) {
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		b, _ := os.ReadFile(file)
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 3 && f[3] == "0A" {
				n++
			}
		}
	}
	return n
}

func (k *soak) compare(before, after footprint) {
	k.t.Logf("before %+v, after %+v", before, after)
	if after.processes > before.processes || after.listeners > before.listeners || len(after.files) > len(before.files) {
		k.t.Error("processes, listeners or profiles are left")
	}
	// Of the small internet some connections may still be closing.
	if after.descriptors > before.descriptors+8 || after.goroutines > before.goroutines+8 {
		k.t.Error("descriptors or goroutines are left")
	}
}
