package chrome

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"

	"github.com/chromedp/cdproto/target"
	"go.uber.org/goleak"

	"github.com/bellglass/bellglass/internal/cdp"
)

func TestMain(m *testing.M) {
	if root := os.Getenv("BELLGLASS_TEST_OWNER"); root != "" {
		ownBrowser(root)
		return
	}
	goleak.VerifyTestMain(m)
}

// ownBrowser is the test binary in the part of bellglass: it starts a browser,
// says so, and waits to be killed.
func ownBrowser(root string) {
	p, err := Start(context.Background(), startOptions(root))
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println(p.Pid(), p.ProfileDir())
	select {}
}

func startOptions(root string) Options {
	b, err := Find(FindOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return Options{Binary: b, Proxy: "127.0.0.1:9", ProfileRoot: root}
}

func start(t *testing.T, o Options) *Process {
	t.Helper()
	p, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Errorf("not within ten seconds: %s", what)
}

func TestStartAndClose(t *testing.T) {
	root := t.TempDir()
	p := start(t, startOptions(root))
	if !strings.Contains(p.Product, p.Version) || checkVersion(p.Version) != nil {
		t.Errorf("product %q, version %q", p.Product, p.Version)
	}
	info, err := os.Stat(p.ProfileDir())
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("profile: %v, %v", info, err)
	}
	pid := p.Pid()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error("second close:", err)
	}
	if groupRuns(pid) {
		t.Error("a process is left")
	}
	if left, _ := filepath.Glob(root + "/*"); len(left) > 0 {
		t.Error("left behind:", left)
	}
}

func TestChildrenAreInTheGroup(t *testing.T) {
	p := start(t, startOptions(t.TempDir()))
	if _, err := cdpt.Call(t.Context(), p.Browser, target.CreateTarget, target.CreateTargetParams{URL: "about:blank"}); err != nil {
		t.Fatal(err)
	}
	before := descendants(t, p.Pid())
	if len(before) < 2 {
		t.Fatalf("only %d processes; a browser has helpers", len(before))
	}
	p.Close()
	for _, pid := range before {
		eventually(t, fmt.Sprintf("end of process %d", pid), func() bool { return !running(pid) })
	}
}

// descendants lists pid and what it started, whatever group they joined.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		kids, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, k := range kids {
			b, _ := os.ReadFile(k)
			for _, f := range strings.Fields(string(b)) {
				n, _ := strconv.Atoi(f)
				all = append(all, n)
			}
		}
	}
	return all
}

func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	return f[0] != "Z" && f[0] != "X"
}

