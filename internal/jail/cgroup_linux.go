package jail

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup is a control group (version 2) of one jail. It exists where a parent
// is delegated: the parent of our own group belongs to us and hands memory and
// pids on to its children. That is what systemd's Delegate=yes together with
// DelegateSubgroup= makes. Nobody is moved: who runs us decides where we are.
type cgroup struct {
	dir string
	fd  int // of the folder
}

// cgroupPrefix begins the names of our groups; the process id of who made one
// follows, and something random.
const cgroupPrefix = "bellglass-"

// newCgroup makes a group with the limits, or returns nil if none is delegated.
func newCgroup(l Limits) *cgroup {
	if l.CgroupOff {
		return nil
	}
	parent := delegated(readTrimmed)
	if parent == "" {
		return nil
	}
	files := map[string]string{
		"memory.max": strconv.FormatInt(l.Memory, 10), "memory.swap.max": "0",
		"memory.oom.group": "1", // half a browser is of no use
		"pids.max":         strconv.Itoa(l.Tasks),
	}
	if l.CPUs > 0 {
		files["cpu.max"] = fmt.Sprintf("%d 100000", int(l.CPUs*100000))
	}
	sweepCgroups(parent)
	c, err := makeCgroup(parent, files)
	if err != nil {
		return nil
	}
	return c
}

// delegated returns the folder in which our groups may be made, or "".
func delegated(read func(string) string) string {
	mount := ""
	for lines := bufio.NewScanner(strings.NewReader(read("/proc/self/mountinfo"))); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		if f := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(f) > 4 && f[3] == "/" {
			mount = f[4]
			break
		}
	}
	own := ""
	for line := range strings.Lines(read("/proc/self/cgroup")) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/"); ok {
			own = path
		}
	}
	if mount == "" || own == "" {
		return ""
	}
	parent := filepath.Dir(filepath.Join(mount, own))
	handed := strings.Fields(read(filepath.Join(parent, "cgroup.subtree_control")))
	if !slices.Contains(handed, "memory") || !slices.Contains(handed, "pids") {
		return ""
	}
	if unix.Access(parent, unix.W_OK) != nil || unix.Access(filepath.Join(parent, "cgroup.procs"), unix.W_OK) != nil {
		return ""
	}
	return parent
}

func makeCgroup(parent string, files map[string]string) (*cgroup, error) {
	dir := filepath.Join(parent, fmt.Sprintf("%s%d-%s", cgroupPrefix, os.Getpid(), rand.Text()[:8]))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	c := &cgroup{dir: dir, fd: -1}
	for name, value := range files {
		err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0)
		// Swap is not accounted everywhere; a limit on CPUs needs its controller.
		if err != nil && (name != "memory.swap.max" || !errors.Is(err, fs.ErrNotExist)) {
			c.remove()
			return nil, err
		}
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		c.remove()
		return nil, err
	}
	c.fd = fd
	return c, nil
}

// outOfMemory reports whether the kernel ended the group for its memory.
func (c *cgroup) outOfMemory() bool {
	if c == nil {
		return false
	}
	for line := range strings.Lines(readTrimmed(filepath.Join(c.dir, "memory.events"))) {
		if k, v, _ := strings.Cut(strings.TrimSpace(line), " "); (k == "oom_kill" || k == "oom_group_kill") && v != "0" {
			return true
		}
	}
	return false
}

// remove ends what still runs in the group, and removes it.
func (c *cgroup) remove() {
	if c == nil {
		return
	}
	if c.fd >= 0 {
		unix.Close(c.fd)
	}
	os.WriteFile(filepath.Join(c.dir, "cgroup.kill"), []byte("1"), 0)
	for range 50 { // processes that were killed are still ending
		if err := os.Remove(c.dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// sweepCgroups removes the groups whose maker is dead, and with it everything
// that ran in them.
func sweepCgroups(parent string) {
	all, _ := filepath.Glob(filepath.Join(parent, cgroupPrefix+"*-*"))
	for _, dir := range all {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), cgroupPrefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && n > 0 && unix.Kill(n, 0) == unix.ESRCH {
			os.Remove(dir) // fails if somebody is in it
		}
	}
}
