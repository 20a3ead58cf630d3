//go:build unix && !linux

package chrome

import (
	"os"
	"os/exec"
	"syscall"
)

// There is no parent-death signal here; Chromium ends itself when its
// debugging pipe is closed, which the kernel does with our process.
func setAttr(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// SandboxOff returns why Chromium's own sandbox cannot run here, or "".
func SandboxOff() string {
	if os.Geteuid() == 0 {
		return "running as root, where Chromium's sandbox refuses to start"
	}
	return ""
}

// groupRuns says yes: here kill tells zombies apart by itself.
func groupRuns(int) bool { return true }

func smallShm() bool { return false }

func userNamespacesOff() string { return "" }