// TestKilledOwnerLeavesNothing: SIGKILL of the program that started a browser
// ends the browser, and the next start sweeps its profile.
func TestKilledOwnerLeavesNothing(t *testing.T) {
	root := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BELLGLASS_TEST_OWNER="+root)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pidText, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, convErr := strconv.Atoi(pidText)
	if err != nil || convErr != nil {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("the owner said %q, %v", line, err)
	}
	// In use: must be left alone.
	if n, err := Sweep(root); n != 0 || err != nil {
		t.Errorf("Sweep took %d profiles in use, %v", n, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "end of the browser's processes", func() bool { return !groupRuns(pid) })
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the profile should still be there: %v", err)
	}
	if n, err := Sweep(root); n != 1 || err != nil {
		t.Errorf("Sweep removed %d profiles, %v", n, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("profile after the sweep: %v", err)
	}
}

func TestSweepTakesOnlyWhatIsOurs(t *testing.T) {
	root := t.TempDir()
	for _, d := range []string{"other", "bellglass-profile-young", "bellglass-profile-old"} {
		if err := os.Mkdir(filepath.Join(root, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	hour := time.Now().Add(-time.Hour)
	os.Chtimes(filepath.Join(root, "bellglass-profile-old"), hour, hour)
	// A link must not lead the sweep, or a lock, elsewhere.
	target := t.TempDir()
	os.Symlink(target, filepath.Join(root, "bellglass-profile-link"))
	trap := filepath.Join(root, "bellglass-profile-trap")
	os.Mkdir(trap, 0o700)
	os.Symlink(filepath.Join(target, "victim"), filepath.Join(trap, lockName))
	n, err := Sweep(root)
	if n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	for _, d := range []string{"other", "bellglass-profile-young", "bellglass-profile-link", "bellglass-profile-trap"} {
		if _, err := os.Lstat(filepath.Join(root, d)); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
	if _, err := os.Stat(target); err != nil {
		t.Error("followed a link:", err)
	}
	if left, _ := filepath.Glob(target + "/*"); len(left) > 0 {
		t.Error("made a file through a link:", left)
	}
}

func TestKilledBrowserIsNoticed(t *testing.T) {
	p := start(t, startOptions(t.TempDir()))
	syscall.Kill(p.Pid(), syscall.SIGKILL)
	for name, ch := range map[string]<-chan struct{}{"connection": p.Done(), "process": p.Exited()} {
		select {
		case <-ch:
		case <-time.After(10 * time.Second):
			t.Errorf("the %s's end was not noticed", name)
		}
	}
	if !errors.Is(p.Err(), cdp.ErrClosed) {
		t.Errorf("Err: %v", p.Err())
	}
}

func TestFailedStartsLeaveNothing(t *testing.T) {
	root := t.TempDir()
	for _, k := range []struct{ name, script, want string }{
		{"ends at once", "#!/bin/sh\necho 'no usable sandbox' >&2; exit 1\n", "no usable sandbox"},
		{"is no browser", "#!/bin/sh\ncat <&3 >/dev/null\n", "deadline"},
		{"answers nonsense", "#!/bin/sh\nprintf 'hello\\0' >&4; sleep 60\n", "malformed"},
		{"is too old", "#!/bin/sh\nprintf '{\"id\":1,\"result\":{\"product\":\"Chrome/88.0.1.2\"}}\\0' >&4; sleep 60\n", "too old"},
	} {
		t.Run(k.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			bin := fakeBin(t, filepath.Join(t.TempDir(), "chromium"), k.script, 0o755)
			_, err := Start(ctx, Options{Binary: Binary{Path: bin}, Proxy: "127.0.0.1:9", ProfileRoot: root})
			if err == nil || !strings.Contains(err.Error(), k.want) {
				t.Errorf("got %v, want %q", err, k.want)
			}
		})
	}
	if _, err := Start(t.Context(), Options{Binary: Binary{Path: "/nonexistent"}, Proxy: "127.0.0.1:9", ProfileRoot: root}); err == nil {
		t.Error("a missing file was started")
	}
	if left, _ := filepath.Glob(root + "/*"); len(left) > 0 {
		t.Error("left behind:", left)
	}
}

func TestUnproxiedBrowserIsNotStarted(t *testing.T) {
	o := startOptions(t.TempDir())
	o.Proxy = ""
	if p, err := Start(t.Context(), o); err == nil {
		p.Close()
		t.Error("a browser was started without a proxy")
	}
}

// TestNobodyListens: the debugging pipe must be the only way to drive the
// browser; a port would be open to every local process.
func TestNobodyListens(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	p := start(t, startOptions(t.TempDir()))
	listening := listeners(t)
	for _, pid := range descendants(t, p.Pid()) {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range fds {
			if link, _ := os.Readlink(fd); listening[link] {
				t.Errorf("process %d listens (%s)", pid, link)
			}
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0") // the control: this test can see a listener
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	f, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err != nil || !listeners(t)[link] {
		t.Error("our own listener was not seen; this test proves nothing:", link, err)
	}
}

// listeners returns "socket:[inode]" of every listening TCP socket.
func listeners(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, _ := os.ReadFile(table)
		for _, line := range strings.Split(string(b), "\n") {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" {
				found["socket:["+f[9]+"]"] = true
			}
		}
	}
	return found
}
