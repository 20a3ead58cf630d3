package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Descendants are the process ids of our descendants whose command line, with
// spaces between its parts, holds part.
func Descendants(part string) (out []int) {
	all := []int{os.Getpid()}
	for i := 0; i < len(all); i++ {
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
	for _, pid := range all[1:] {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if len(line) > 0 && strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), part) {
			out = append(out, pid)
		}
	}
	return out
}
