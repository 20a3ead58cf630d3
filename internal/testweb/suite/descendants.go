package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Descendants are the process ids of our descendants whose command line, with
// spaces between its parts, holds part.
func Descendants(part string) []int { return Below(part, os.Getpid()) }

// Below is [Descendants] for other processes, which do not count themselves.
func Below(part string, of ...int) (out []int) {
	all := of
	for i := 0; i < len(all); i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, list := range lists {
			b, _ := os.ReadFile(list)
			for _, f := range strings.Fields(string(b)) {
				if n, err := strconv.Atoi(f); err == nil && !slices.Contains(all, n) {
					all = append(all, n)
				}
			}
		}
	}
	for _, pid := range all[len(of):] {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if len(line) > 0 && strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), part) {
			out = append(out, pid)
		}
	}
	return out
}
