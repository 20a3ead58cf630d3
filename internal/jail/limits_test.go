//go:build linux

package jail

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// free runs the test binary in a part, outside of a jail.
func free(t *testing.T, role string, to targets) string {
	t.Helper()
	b, _ := json.Marshal(to)
	cmd := exec.Command(Self)
	cmd.Env = []string{"PATH=/usr/bin:/bin", roleEnv + "=" + role, "BELLGLASS_JAIL_TARGETS=" + string(b)}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// hog uses more and more memory.
func hog() {
	var all [][]byte
	for range 200 {
		b := bytes.Repeat([]byte{1}, 10<<20)
		all = append(all, b)
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Println("had", len(all), "times 10 MB")
}

// TestLimitsOfMemory: whoever uses more is ended, at both levels, by the
// watchdog; and so is who writes it into the folders in memory.
func TestLimitsOfMemory(t *testing.T) {
	for _, l := range []Level{Kernel, Landlock} {
		t.Run(string(l), func(t *testing.T) {
			need(t, l)
			s := spec(t, l, "hog")
			s.Limits = Limits{Memory: 100 << 20, CgroupOff: true}
			out, err := run(t, s)
			if !errors.Is(err, ErrMemory) {
				t.Errorf("ended with %v: %s", err, out)
			}
		})
	}
	t.Run("files", func(t *testing.T) {
		need(t, Kernel)
		out, err := sh(t, "head -c 100M /dev/zero > /tmp/x; sleep 60", func(s *Spec) {
			s.Limits = Limits{Memory: 64 << 20, CgroupOff: true}
		})
		if !errors.Is(err, ErrMemory) {
			t.Errorf("ended with %v: %s", err, out)
		}
	})
	t.Run("folders are bounded", func(t *testing.T) {
		need(t, Kernel)
		out, _ := sh(t, "head -c 300M /dev/zero > /tmp/x; ls -s --block-size=1M /tmp/x", nil)
		if !strings.Contains(out, "No space left") || !strings.Contains(out, "256 /tmp/x") {
			t.Error(out)
		}
	})
}

// TestLimitsOfTasks: RES-012, a fork bomb ends at the limit, also one that makes
// user namespaces on its way, and the machine goes on.
func TestLimitsOfTasks(t *testing.T) {
	need(t, Kernel)
	for name, script := range map[string]string{
		"plain":     `i=0; while [ $i -lt 60 ]; do sleep 20 & i=$((i+1)); done; echo all started`,
		"namespace": `exec unshare -U sh -c 'i=0; while [ $i -lt 60 ]; do sleep 20 & i=$((i+1)); done; echo all started'`,
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := sh(t, script, func(s *Spec) { s.Limits.Tasks = 30 })
			if !strings.Contains(out, "fork") || strings.Contains(out, "all started") {
				t.Errorf("no limit was met: %s", out)
			}
		})
	}
}

// own starts a jail whose program has children that try to get away, says so
// and waits.
func own() {
	out := os.NewFile(3, "report")
	j, err := Start(contextOf(), Spec{Level: Kernel, Path: "/bin/sh", Env: []string{"PATH=/usr/bin:/bin"}, Listeners: 3,
		Args: shellArgs("sleep 600 & setsid sleep 600 & (setsid sh -c 'sleep 600 & sleep 600' &) ; exec sleep 600")})
	if err != nil {
		fmt.Fprintln(out, "failed:", err)
		return
	}
	fmt.Fprintln(out, j.Pid())
	select {}
}

// kills is how often the test below kills: 25 times, or BELLGLASS_JAIL_KILLS.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("BELLGLASS_JAIL_KILLS")); err == nil {
		return n
	}
	return 25
}

// TestKernelKillsLeaveNothing: NNS-008. Whoever is killed at whatever moment of
// the start, the owner or what it has started, nothing survives it: neither a
// process nor a mount. The test process inherits what the owner leaves
// behind (it is their subreaper), so that nothing escapes its count.
func TestKernelKillsLeaveNothing(t *testing.T) {
	need(t, Kernel)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	before := len(children(t))
	early := 0
	for i := range kills() {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(Self)
		cmd.Env = []string{"PATH=/usr/bin:/bin", roleEnv + "=owner"}
		cmd.ExtraFiles = []*os.File{w}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		wait := 10 * time.Second // until the jail is up
		if i%2 == 1 {
			wait = time.Duration(rand.IntN(150)) * time.Millisecond
		}
		r.SetReadDeadline(time.Now().Add(wait))
		buf := make([]byte, 100)
		n, _ := r.Read(buf)
		r.Close()
		switch said := strings.TrimSpace(string(buf[:n])); {
		case said == "":
			early++
			cmd.Process.Kill()
		case strings.HasPrefix(said, "failed"):
			t.Fatal(said)
		case rand.IntN(2) == 0:
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			cmd.Process.Kill()
		default: // the program first, which is process 1 of its namespace
			pid, _ := strconv.Atoi(said)
			all := tree(pid)
			syscall.Kill(all[rand.IntN(len(all))], syscall.SIGKILL)
			syscall.Kill(pid, syscall.SIGKILL)
			cmd.Process.Kill()
		}
		cmd.Wait()
		end := time.Now().Add(10 * time.Second)
		for len(children(t)) > before && time.Now().Before(end) {
			time.Sleep(time.Millisecond)
		}
		if left := children(t); len(left) > before {
			t.Fatalf("kill %d: left behind: %v", i, left)
		}
	}
	t.Logf("%d of %d kills came before the jail was up", early, kills())
	if after, _ := os.ReadFile("/proc/self/mountinfo"); !bytes.Equal(mounts, after) {
		t.Errorf("mounts before:\n%s\nafter:\n%s", mounts, after)
	}
}

