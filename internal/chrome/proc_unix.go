//go:build unix

package chrome

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// startBound starts cmd and waits for it on an operating-system thread of its
// own: Linux sends the parent-death signal when the *thread* that forked ends,
// and the runtime may end a thread at any time. exited is closed after the
// process was reaped.
func startBound(cmd *exec.Cmd, exited chan<- struct{}) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(exited)
		}
	}()
	return <-started
}

// killGroup kills the process group and returns when no member runs, or after
// two seconds (a process in uninterruptible sleep). A member that has ended and
// waits for whoever inherited it to reap it does not count: in a container that
// may be nobody.
func killGroup(pid int, exited <-chan struct{}) {
	end := time.Now().Add(2 * time.Second)
	for {
		// ESRCH: nobody is left. EPERM (macOS): only zombies are left.
		if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil || time.Now().After(end) || !groupRuns(pid) {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	select {
	case <-exited:
	case <-time.After(time.Until(end)):
	}
	// As process 1 of a container we have inherited the orphans.
	for {
		if n, err := syscall.Wait4(-pid, nil, syscall.WNOHANG, nil); n <= 0 || err != nil {
			return
		}
	}
}
