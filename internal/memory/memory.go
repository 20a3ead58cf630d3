// Package memory tells how much memory this process may still use, and how much
// others use. It reads /proc and control groups, and knows nothing of what the
// memory is for. Where there is no /proc it knows nothing at all.
package memory

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Offer is what this process and its children may still use together.
type Offer struct {
	Free  int64 // bytes; zero if unknown
	Total int64 // bytes, what is in use included; zero if unknown
	// Source says what sets the bound: "machine" or "control group".
	Source string
}

// Available reads what is offered from a file system that has the machine's
// /proc and /sys, such as os.DirFS("/").
func Available(root fs.FS) Offer {
	o := machine(root)
	for _, g := range groups(root) {
		limit, used := g.limit(root)
		if limit <= 0 {
			continue
		}
		if free := max(limit-used, 0); o.Total == 0 || free < o.Free {
			o.Free, o.Source = free, "control group"
		}
		if o.Total == 0 || limit < o.Total {
			o.Total, o.Source = limit, "control group"
		}
	}
	return o
}

func machine(root fs.FS) Offer {
	kb := keys(root, "proc/meminfo")
	if kb["MemTotal"] == 0 {
		return Offer{}
	}
	free, known := kb["MemAvailable"]
	if !known { // Linux before 3.14
		free = kb["MemFree"] + kb["Cached"]
	}
	return Offer{Free: free << 10, Total: kb["MemTotal"] << 10, Source: "machine"}
}

// group is one control group that this process is in, by the folder of its
// files.
type group struct {
	dir string
	v1  bool
}

// groups returns the groups whose limits hold for this process: its own and
// those above.
func groups(root fs.FS) []group {
	own := map[bool]string{} // by v1
	for line := range strings.Lines(text(root, "proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) < 3:
		case f[0] == "0" && f[1] == "":
			own[false] = f[2]
		case hasController(f[1], "memory"):
			own[true] = f[2]
		}
	}
	var out []group
	for line := range strings.Lines(text(root, "proc/self/mountinfo")) {
		before, after, ok := strings.Cut(line, " - ")
		f, a := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(a) < 3 {
			continue
		}
		v1 := a[0] == "cgroup" && hasController(a[2], "memory")
		if a[0] != "cgroup2" && !v1 {
			continue
		}
		at, known := own[v1]
		if !known {
			continue
		}
		// The mount shows the hierarchy from f[3] on, which in a container is
		// our own group or one above.
		rest, below := strings.CutPrefix(at, strings.TrimSuffix(f[3], "/"))
		if !below {
			rest = ""
		}
		mount := strings.TrimPrefix(f[4], "/")
		for p := path.Clean("/" + rest); ; p = path.Dir(p) {
			out = append(out, group{path.Join(mount, p), v1})
			if p == "/" {
				break
			}
		}
	}
	return out
}

func hasController(list, name string) bool {
	for c := range strings.SplitSeq(list, ",") {
		if c == name {
			return true
		}
	}
	return false
}

// unlimited is from where on a limit of version 1 means none: its files hold
// the largest multiple of a page.
const unlimited = math.MaxInt64 / 2

// limit returns a group's limit, zero for none, and what is in use that could
// not be reclaimed.
func (g group) limit(root fs.FS) (limit, used int64) {
	limitFile, usedFile, cacheKey := "memory.max", "memory.current", "inactive_file"
	if g.v1 {
		limitFile, usedFile, cacheKey = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
	}
	limit, _ = strconv.ParseInt(strings.TrimSpace(text(root, path.Join(g.dir, limitFile))), 10, 64) // "max" is none
	if limit <= 0 || limit >= unlimited {
		return 0, 0
	}
	used, _ = strconv.ParseInt(strings.TrimSpace(text(root, path.Join(g.dir, usedFile))), 10, 64)
	return limit, max(used-keys(root, path.Join(g.dir, "memory.stat"))[cacheKey], 0)
}

func text(root fs.FS, name string) string {
	b, _ := fs.ReadFile(root, name)
	return string(b)
}

// keys reads lines of a key, an optional colon and a number.
func keys(root fs.FS, name string) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(text(root, name)) {
		if f := strings.Fields(line); len(f) >= 2 {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				out[strings.TrimSuffix(f[0], ":")] = n
			}
		}
	}
	return out
}

// Tree returns what a process and its descendants use, in bytes: their
// proportional set sizes, in which memory that several share counts once, or,
// of processes that let nobody look, what is theirs alone.
func Tree(root fs.FS, pid int) int64 {
	var sum int64
	for _, p := range descendants(root, pid) {
		dir := fmt.Sprintf("proc/%d", p)
		if pss := keys(root, dir+"/smaps_rollup")["Pss"]; pss > 0 {
			sum += pss << 10
			continue
		}
		s := keys(root, dir+"/status")
		sum += s["RssAnon"] << 10
	}
	return sum
}

// maxProcesses bounds how many descendants are counted.
const maxProcesses = 1 << 16

// descendants lists a process and those below it.
func descendants(root fs.FS, pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all) && len(all) < maxProcesses; i++ {
		lists, _ := fs.Glob(root, fmt.Sprintf("proc/%d/task/*/children", all[i]))
		for _, list := range lists {
			b, _ := fs.ReadFile(root, list)
			for _, f := range bytes.Fields(b) {
				if n, err := strconv.Atoi(string(f)); err == nil {
					all = append(all, n)
				}
			}
		}
	}
	return all
}
