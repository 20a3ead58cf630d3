//go:build linux

package jail

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func contextOf() context.Context { return context.Background() }

func shellArgs(script string) func(string, []netip.AddrPort) []string {
	return func(string, []netip.AddrPort) []string { return []string{"-c", script} }
}

func TestScriptInTheJail(t *testing.T) {
	need(t, Kernel)
	out, _ := sh(t, `id -u; hostname; pwd; ls /; cat /profile/a/b; touch /x /usr/x; cat /proc/self/status`, func(s *Spec) {
		s.Files = map[string][]byte{"a/b": []byte("a file of the home\n")}
	})
	for _, want := range []string{
		"1000\n", "bellglass\n", "/profile\n", "a file of the home", "touch: cannot touch '/x': Read-only file system",
		"touch: cannot touch '/usr/x': Read-only file system", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

func TestScriptThatCannotBeExecuted(t *testing.T) {
	need(t, Kernel)
	text := filepath.Join(home(t), "text")
	os.Chmod(filepath.Dir(text), 0o755)
	if err := os.WriteFile(text, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Spec{Level: Kernel, Path: text, Listeners: 2})
	if err == nil || !strings.Contains(err.Error(), "execve: "+text) {
		t.Errorf("got %v", err)
	}
	if _, err := Start(t.Context(), Spec{Level: Kernel, Path: "/nonexistent"}); err == nil {
		t.Error("a missing file was started")
	}
	if _, err := Start(t.Context(), Spec{Level: ProxyOnly, Path: "/bin/sh"}); err == nil {
		t.Error("proxy-only is no jail")
	}
}

// TestRefusalsAreExplained: NNS-007, each refusal names the call, the errno,
// what is in the way and the fix for the platform.
func TestRefusalsAreExplained(t *testing.T) {
	const clone = "clone(CLONE_NEWUSER|…)"
	for _, k := range []struct {
		name       string
		e          Error
		files      map[string]string
		container  string
		euid       int
		cause, fix string
	}{
		{"Debian's sysctl", Error{Level: Kernel, Step: clone, Errno: syscall.EPERM},
			map[string]string{"/proc/sys/kernel/unprivileged_userns_clone": "0"}, "", 1000, "unprivileged_userns_clone=0", "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"Ubuntu's AppArmor", Error{Level: Kernel, Step: "build the file system: make mounts private", Errno: syscall.EACCES},
			map[string]string{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"}, "", 1000, "AppArmor", "deploy/bellglass.apparmor"},
		{"no namespaces at all", Error{Level: Kernel, Step: clone, Errno: syscall.ENOSPC},
			map[string]string{"/proc/sys/user/max_user_namespaces": "0"}, "", 1000, "max_user_namespaces=0", "sysctl -w user.max_user_namespaces"},
		{"Docker's filter", Error{Level: Kernel, Step: clone, Errno: syscall.EPERM},
			map[string]string{"/proc/self/status": "Seccomp:\t2"}, "Docker", 1000, "seccomp", "--security-opt seccomp=deploy/seccomp.json"},
		{"Docker's masks", Error{Level: Kernel, Step: "build the file system: mount proc", Errno: syscall.EPERM},
			nil, "Docker", 1000, "masks over /proc", "systempaths=unconfined"},
		{"Kubernetes", Error{Level: Kernel, Step: clone, Errno: syscall.EPERM},
			map[string]string{"/proc/self/status": "Seccomp:\t2"}, "Kubernetes", 1000, "seccomp", "localhostProfile"},
		{"WSL 1", Error{Level: Kernel, Step: clone, Errno: syscall.EPERM},
			map[string]string{"/proc/version": "Linux version 4.4.0-Microsoft"}, "", 1000, "WSL 1", "wsl --set-version"},
		{"an old kernel", Error{Level: Kernel, Step: "build the file system: mount_setattr", Errno: syscall.ENOSYS},
			map[string]string{"/proc/sys/kernel/osrelease": "5.4.0"}, "", 1000, "5.4.0", "Linux 5.12"},
		{"root's program", Error{Level: Kernel, Step: clone, Errno: syscall.EACCES}, nil, "", 0, "may not execute", "chmod o+rx"},
		{"Landlock not active", Error{Level: Landlock, Step: "landlock", Errno: syscall.EOPNOTSUPP},
			map[string]string{"/sys/kernel/security/lsm": "capability,apparmor"}, "", 1000, "capability,apparmor", "lsm=landlock"},
		{"Landlock too old", Error{Level: Landlock, Step: "landlock", Text: "its version here is 3"},
			map[string]string{"/proc/sys/kernel/osrelease": "6.1.0"}, "", 1000, "6.1.0", "Linux 6.7"},
	} {
		h := thisHost(func(path string) string { return k.files[path] }, func(string) string { return "" }, k.euid)
		h.container = k.container
		e := k.e
		e.Cause, e.Fix = h.explain(&e)
		if !strings.Contains(e.Cause, k.cause) || !strings.Contains(e.Fix, k.fix) {
			t.Errorf("%s: cause %q, fix %q", k.name, e.Cause, e.Fix)
		}
		if s := e.Error(); !strings.Contains(s, k.e.Step) || (k.e.Errno != 0 && !strings.Contains(s, "errno")) || !strings.Contains(s, "in the way") {
			t.Errorf("%s: %s", k.name, s)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		j, err := Start(b.Context(), Spec{Level: Kernel, Path: "/bin/true", Listeners: 12})
		if err != nil {
			b.Fatal(err)
		}
		j.Kill()
		for _, ln := range j.Listeners {
			ln.Close()
		}
	}
}
