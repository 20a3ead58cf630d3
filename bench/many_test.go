package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/testweb"
)

// BenchmarkThroughput reads pages without a pause, with 1 to 16 callers, and
// reports pages a second, how many times as many as one caller gets, and how
// long single reads take. A run of b.N is that many reads of each number of
// callers, at least five for each caller.
func BenchmarkThroughput(b *testing.B) {
	web := newWeb(b)
	br := newBrowser(b, web)
	for _, p := range pages {
		b.Run(p.name, func(b *testing.B) {
			url := "http://site.test" + p.path
			var alone float64
			b.ReportMetric(0, "ns/op")
			for _, callers := range []int{1, 4, 8, 16} {
				reads := b.N
				if b.N > 1 { // once is for finding out whether it runs
					reads = max(b.N, 5*callers)
				}
				perSecond, times := throughput(b, br, url, callers, reads)
				if alone == 0 {
					alone = perSecond
				}
				b.ReportMetric(perSecond, fmt.Sprintf("pages/s-%d", callers))
				b.ReportMetric(perSecond/alone, fmt.Sprintf("times-%d", callers))
				b.ReportMetric(ms(times[len(times)/2]), fmt.Sprintf("p50-ms-%d", callers))
				b.ReportMetric(ms(times[len(times)*99/100]), fmt.Sprintf("p99-ms-%d", callers))
			}
		})
	}
}

