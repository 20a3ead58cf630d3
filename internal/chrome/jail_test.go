//go:build linux

package chrome

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
)

// startSealed starts a browser in a jail, with one page, or skips the test
// with the reason.
func startSealed(t *testing.T, l Level, change func(*Options)) *Process {
	t.Helper()
	if err := TrySeal(t.Context(), l); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("this test must not be skipped under CI:", err)
		}
		t.Skip(err)
	}
	o := Options{Binary: startOptions("").Binary, Seals: []Level{l}, Listeners: 3}
	if change != nil {
		change(&o)
	}
	p := start(t, o)
	if _, err := cdpt.Call(t.Context(), p.Browser, target.CreateTarget, target.CreateTargetParams{URL: "about:blank"}); err != nil {
		t.Fatal(err)
	}
	return p
}

// status returns the fields of /proc/pid/status, and the command line.
func status(t *testing.T, pid int) (fields map[string]string, cmdline string) {
	t.Helper()
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	cmdline = strings.ReplaceAll(string(b), "\x00", " ")
	b, _ = os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	fields = map[string]string{}
	for line := range strings.Lines(string(b)) {
		k, v, _ := strings.Cut(line, ":")
		fields[k] = strings.TrimSpace(v)
	}
	return fields, cmdline
}

// TestChromiumsOwnSandboxIsOnInTheJail, also where bellglass runs as root:
// renderers have a system call filter of Chromium's and namespaces of their
// own below the jail's, and nobody has privileges.
func TestChromiumsOwnSandboxIsOnInTheJail(t *testing.T) {
	p := startSealed(t, Kernel, nil)
	if p.Seal != Kernel || p.SandboxOff != "" || p.ProfileDir() != "" {
		t.Errorf("seal %s, sandbox off %q, profile %q", p.Seal, p.SandboxOff, p.ProfileDir())
	}
	ours, _ := status(t, os.Getpid())
	eventually(t, "a renderer with a filter", func() bool {
		for _, pid := range descendants(t, p.Pid()) {
			if st, cmd := status(t, pid); strings.Contains(cmd, "--type=renderer") && st["Seccomp"] == "2" {
				return true
			}
		}
		return false
	})
	renderers := 0
	for _, pid := range descendants(t, p.Pid()) {
		st, cmd := status(t, pid)
		uid, _, _ := strings.Cut(st["Uid"], "\t")
		if uid == "0" || (os.Getuid() == 0 && uid == strings.Fields(ours["Uid"])[0]) {
			t.Errorf("process %d runs as user %s: %s", pid, uid, cmd)
		}
		if st["NoNewPrivs"] != "1" {
			t.Errorf("process %d may gain privileges: %s", pid, cmd)
		}
		if strings.Contains(cmd, "--no-sandbox") {
			t.Errorf("process %d without sandbox: %s", pid, cmd)
		}
		if !strings.Contains(cmd, "--type=renderer") {
			continue
		}
		renderers++
		// Outside, the jail, and Chromium's own sandbox: its zygote, then the
		// renderer itself.
		if n := len(strings.Fields(st["NSpid"])); st["Seccomp"] != "2" || n < 3 || strings.Trim(st["CapEff"], "0") != "" {
			t.Errorf("renderer %d: Seccomp %s, process ids %s, capabilities %s", pid, st["Seccomp"], st["NSpid"], st["CapEff"])
		}
	}
	if renderers == 0 {
		t.Error("no renderer was seen")
	}
}

// TestFullBrowserIsNotSealedByLandlock: it is said before it is tried, and auto
// goes on to the next level.
func TestFullBrowserIsNotSealedByLandlock(t *testing.T) {
	full := Binary{Path: "/usr/lib/chromium/chromium"}
	_, err := Start(t.Context(), Options{Binary: full, Seals: []Level{Landlock}, Listeners: 1})
	if refused := (*SealError)(nil); !errors.As(err, &refused) || refused.Level != Landlock || refused.Fix == "" {
		t.Errorf("got %v", err)
	}
}

// TestKilledPartsOfTheBrowserLeaveNothing: whatever process of a browser is
// killed, and the browser after it, nothing is left.
func TestKilledPartsOfTheBrowserLeaveNothing(t *testing.T) {
	for range 3 {
		p := startSealed(t, Kernel, nil)
		all := descendants(t, p.Pid())
		syscall.Kill(all[rand.IntN(len(all))], syscall.SIGKILL)
		time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
		syscall.Kill(p.Pid(), syscall.SIGKILL)
		<-p.Exited()
		for _, pid := range all { // not eventually: the kernel has waited
			if running(pid) {
				t.Errorf("process %d is left", pid)
			}
		}
		p.Close()
	}
}

// TestTheJailLeavesNothing: no process and no folder, whoever is killed.
func TestTheJailLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	p := startSealed(t, Kernel, nil)
	all := descendants(t, p.Pid())
	if len(all) < 5 {
		t.Fatalf("only %d processes; a browser has helpers", len(all))
	}
	if left, _ := filepath.Glob(tmp + "/*"); len(left) > 0 {
		t.Error("outside of the jail:", left)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range all { // not eventually: Close has waited
		if running(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	select {
	case <-p.Exited():
	case <-time.After(time.Second):
		t.Error("the end was not noticed")
	}
}
