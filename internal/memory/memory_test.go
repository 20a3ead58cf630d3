package memory_test

import (
	"os"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass/internal/memory"
)

const gib = 1 << 30

func files(m map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range m {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

const meminfo = "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:   12582912 kB\nCached:  10 kB\n"

func TestAvailable(t *testing.T) {
	for name, k := range map[string]struct {
		files map[string]string
		want  memory.Offer
	}{
		"nothing known": {nil, memory.Offer{}},
		"machine":       {map[string]string{"proc/meminfo": meminfo}, memory.Offer{Free: 12 * gib, Total: 16 * gib, Source: "machine"}},
		"old kernel": {map[string]string{"proc/meminfo": "MemTotal: 4194304 kB\nMemFree: 1048576 kB\nCached: 1048576 kB\n"},
			memory.Offer{Free: 2 * gib, Total: 4 * gib, Source: "machine"}},
		"version 2, a parent's limit": {map[string]string{
			"proc/meminfo":                     meminfo,
			"proc/self/cgroup":                 "0::/pod/box\n",
			"proc/self/mountinfo":              "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/pod/box/memory.max": "max\n",
			"sys/fs/cgroup/pod/memory.max":     "4294967296\n",
			"sys/fs/cgroup/pod/memory.current": "2147483648\n",
			"sys/fs/cgroup/pod/memory.stat":    "anon 5\ninactive_file 1073741824\n",
		}, memory.Offer{Free: 3 * gib, Total: 4 * gib, Source: "control group"}},
		"version 2, in a container": {map[string]string{
			"proc/meminfo":             meminfo,
			"proc/self/cgroup":         "0::/\n",
			"proc/self/mountinfo":      "30 1 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/memory.max": "1073741824\n", "sys/fs/cgroup/memory.current": "2000000000\n",
		}, memory.Offer{Free: 0, Total: 1 * gib, Source: "control group"}},
		"version 1": {map[string]string{
			"proc/meminfo":        meminfo,
			"proc/self/cgroup":    "9:cpu,cpuacct:/x\n7:memory:/docker/abc\n",
			"proc/self/mountinfo": "40 1 0:33 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2147483648\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/memory.stat": "cache 1\ntotal_inactive_file 536870912\n",
		}, memory.Offer{Free: 3 * gib / 2, Total: 2 * gib, Source: "control group"}},
		"version 1, no limit": {map[string]string{
			"proc/meminfo":        meminfo,
			"proc/self/cgroup":    "7:memory:/\n",
			"proc/self/mountinfo": "40 1 0:33 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, memory.Offer{Free: 12 * gib, Total: 16 * gib, Source: "machine"}},
		"a limit above what is free": {map[string]string{
			"proc/meminfo":             meminfo,
			"proc/self/cgroup":         "0::/\n",
			"proc/self/mountinfo":      "broken\n30 1 0:26 / /sys/fs/cgroup rw - cgroup2 c rw\n",
			"sys/fs/cgroup/memory.max": "15032385536\n", "sys/fs/cgroup/memory.current": "0\n",
		}, memory.Offer{Free: 12 * gib, Total: 14 * gib, Source: "control group"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(k.want, memory.Available(files(k.files))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTree(t *testing.T) {
	root := files(map[string]string{
		"proc/10/task/10/children": "11 12 ",
		"proc/10/task/13/children": "14",
		"proc/11/task/11/children": "",
		"proc/10/smaps_rollup":     "00400000-7ff rollup\nRss: 300 kB\nPss: 100 kB\n",
		"proc/11/smaps_rollup":     "Pss: 20 kB\n",
		"proc/12/status":           "Name: x\nRssAnon:\t 7 kB\n",
		"proc/99/smaps_rollup":     "Pss: 1000 kB\n",
		"proc/14/task/14/children": "what",
	})
	if got := memory.Tree(root, 10); got != 127<<10 {
		t.Errorf("got %d", got)
	}
}

func TestHere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	root := os.DirFS("/")
	if o := memory.Available(root); o.Free <= 0 || o.Total < o.Free || o.Source == "" {
		t.Errorf("%+v", o)
	}
	if n := memory.Tree(root, os.Getpid()); n < 1<<20 || n > 8*gib {
		t.Errorf("this process uses %d bytes", n)
	}
}
