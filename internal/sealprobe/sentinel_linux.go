package sealprobe

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// things are the sentinels that are no network: files with a secret, sockets,
// shared memory, and a process.
type things struct {
	plan   []probe
	secret string
	ipc    int // the key, or part of the name, of shared memory, queue and key
	pid    int // of the victim

	mu     sync.Mutex
	led    *ledger
	during phase
	close  []func()
}

// note adds to the ledger.
func (t *things) note(n int, s Seen) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.led.add(t.during, n, s)
}

// sort runs f, which changes the ledger, while nobody else does.
func (t *things) sort(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// begin says which phase it is now.
func (t *things) begin(ph phase) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.during = ph
}

func (t *things) Close() {
	for _, f := range t.close {
		f()
	}
}

// setUp places them where the lab has covered folders; what cannot be placed
// is not observable.
func setUp(plan []probe, led *ledger) (*things, error) {
	raw := make([]byte, 16)
	rand.Read(raw)
	t := &things{plan: plan, led: led, secret: "secret-" + hex.EncodeToString(raw)}
	dirs, err := coveredHere()
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{workFolder, homeFolder} {
		if inCovered(dirs, dir) {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return nil, err
			}
		}
	}
	for n, p := range plan {
		switch {
		case p.from == "native" && p.how == "read" && inCovered(dirs, p.arg):
			err = os.WriteFile(p.arg, []byte(t.secret), 0o600)
		case p.from == "native" && p.how == "unix" && inCovered(dirs, p.arg):
			err = t.listen(n, p.arg)
		case p.from == "native" && p.how == "abstract":
			err = t.listen(n, "@"+p.arg)
		case p.how == "file" && inCovered(dirs, workFolder):
			for _, ph := range []phase{control, sealed} {
				path := strings.TrimPrefix(fileURL(n, ph), "file://")
				err = errors.Join(err, os.WriteFile(path, []byte(callsOut(probeTarget{byName, n, ph})), 0o600))
			}
		}
		if err != nil {
			t.Close()
			return nil, err
		}
	}
	t.vsock()
	t.shared()
	if err := t.victim(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// listen opens a unix socket on which whoever calls is noted.
func (t *things) listen(n int, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil && path[0] == '/' {
		return err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	t.close = append(t.close, func() { ln.Close() })
	go t.accept(n, ln, "unix "+path)
	return nil
}

func (t *things) accept(n int, ln net.Listener, where string) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		c.SetDeadline(time.Now().Add(time.Second))
		b := make([]byte, 64)
		k, _ := c.Read(b)
		c.Close()
		t.note(n, Seen{Where: where, What: fmt.Sprintf("%d bytes", k), Bytes: hex.EncodeToString(b[:k])})
	}
}

// vsock listens where the kernel has that loopback.
func (t *things) vsock() {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	if unix.Bind(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_LOCAL, Port: vsockPort}) != nil || unix.Listen(fd, 8) != nil {
		unix.Close(fd)
		return
	}
	n := numbered(t.plan, "native/vsock")
	t.close = append(t.close, func() { unix.Shutdown(fd, unix.SHUT_RDWR); unix.Close(fd) })
	go func() {
		for {
			c, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil {
				return
			}
			unix.Close(c)
			t.note(n, Seen{Where: fmt.Sprintf("vsock 1:%d", vsockPort), What: "a connection"})
		}
	}()
}

// shared makes a memory segment, a message queue and a key that hold the
// secret; what this kernel does not have is not observable.
func (t *things) shared() {
	t.ipc = 0x62670000 | os.Getpid()&0xffff
	if id, err := unix.SysvShmGet(t.ipc, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600); err == nil {
		t.close = append(t.close, func() { unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
		if b, err := unix.SysvShmAttach(id, 0, 0); err == nil {
			copy(b, t.secret)
			unix.SysvShmDetach(b)
		}
	}
	if fd, err := openQueue(t.ipc, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR); err == nil {
		defer unix.Close(fd)
		t.close = append(t.close, func() { removeQueue(t.ipc) })
		// Once for each phase: who reads a message takes it away.
		for range 2 {
			sendQueue(fd, []byte(t.secret))
		}
	}
	// A key of the user's own keyring ends with this user's last process, or
	// when it is unlinked.
	if id, err := unix.AddKey("user", keyName(t.ipc), []byte(t.secret), unix.KEY_SPEC_USER_KEYRING); err == nil {
		t.close = append(t.close, func() {
			unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0)
		})
	}
}

// victim starts a process that says when it gets a signal, and watches whether
// somebody traces it.
func (t *things) victim() error {
	cmd := exec.Command(ownBinary, NativeCommand, "victim")
	cmd.Env = []string{secretVariable + "=" + t.secret}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe() // its end is the victim's
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.pid = cmd.Process.Pid
	b := make([]byte, 1)
	if _, err := out.Read(b); err != nil {
		return fmt.Errorf("the process to be attacked did not start: %w", err)
	}
	signal, ptrace := numbered(t.plan, "native/signal"), numbered(t.plan, "native/ptrace")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			if _, err := out.Read(b); err != nil {
				return
			}
			t.note(signal, Seen{Where: "process", What: "a signal arrived"})
		}
	})
	wg.Go(func() {
		for tick := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
			}
			if tracer(t.pid) > 0 {
				t.note(ptrace, Seen{Where: "process", What: "it is being traced"})
			}
		}
	})
	t.close = append(t.close, func() {
		close(stop)
		in.Close()
		cmd.Process.Kill()
		wg.Wait()
		cmd.Wait()
	})
	return nil
}

// tracer is who traces a process, 0 for nobody.
func tracer(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), "TracerPid:")
	line, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.Atoi(strings.TrimSpace(line))
	return n
}

// written notes the files that a phase's native probes wrote outside.
func (t *things) written(ph phase) {
	for n, p := range t.plan {
		if p.from != "native" || p.how != "write" {
			continue
		}
		path := writtenPath(p.arg, ph)
		if b, err := os.ReadFile(path); err == nil {
			t.note(n, Seen{Where: "file " + path, What: fmt.Sprintf("%d bytes written", len(b))})
			os.Remove(path)
		}
	}
}

// told notes what native probes have brought home, if it is the secret.
func (t *things) told(answers []nativeAnswer) {
	for _, a := range answers {
		if a.N < 0 || a.N >= len(t.plan) || !strings.Contains(a.Got, t.secret) {
			continue
		}
		p := t.plan[a.N]
		t.note(a.N, Seen{Where: strings.TrimSpace(p.how + " " + p.arg), What: "the secret was read"})
	}
}