func throughput(b *testing.B, br *bellglass.Browser, url string, callers, reads int) (perSecond float64, times []time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	todo := make(chan struct{}, reads)
	for range reads {
		todo <- struct{}{}
	}
	close(todo)
	begun := time.Now()
	for range callers {
		wg.Go(func() {
			for range todo {
				start := time.Now()
				res, err := br.Browse(context.Background(), bellglass.Request{Principal: who, URL: url})
				took := time.Since(start)
				if err != nil || res.Status != bellglass.StatusOK {
					b.Errorf("%v %s %v", err, res.Reason, res.Err)
				}
				mu.Lock()
				times = append(times, took)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	perSecond = float64(reads) / time.Since(begun).Seconds()
	slices.Sort(times)
	return perSecond, times
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkBusyAnswer reports what it takes to be told that all pages are in
// use, beside a read of a tiny page.
func BenchmarkBusyAnswer(b *testing.B) {
	web := newWeb(b)
	br, err := bellglass.New(bellglass.Options{MaxPages: 1, CacheTTL: -1, HostRate: -1, IgnoreRobots: true, Resolve: web.Resolve, UnsafeDial: web.Dial})
	check(b, err)
	b.Cleanup(func() { br.Close() })
	var reads []time.Duration
	for range 10 {
		reads = append(reads, browse(b, br, "http://site.test/tiny", "tiny"))
		time.Sleep(100 * time.Millisecond)
	}
	s, err := br.Open(b.Context(), who, bellglass.SessionOptions{}) // which holds the page
	check(b, err)
	defer s.Close()
	for b.Loop() {
		res, err := br.Browse(b.Context(), bellglass.Request{Principal: who, URL: "http://site.test/tiny"})
		if err != nil || res.Reason != bellglass.ReasonPoolFull {
			b.Fatalf("%v %s", err, res.Reason)
		}
	}
	busy := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / 1e6
	b.ReportMetric(median(reads), "browse-ms")
	b.ReportMetric(busy/median(reads)*100, "percent-of-browse")
}

// BenchmarkMemoryParts reports proportional set sizes in MB: of bellglass mcp
// with one browser and one blank page, both together and the program alone, of a
// further blank page, and of an open session that shows a small page.
func BenchmarkMemoryParts(b *testing.B) {
	web := newWeb(b)
	web.Handle("small.test", testweb.HTML("<title>Small</title><p>A small page with a <a href=/>link</a>."))
	bin := program(b)
	for b.Loop() {
		one, alone := idle(b, bin, 1)
		two, _ := idle(b, bin, 2)
		b.ReportMetric(one, "idle-PSS-MB")
		b.ReportMetric(alone, "program-PSS-MB")
		b.ReportMetric(two-one, "blank-page-PSS-MB")
		b.ReportMetric(sessions(b, web), "session-PSS-MB")
	}
	b.ReportMetric(0, "ns/op")
}

// settled is how long a browser gets to finish what nobody waits for.
const settled = 1500 * time.Millisecond

// idle is the memory of a service with so many blank pages: of all its
// processes, and of its own.
func idle(b *testing.B, bin string, pages int) (all, alone float64) {
	b.Helper()
	pid, stop := firstAnswer(b, bin, initialize, "--max-pages", fmt.Sprint(pages))
	defer stop()
	time.Sleep(2 * settled)
	_, all = memoryOf(b, pid)
	alone = rollup(pid)["Pss:"]
	return all + alone, alone
}

func sessions(b *testing.B, web *testweb.Web) float64 {
	const n = 6
	br, err := bellglass.New(bellglass.Options{MaxPages: n + 2, Resolve: web.Resolve, UnsafeDial: web.Dial})
	check(b, err)
	defer br.Close()
	open := func() *bellglass.Session {
		s, err := br.Open(b.Context(), who, bellglass.SessionOptions{Mode: "public", AllowInsecureHTTP: true})
		check(b, err)
		if v := s.Navigate(b.Context(), bellglass.NavigateRequest{URL: "http://small.test/"}); v.Status != bellglass.StatusOK {
			b.Fatalf("%s %v", v.Reason, v.Err)
		}
		return s
	}
	defer open().Close()
	time.Sleep(settled)
	_, before := memory(b)
	for range n {
		defer open().Close()
	}
	time.Sleep(settled)
	_, after := memory(b)
	return (after - before) / n
}

// program builds the command.
func program(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "bellglass")
	build := exec.Command("go", "build", "-trimpath", "-o", bin, "../cmd/bellglass")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return bin
}

// BenchmarkCold alternates a read from the command line, from nothing to the
// end, and the same browser's --dump-dom of the same page.
func BenchmarkCold(b *testing.B) {
	bin, shell := program(b), browser(b)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<title>Local</title><p>A local page.")
	}))
	defer site.Close()
	dump := []string{"--dump-dom", site.URL}
	if os.Geteuid() == 0 {
		dump = append([]string{"--no-sandbox"}, dump...)
	}
	pair(b, "dump-dom",
		func() { run(b, "A local page.", shell, dump...) },
		"browse",
		func() func() {
			run(b, "A local page.", bin, "browse", "--quiet", "--unsafe-allow", site.Listener.Addr().String(), site.URL)
			return func() {}
		})
}

func browser(b *testing.B) string {
	found, err := chrome.Find(chrome.FindOptions{})
	check(b, err)
	return found.Path
}

// run runs a program that must say something.
func run(b *testing.B, want string, name string, args ...string) {
	b.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil || !strings.Contains(string(out), want) {
		b.Fatalf("%s %v: %v: %.300q", name, args, err, out)
	}
}

// pair alternates two things and reports the medians and their ratio. What the
// second returns is called afterwards, and not measured.
func pair(b *testing.B, one string, first func(), two string, second func() (end func())) {
	var ones, twos []time.Duration
	var ratios []float64
	for b.Loop() {
		begun := time.Now()
		first()
		middle := time.Now()
		end := second()
		a, c := middle.Sub(begun), time.Since(middle)
		end()
		ones, twos, ratios = append(ones, a), append(twos, c), append(ratios, float64(c)/float64(a))
	}
	slices.Sort(ratios)
	b.ReportMetric(0, "ns/op")
	f, s := median(ones), median(twos)
	b.ReportMetric(f, one+"-ms")
	b.ReportMetric(s, two+"-ms")
	b.ReportMetric(s/f, "ratio")
	b.ReportMetric(ratios[len(ratios)/2], "paired-ratio")
}

// BenchmarkMCPStart alternates bellglass version and the time from starting
// bellglass mcp to its first answer.
func BenchmarkMCPStart(b *testing.B) {
	bin := program(b)
	for name, request := range map[string]string{
		"initialize": initialize,
		"discover":   `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
	} {
		b.Run(name, func(b *testing.B) {
			pair(b, "version", func() { run(b, "", bin, "version") }, "answer", func() func() {
				_, stop := firstAnswer(b, bin, request)
				return stop
			})
		})
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// firstAnswer starts the server, asks, and returns when it has answered; stop
// ends the server.
func firstAnswer(b *testing.B, bin, request string, flags ...string) (pid int, stop func()) {
	cmd := exec.Command(bin, append([]string{"mcp"}, flags...)...)
	in, err := cmd.StdinPipe()
	check(b, err)
	out, err := cmd.StdoutPipe()
	check(b, err)
	check(b, cmd.Start())
	_, err = io.WriteString(in, request+"\n")
	check(b, err)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, `"result"`) {
		b.Fatalf("%v: %.300s", err, line)
	}
	return cmd.Process.Pid, func() {
		in.Close()
		cmd.Wait()
	}
}
