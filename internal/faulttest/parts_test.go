//go:build linux

package faulttest

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
)

// held serves a page that is answered only when release is called, and again
// at once after it.
func held(t *testing.T, host string) (arrived <-chan struct{}, release func()) {
	in, out := make(chan struct{}, 64), make(chan struct{})
	web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in <- struct{}{}
		select {
		case <-out:
			testweb.HTML("<p>held").ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	release = sync.OnceFunc(func() { close(out) })
	t.Cleanup(release)
	return in, release
}

// tracked is a browser, and the function that finds the processes of it whose
// command line holds something.
func tracked(t *testing.T, change func(*bellglass.Options)) (b *bellglass.Browser, parts func(part string) []int) {
	mark := lineFlag + rand.Text()
	b = newBrowser(t, nil, func(o *bellglass.Options) {
		o.UnsafeBrowserFlags = append(o.UnsafeBrowserFlags, mark)
		change(o)
	})
	return b, func(part string) []int {
		ours := suite.Descendants(mark)
		for _, pid := range suite.Below(part, ours...) {
			if !slices.Contains(ours, pid) {
				ours = append(ours, pid)
			}
		}
		return slices.DeleteFunc(ours, func(pid int) bool {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			return !strings.Contains(string(line), part)
		})
	}
}

// TestPartsDieUnderARead kills what a browser consists of while it waits for a
// page. The call ends with a result, and the browser reads again.
func TestPartsDieUnderARead(t *testing.T) {
	for i, part := range []string{"--remote-debugging-pipe", "--type=renderer", "--type=zygote", "network.mojom", "storage.mojom", "--type=gpu"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			b, parts := tracked(t, func(o *bellglass.Options) { short(o); o.MaxPages = 1 })
			recovers(t, b)
			host := fmt.Sprintf("held-%d.test", i)
			arrived, release := held(t, host)
			done := make(chan bellglass.Result, 1)
			go func() { done <- browse(t, b, "http://"+host+"/") }()
			<-arrived
			killed := parts(part)
			for _, pid := range killed {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			if len(killed) == 0 {
				t.Logf("this browser has no %s", part)
			}
			release()
			res := <-done
			outcome{"read", res.Status, res.Reason, res.Err}.check(t)
			// Without its zygote the browser makes no process for the page, and
			// does not say so; a page may only be found to answer nothing.
			if res.Status != bellglass.StatusOK && res.Status != bellglass.StatusTimeout && res.Reason != bellglass.ReasonBrowserCrashed && res.Reason != bellglass.ReasonUnresponsive {
				t.Errorf("got %s %s %v", res.Status, res.Reason, res.Err)
			}
			recovers(t, b)
		})
	}
}

// TestPartsStopUnderARead: processes that are alive and do nothing.
func TestPartsStopUnderARead(t *testing.T) {
	for i, part := range []string{"--remote-debugging-pipe", "--type=renderer", "network.mojom"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			b, parts := tracked(t, func(o *bellglass.Options) { short(o); o.MaxPages = 1 })
			recovers(t, b)
			host := fmt.Sprintf("stopped-%d.test", i)
			arrived, release := held(t, host)
			done := make(chan bellglass.Result, 1)
			go func() { done <- browse(t, b, "http://"+host+"/") }()
			<-arrived
			for _, pid := range parts(part) {
				syscall.Kill(pid, syscall.SIGSTOP)
			}
			release()
			res := <-done
			outcome{"read", res.Status, res.Reason, res.Err}.check(t)
			if res.Status != bellglass.StatusTimeout && res.Status != bellglass.StatusError {
				t.Errorf("got %s %s %v", res.Status, res.Reason, res.Err)
			}
			recovers(t, b)
		})
	}
}

// TestPartsDieUnderASession: the call that meets it says so, and another
// session works.
func TestPartsDieUnderASession(t *testing.T) {
	for _, part := range []string{"--remote-debugging-pipe", "--type=renderer", "network.mojom"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			b, parts := tracked(t, func(o *bellglass.Options) { o.MaxPages = 1 })
			o := bellglass.SessionOptions{Mode: "public", AllowInsecureHTTP: true, Selectors: true}
			s, err := b.Open(t.Context(), who, o)
			if err != nil {
				t.Fatal(err)
			}
			if v := s.Navigate(t.Context(), bellglass.NavigateRequest{URL: "http://all.test/"}); v.Status != bellglass.StatusOK {
				t.Fatalf("%s %v", v.Reason, v.Err)
			}
			for _, pid := range parts(part) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			v := s.Click(t.Context(), bellglass.ClickRequest{Selector: "#button"})
			outcome{"click", v.Status, v.Reason, v.Err}.check(t)
			s.Close()
			works := func(out []outcome) bool {
				return !slices.ContainsFunc(out, func(o outcome) bool { o.check(t); return o.status != bellglass.StatusOK })
			}
			// A session in a browser without its networking part is what finds
			// out.
			ok := works(acting(t, b))
			if !ok {
				ok = works(acting(t, b))
			}
			if !ok {
				t.Error("the second session after it did not work either")
			}
		})
	}
}