// children lists our children that are more than zombies, and reaps those that
// we have inherited.
func children(t *testing.T) []string {
	t.Helper()
	var alive []string
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for _, f := range strings.Fields(string(b)) {
			stat, _ := os.ReadFile("/proc/" + f + "/stat")
			if i := bytes.LastIndexByte(stat, ')'); i > 0 && len(stat) > i+2 && stat[i+2] != 'Z' {
				alive = append(alive, string(stat[:i+1]))
				continue
			}
			pid, _ := strconv.Atoi(f)
			syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
	return alive
}

// TestLimitsByCgroup makes a group in a real hierarchy of version 2, starts a
// process in it and removes it. Whether its controllers are there is up to the
// machine.
func TestLimitsByCgroup(t *testing.T) {
	parent := ""
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil && exists(filepath.Join(dir, "cgroup.controllers")) {
			parent = dir
		}
	}
	if parent == "" {
		t.Skip("no writable control groups of version 2 here")
	}
	c, err := makeCgroup(parent, nil)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sleep", "100")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: c.fd}
	if err := cmd.Start(); err != nil {
		c.remove()
		t.Fatal(err)
	}
	if procs := readTrimmed(filepath.Join(c.dir, "cgroup.procs")); procs != strconv.Itoa(cmd.Process.Pid) {
		t.Errorf("in the group: %q", procs)
	}
	sweepCgroups(parent)
	if !exists(c.dir) {
		t.Error("a group in use was swept")
	}
	c.remove()
	cmd.Wait()
	c.remove()
	if exists(c.dir) {
		t.Error("the group is left")
	}
	stale := filepath.Join(parent, cgroupPrefix+"999999999-TEST")
	if err := os.Mkdir(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	sweepCgroups(parent)
	if exists(stale) {
		t.Error("the group of a dead maker was not swept")
		os.Remove(stale)
	}
}

// TestLimitsFindTheDelegatedGroup: the parent of our own group, if it hands
// memory and pids on.
func TestLimitsFindTheDelegatedGroup(t *testing.T) {
	mount := t.TempDir()
	parent := filepath.Join(mount, "system.slice/bellglass.service")
	if err := os.MkdirAll(filepath.Join(parent, "main"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(parent, "cgroup.procs"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct{ own, handed, want string }{
		{"/system.slice/bellglass.service/main", "cpu memory pids", parent},
		{"/system.slice/bellglass.service/main", "cpu", ""},
		{"/", "cpu memory pids", ""},
	} {
		got := delegated(func(path string) string {
			switch {
			case path == "/proc/self/mountinfo":
				return "35 24 0:30 / " + mount + " rw,nosuid shared:4 - cgroup2 cgroup2 rw"
			case path == "/proc/self/cgroup":
				return "0::" + k.own
			case strings.HasSuffix(path, "cgroup.subtree_control"):
				return k.handed
			}
			return ""
		})
		if got != k.want {
			t.Errorf("%+v: got %q", k, got)
		}
	}
}

// refusedRole forbids further user namespaces to the one that it is in, and
// tells how the levels fare.
func refusedRole() {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		fmt.Println("cannot forbid:", err)
		return
	}
	err := Try(contextOf(), Kernel)
	if e := (*Error)(nil); errors.As(err, &e) {
		fmt.Printf("kernel: %v; fix: %s\n", e, e.Fix)
	} else {
		fmt.Println("kernel:", err)
	}
	fmt.Println("landlock:", Try(contextOf(), Landlock))
}

// TestKernelRefusedForReal: NNS-007, in a user namespace that allows no other.
// The error names the call, the errno, the sysctl and the fix, and the level
// below can still be had.
func TestKernelRefusedForReal(t *testing.T) {
	need(t, Kernel)
	need(t, Landlock)
	id := os.Getuid()
	if id == 0 {
		id = 65534
	}
	cmd := exec.Command(Self)
	cmd.Env = []string{"PATH=/usr/bin:/bin", roleEnv + "=refused"}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}},
		Credential:  &syscall.Credential{NoSetGroups: true},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"kernel: jail: seal kernel is not available: clone(CLONE_NEWUSER", "(errno 28)", "in the way: sysctl user.max_user_namespaces=0",
		"fix: sudo sysctl -w user.max_user_namespaces=", "landlock: <nil>",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}
