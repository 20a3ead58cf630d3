package chrome

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func setAttr(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// groupRuns reports whether a process of the group is more than a zombie. If
// /proc does not tell, it says yes.
func groupRuns(pgid int) bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return true
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile
		}
		// pid (comm) state ppid pgrp …; comm may hold anything.
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(f) > 2 && f[2] == strconv.Itoa(pgid) && f[0] != "Z" && f[0] != "X" {
			return true
		}
	}
	return false
}

// SandboxOff returns why Chromium's own sandbox cannot run here, or "".
func SandboxOff() string {
	if os.Geteuid() == 0 {
		return "running as root, where Chromium's sandbox refuses to start"
	}
	return userNamespacesOff()
}

// userNamespacesOff returns why no user namespace can be made here, or "".
func userNamespacesOff() string {
	// The sandbox needs a user namespace. Trying is the only sure test:
	// sysctls, AppArmor and seccomp can each forbid it.
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	if err := cmd.Run(); err != nil {
		return "this system does not allow user namespaces (" + err.Error() + ")"
	}
	return ""
}

// smallShm reports whether /dev/shm is too small for Chromium, as in a
// container with Docker's default of 64 MB: renderers would crash.
func smallShm() bool {
	var st unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &st); err != nil {
		return true
	}
	return st.Blocks*uint64(st.Bsize) < 512<<20
}
