//go:build linux

package jail

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bellglass/bellglass/internal/testweb/netlab"
)

// roleEnv makes the test binary play a part: what runs in a jail, or who
// starts one.
const roleEnv = "BELLGLASS_JAIL_ROLE"

var roles = map[string]func(){"probe": probe, "hog": hog, "owner": own, "refused": refusedRole}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleEnv)]; role != nil {
		role()
		return
	}
	os.Exit(netlab.Main(m))
}

// need skips a test where a level cannot be had, with the reason.
func need(t testing.TB, l Level) {
	t.Helper()
	if err := Try(t.Context(), l); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("this test must not be skipped under CI:", err)
		}
		t.Skip(err)
	}
}

// spec is a jail in which the test binary plays a part.
func spec(t testing.TB, l Level, role string, env ...string) Spec {
	t.Helper()
	s := Spec{Level: l, Path: Self, Env: append([]string{"PATH=/usr/bin:/bin", roleEnv + "=" + role}, env...)}
	if l == Landlock {
		s.Home = home(t)
	}
	return s
}

// home is a folder below one that every user may enter, as the jail's program
// may be another user.
func home(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "bellglass-jail-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// run starts a jail, waits for its end and returns what was written, and why
// it ended.
func run(t testing.TB, s Spec) (string, error) {
	t.Helper()
	var out bytes.Buffer
	s.Stdout, s.Stderr = &out, &out
	j, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Kill()
	defer func() {
		for _, ln := range j.Listeners {
			ln.Close()
		}
	}()
	select {
	case <-j.Done():
		return out.String(), j.Err()
	case <-time.After(60 * time.Second):
		t.Error("the program did not end")
		return out.String(), nil
	}
}

// sh runs a shell script in a jail of level kernel.
func sh(t testing.TB, script string, change func(*Spec)) (string, error) {
	t.Helper()
	s := Spec{Level: Kernel, Path: "/bin/sh", Env: []string{"PATH=/usr/bin:/bin"},
		Args: func(string, []netip.AddrPort) []string { return []string{"-c", script} }}
	if change != nil {
		change(&s)
	}
	return run(t, s)
}

// TestAsAnOrdinaryUser runs the tests of this package once more as a user
// without privileges, if they run as root.
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is one already")
	}
	dir := home(t)
	os.Chmod(dir, 0o755)
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "jail.test")
	if err := os.WriteFile(path, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-test.v", "-test.run", "^Test(Kernel|Landlock|LimitsOfTasks|Script)")
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin", "CI=" + os.Getenv("CI"), "BELLGLASS_JAIL_KILLS=5"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	passed := strings.Count(string(out), "\n--- PASS")
	if err != nil || passed < 4 {
		t.Errorf("%d passed, %v\n%s", passed, err, out)
	}
	t.Log(fmt.Sprint(passed, " tests passed as user 65534"))
}
