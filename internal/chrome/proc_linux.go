package chrome

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func setAttr(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// SandboxOff returns why Chromium's own sandbox cannot run here, or "".
func SandboxOff() string {
	if os.Geteuid() == 0 {
		return "running as root, where Chromium's sandbox refuses to start"
	}
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
