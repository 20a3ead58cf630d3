package jail

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// watchEvery is how often the watchdog looks. A look at a browser with ten
// processes takes half a millisecond.
const watchEvery = 400 * time.Millisecond

// watch ends the jail when it uses more than its limits, where no control
// group does that. It sees what processes have mapped and what lies in the
// jail's folders in memory; memory that is only held by a descriptor (memfd) it
// does not see.
func (j *Jail) watch(l Limits) {
	if j.cgroup != nil {
		return
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-j.done:
			return
		case <-tick.C:
		}
		u := j.usage()
		switch {
		case u.memory > l.Memory:
			j.stop(ErrMemory)
		case u.tasks > l.Tasks:
			j.stop(ErrTasks)
		}
	}
}

// usage is what a process and its descendants use.
type usage struct {
	memory int64 // bytes
	tasks  int   // processes and threads
}

func (j *Jail) usage() usage {
	var u usage
	pid := j.Pid()
	var statuses []string
	if j.Level == Kernel {
		// The jail's own /proc lists its processes and nobody else's.
		statuses, _ = filepath.Glob(fmt.Sprintf("/proc/%d/root/proc/[0-9]*/status", pid))
	} else {
		for _, p := range tree(pid) {
			statuses = append(statuses, fmt.Sprintf("/proc/%d/status", p))
		}
	}
	for _, path := range statuses {
		b, _ := os.ReadFile(path)
		for line := range strings.Lines(string(b)) {
			k, v, _ := strings.Cut(line, ":")
			switch k {
			case "RssAnon":
				u.memory += kilobytes(v)
			case "Threads":
				n, _ := strconv.Atoi(strings.TrimSpace(v))
				u.tasks += n
			}
		}
	}
	if j.Level != Kernel {
		return u // it has no folders in memory of its own
	}
	for _, dir := range private {
		var st unix.Statfs_t
		path := fmt.Sprintf("/proc/%d/root%s", pid, dir.path)
		if unix.Statfs(path, &st) == nil && st.Type == unix.TMPFS_MAGIC {
			u.memory += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return u
}

func kilobytes(v string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
	return n << 10
}

// tree lists a process and its descendants.
func tree(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all) && i < 1<<16; i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, list := range lists {
			b, _ := os.ReadFile(list)
			for _, f := range strings.Fields(string(b)) {
				if n, err := strconv.Atoi(f); err == nil {
					all = append(all, n)
				}
			}
		}
	}
	return all
}