// limited lowers a limit of this process, and returns what puts it back.
func limited(t *testing.T, resource int, to uint64) (restore func()) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(resource, &was); err != nil {
		t.Fatal(err)
	}
	now := unix.Rlimit{Cur: to, Max: was.Max}
	if err := unix.Setrlimit(resource, &now); err != nil {
		t.Fatal(err)
	}
	restore = sync.OnceFunc(func() {
		if err := unix.Setrlimit(resource, &was); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(restore)
	return restore
}

// TestNoDescriptors: with none left nothing can be started and no connection
// made. Both are told, and nothing is left behind.
func TestNoDescriptors(t *testing.T) {
	running := newBrowser(t, nil, short)
	recovers(t, running)
	fresh := newBrowser(t, nil, short)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	restore := limited(t, unix.RLIMIT_NOFILE, uint64(len(open)))
	res := browse(t, running, "http://all.test/")
	outcome{"a read", res.Status, res.Reason, res.Err}.check(t)
	res = browse(t, fresh, "http://all.test/")
	outcome{"a start", res.Status, res.Reason, res.Err}.check(t)
	if !slices.Contains([]bellglass.Reason{bellglass.ReasonBrowserStart, bellglass.ReasonSeal, bellglass.ReasonBrowserMissing}, res.Reason) {
		t.Errorf("a start: %s %s %v", res.Status, res.Reason, res.Err)
	}
	restore()
	recovers(t, running)
	eventually(t, fresh)
}

// eventually is recovers for a browser whose starts have failed, which are
// tried again after a pause.
func eventually(t *testing.T, b *bellglass.Browser) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		res := browse(t, b, "http://site.test/tiny")
		if res.Status == bellglass.StatusOK {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it does not recover: %s %s %v", res.Status, res.Reason, res.Err)
		}
	}
}

// TestFullDisk: the folder for temporary files has no room, where the browser
// keeps its profile there.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "full")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16k,mode=0711"); err != nil {
		t.Skip("cannot mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, 0) })
	full := make([]byte, 64<<10)
	os.WriteFile(filepath.Join(dir, "x"), full, 0o600) // as much as there is room for
	old := os.Getenv("TMPDIR")
	os.Setenv("TMPDIR", dir)
	restore := sync.OnceFunc(func() { os.Setenv("TMPDIR", old) })
	t.Cleanup(restore)
	b := newBrowser(t, nil, func(o *bellglass.Options) { short(o); o.Seal = bellglass.SealProxyOnly })
	res := browse(t, b, "http://site.test/tiny")
	outcome{"on a full disk", res.Status, res.Reason, res.Err}.check(t)
	t.Logf("on a full disk: %s %s %v", res.Status, res.Reason, res.Err)
	os.Remove(filepath.Join(dir, "x"))
	restore()
	eventually(t, b)
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	b.Close()
	if now, _ := filepath.Glob(filepath.Join(dir, "*")); len(now) > 0 {
		t.Errorf("left behind: %q, before the end %q", now, left)
	}
}

// TestTheProgramVanishes, as when the browser is upgraded under a service.
func TestTheProgramVanishes(t *testing.T) {
	bin, err := chrome.Find(chrome.FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "chromium-headless-shell")
	script := fmt.Sprintf("#!/bin/sh\nexec %q \"$@\"\n", bin.Path)
	put := func() {
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put()
	if err := exec.Command(path, "--version").Run(); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, nil, func(o *bellglass.Options) { o.BrowserBin, o.Seal = path, bellglass.SealProxyOnly })
	recovers(t, b)
	os.Remove(path)
	reads := browse(t, b, "http://site.test/tiny")
	if reads.Status != bellglass.StatusOK {
		t.Errorf("what runs reads on: %s %v", reads.Reason, reads.Err)
	}
	for _, pid := range suite.Descendants("--remote-debugging-pipe") {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if res := browse(t, b, "http://site.test/tiny"); res.Reason != bellglass.ReasonBrowserMissing {
		t.Errorf("got %s %s %v", res.Status, res.Reason, res.Err)
	}
	put()
	eventually(t, b)
}
