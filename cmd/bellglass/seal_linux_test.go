package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// withoutNamespaces prepares to run the command as an ordinary user of a system
// that allows no more user namespaces.
func withoutNamespaces(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("without-namespaces", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE}, // to set the limit
	}
	return cmd
}

// limitNamespaces is the command without-namespaces.
func limitNamespaces() {
	err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0o644)
	if err == nil {
		err = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	}
	path := ""
	if err == nil {
		path, err = exec.LookPath("bellglass")
	}
	if err == nil {
		err = syscall.Exec(path, append([]string{"bellglass"}, os.Args[1:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(99)
}
