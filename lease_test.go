package bellglass_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
)

// gate serves a page that comes only when the test lets it.
func gate(t *testing.T, host string) (arrived <-chan struct{}, open func()) {
	t.Helper()
	in, out := make(chan struct{}, 64), make(chan struct{})
	web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		in <- struct{}{}
		<-out
		testweb.HTML("<p>through the gate").ServeHTTP(w, r)
	}))
	open = sync.OnceFunc(func() { close(out) })
	t.Cleanup(open)
	return in, open
}

// TestBusyCallsStartNothing: a refused call once counted as one of the pages
// after which a browser is replaced.
func TestBusyCallsStartNothing(t *testing.T) {
	s := &suite.Starts{}
	b := newBrowser(t, func(o *bellglass.Options) { s.Watch(o); o.MaxPages = 1 })
	arrived, open := gate(t, "full.test")
	var wg sync.WaitGroup
	wg.Go(func() { browse(t, b, "http://full.test/") })
	<-arrived
	for i := range 450 {
		if res := browse(t, b, "http://site.test/tiny"); res.Reason != bellglass.ReasonPoolFull {
			t.Fatalf("call %d: %s %s", i, res.Status, res.Reason)
		}
	}
	open()
	wg.Wait()
	if n := len(s.PIDs()); n != 1 {
		t.Errorf("%d browsers were started, want 1", n)
	}
}

// TestTenantsReadAtTheSameTime: each in a browser of its own, and together no
// more pages than MaxPages.
func TestTenantsReadAtTheSameTime(t *testing.T) {
	s := &suite.Starts{}
	b := newBrowser(t, func(o *bellglass.Options) { s.Watch(o); o.MaxPages = 2 })
	arrived, open := gate(t, "both.test")
	read := func(tenant string) bellglass.Result {
		res, err := b.Browse(t.Context(), bellglass.Request{Principal: bellglass.Principal{Tenant: tenant, Run: "1"}, URL: "http://both.test/"})
		if err != nil {
			t.Error(err)
		}
		return res
	}
	var wg sync.WaitGroup
	for _, tenant := range []string{"a", "b"} {
		wg.Go(func() {
			if res := read(tenant); res.Status != bellglass.StatusOK {
				t.Errorf("%s: %s %s", tenant, res.Status, res.Reason)
			}
		})
		<-arrived
	}
	if n := len(s.PIDs()); n != 2 {
		t.Errorf("two tenants at once have %d browsers", n)
	}
	start := time.Now()
	if res := read("c"); res.Reason != bellglass.ReasonPoolFull || time.Since(start) > time.Second {
		t.Errorf("third of two: %s %s after %v", res.Status, res.Reason, time.Since(start))
	}
	open()
	wg.Wait()
}

// wrapper is a browser that begins with a shell command.
func wrapper(t *testing.T, first string) string {
	t.Helper()
	bin, err := chrome.Find(chrome.FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "chromium-headless-shell")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *--version*) ;; *) %s ;; esac\nexec %q \"$@\"\n", first, bin.Path)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCallsDoNotWaitForAStart longer than they may, and do not end it for
