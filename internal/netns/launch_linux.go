package netns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageEnv tells a process of the program which part it plays: none yet, the
// helper, or the program inside. It is removed from the environment.
const (
	stageEnv    = "BELLGLASS_NETNS"
	stageHelper = "helper"
	stageInside = "inside"
)

// childFD is the first descriptor that a child inherits besides stdio: the
// status pipe in the helper, the control socket inside.
const childFD = 3

// Enter plays the part of this process. Inside it returns the lab. When the
// program has run inside, and ended, or this was the helper, it returns done
// and the exit code with which to end. Else err says why there is no lab; if
// the system refused one, errors.As finds a [*Refused].
//
// The program inside gets the arguments and stdio of this one: Enter must be
// reached by them again, and should be called before anything else is done.
func Enter(o Options) (lab *Lab, code int, done bool, err error) {
	stage := os.Getenv(stageEnv)
	os.Unsetenv(stageEnv)
	switch stage {
	case stageHelper:
		return nil, help(o), true, nil
	case stageInside:
		lab, err = join(childFD)
		return lab, 0, false, err
	}
	code, err = launch()
	return nil, code, err == nil, err
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
	return 0, fmt.Errorf("netns: no lab: %w", errors.Join(errs...))
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
	call := "clone(CLONE_NEWNET|CLONE_NEWNS)"
	if user {
		call = "clone(CLONE_NEWUSER|CLONE_NEWNET|CLONE_NEWNS)"
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE}
	}
	err = cmd.Start()
	w.Close()
	if err != nil {
		refused := &Refused{Call: call, User: user, Text: err.Error()}
		if errors.As(err, &refused.Err) {
			refused.Text = ""
		}
		return nil, refused
	}
	said, err := io.ReadAll(r)
	var a answer
	if err == nil {
		err = json.Unmarshal(said, &a)
	}
	if err == nil && a.Error == "" {
		return cmd, nil
	}
	cmd.Wait()
	if err != nil {
		a.Error = fmt.Sprintf("the helper ended before the lab stood: %v", cmd.ProcessState)
	}
	return nil, &Refused{Text: a.Error, Err: a.Errno, User: user}
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
