package netlab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageEnv tells a process of the test binary which part it plays: none yet,
// the helper, or the tests. It is removed from the environment of the tests.
const (
	stageEnv    = "BELLGLASS_NETLAB"
	stageHelper = "helper"
	stageTests  = "tests"
)

// childFD is the first descriptor that a child inherits besides stdio: the
// status pipe in the helper, the control socket in the tests.
const childFD = 3

// built is what the helper writes into the status pipe when the lab stands.
// Anything else is the reason why it does not.
const built = "built"

// enter plays the part of this process. done says that it is played and that
// the process should exit; otherwise the tests are to be run here.
func enter() (code int, done bool) {
	stage := os.Getenv(stageEnv)
	os.Unsetenv(stageEnv)
	switch stage {
	case stageHelper:
		return help(), true
	case stageTests:
		here, absent = join(childFD)
		return 0, false
	}
	if slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.fuzzworker") }) {
		absent = errors.New("netlab: a fuzz worker is not in the lab")
		return 0, false
	}
	code, absent = launch()
	return code, absent == nil
}

// launch starts the helper in namespaces of its own and waits until it ends.
// It returns an error when there is no lab.
func launch() (code int, err error) {
	// The parent-death signal follows the thread that forked.
	runtime.LockOSThread()
	var errs []error
	for _, user := range []bool{false, true} {
		if !user && os.Getuid() != 0 {
			continue
		}
		cmd, reason := startHelper(user)
		if reason == nil {
			return wait(cmd), nil
		}
		errs = append(errs, reason)
	}
	runtime.UnlockOSThread()
	return 0, fmt.Errorf("netlab: no lab: %w", errors.Join(errs...))
}

// startHelper starts the helper and waits until it has built the lab. user
// asks for a user namespace, in which this user keeps its id.
func startHelper(user bool) (*exec.Cmd, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := self(stageHelper, w)
	attr := cmd.SysProcAttr
	attr.Cloneflags = unix.CLONE_NEWNET | unix.CLONE_NEWNS
	if user {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE}
	}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return nil, fmt.Errorf("namespaces (with a user namespace: %v): %w", user, err)
	}
	status, err := io.ReadAll(r)
	if err == nil && string(status) == built {
		return cmd, nil
	}
	cmd.Wait()
	return nil, fmt.Errorf("helper (with a user namespace: %v): %s", user, status)
}

// self prepares to run this binary again, with the same arguments and the same
// stdio, as another stage. It dies with the thread that starts it.
func self(stage string, extra *os.File) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = os.Args
	cmd.Env = append(os.Environ(), stageEnv+"="+stage)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{extra}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// wait passes signals on and returns the exit code of a child, in the shell's
// form when a signal ended it. A terminal sends its signals to the whole
// group; "go test" sends SIGQUIT, for a trace of the goroutines, to this
// process alone.
func wait(cmd *exec.Cmd) int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGQUIT, unix.SIGTERM, unix.SIGINT)
	defer signal.Stop(signals)
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	for {
		select {
		case s := <-signals:
			if s != unix.SIGINT {
				cmd.Process.Signal(s)
			}
		case <-ended:
			if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
				return 128 + int(ws.Signal())
			}
			return cmd.ProcessState.ExitCode()
		}
	}
}