// those that can wait.
func TestCallsDoNotWaitForAStart(t *testing.T) {
	s := &suite.Starts{}
	b := newBrowser(t, func(o *bellglass.Options) {
		s.Watch(o)
		o.BrowserBin, o.Seal = wrapper(t, "sleep 1"), bellglass.SealProxyOnly
	})
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		start := time.Now()
		res, err := b.Browse(ctx, bellglass.Request{Principal: who, URL: "http://site.test/tiny"})
		cancel()
		if took := time.Since(start); err != nil || res.Reason != bellglass.ReasonCallDeadline || took > 900*time.Millisecond {
			t.Errorf("got %s %s %v after %v", res.Status, res.Reason, err, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if res, err := b.Browse(ctx, bellglass.Request{Principal: who, URL: "http://site.test/tiny"}); err != nil || res.Reason != bellglass.ReasonCancelled {
		t.Errorf("cancelled during a start: %s %v", res.Reason, err)
	}
	if res := browse(t, b, "http://site.test/tiny"); res.Status != bellglass.StatusOK {
		t.Errorf("who waits: %s %s %v", res.Status, res.Reason, res.Err)
	}
	if n := len(s.PIDs()); n != 1 {
		t.Errorf("%d browsers were started, want 1", n)
	}
}

// TestCloseDuringAStart returns soon, and the call learns that it was
// cancelled.
func TestCloseDuringAStart(t *testing.T) {
	b := newBrowser(t, func(o *bellglass.Options) {
		o.BrowserBin, o.Seal = wrapper(t, "exec sleep 60"), bellglass.SealProxyOnly
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		if res := browse(t, b, "http://site.test/tiny"); res.Reason != bellglass.ReasonCancelled {
			t.Errorf("got %s %s %v", res.Status, res.Reason, res.Err)
		}
	})
	time.Sleep(200 * time.Millisecond) // the call is waiting by now; earlier is right, too
	start := time.Now()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("Close took %v", took)
	}
	wg.Wait()
}

// TestDeadBrowsersLeaveNothing: each once left the listeners of its pages.
func TestDeadBrowsersLeaveNothing(t *testing.T) {
	s := &suite.Starts{}
	b := newBrowser(t, s.Watch)
	descriptors := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := 0
	for i := range 6 {
		if res := browse(t, b, "http://site.test/tiny"); res.Status != bellglass.StatusOK {
			t.Fatalf("read %d: %s %s %v", i, res.Status, res.Reason, res.Err)
		}
		if i == 1 {
			before = descriptors()
		}
		kill(s.PIDs()[i])
	}
	if n := descriptors(); n > before+8 { // others of the suite are at work, too
		t.Errorf("%d descriptors after four deaths, %d before", n, before)
	}
}

// children returns the processes below pid whose command line holds part.
func children(t *testing.T, pid int, part string) []int {
	t.Helper()
	parents, lines := map[int]int{}, map[int]string{}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		n, _ := strconv.Atoi(filepath.Base(dir))
		stat, _ := os.ReadFile(dir + "/stat")
		if f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])); len(f) > 1 {
			parents[n], _ = strconv.Atoi(f[1])
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		lines[n] = string(line)
	}
	var out []int
	for n, line := range lines {
		for p := n; p > 1; p = parents[p] {
			if parents[p] == pid && strings.Contains(line, part) {
				out = append(out, n)
				break
			}
		}
	}
	return out
}

// TestLostPartsOfTheBrowserAreNoDeadEnd kills what the browser consists of,
// while it is idle: the next read must be a page again, in a new browser if
// need be, or say that the browser crashed if it had begun; the one after it
// must be a page. A dead renderer once kept each later call waiting to its deadline;
// without its networking part the browser lost the contexts' proxies, and a
// page that is allowed read as refused.
func TestLostPartsOfTheBrowserAreNoDeadEnd(t *testing.T) {
	for _, part := range []string{"--type=renderer", "--type=zygote", "network.mojom", "--type=gpu"} {
		t.Run(part, func(t *testing.T) {
			s := &suite.Starts{}
			b := newBrowser(t, s.Watch)
			if res := browse(t, b, "https://site.test/tiny"); res.Status != bellglass.StatusOK {
				t.Fatalf("first: %s %s %v", res.Status, res.Reason, res.Err)
			}
			killed := children(t, s.PIDs()[0], part)
			for _, pid := range killed {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			if len(killed) == 0 {
				t.Fatalf("no process has %s", part)
			}
			for i := range 3 {
				res := browse(t, b, "https://site.test/tiny")
				begun := i == 0 && res.Reason == bellglass.ReasonBrowserCrashed // it had asked the site already
				if res.Status != bellglass.StatusOK && !begun {
					t.Errorf("read %d after it: %s %s %v", i, res.Status, res.Reason, res.Err)
				}
			}
		})
	}
}
