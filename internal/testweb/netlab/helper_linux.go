package netlab

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// call is what the tests ask of the helper; answer is the reply, with a
// descriptor beside it (SCM_RIGHTS) when there is one. Both travel as JSON,
// one to a packet.
type call struct {
	Op      string // "info", "listen", "packet" or "sniff"
	Network string `json:",omitempty"`
	Address string `json:",omitempty"`
}

type answer struct {
	Error string        `json:",omitempty"`
	Errno syscall.Errno `json:",omitempty"`
	IPv6  bool          `json:",omitempty"`
}

// help is the helper's life: build the lab, start the tests in its near
// namespace without the helper's capabilities, and open sockets in the far one
// for them until they end.
func help() int {
	runtime.LockOSThread()
	unix.CloseOnExec(childFD)
	status := os.NewFile(childFD, "status")
	w, cmd, err := prepare()
	if err != nil {
		fmt.Fprint(status, err)
		return 1
	}
	fmt.Fprint(status, built)
	status.Close()
	go w.serve()
	return wait(cmd)
}

// prepare builds the lab and starts the tests.
func prepare() (*world, *exec.Cmd, error) {
	if err := privateFiles(); err != nil {
		return nil, nil, err
	}
	w, err := newWorld()
	if err != nil {
		return nil, nil, err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer ours.Close()
	defer theirs.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, err
	}
	w.control = c.(*net.UnixConn)
	// The child inherits the capabilities of the thread that forks it.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return nil, nil, fmt.Errorf("drop capabilities: %w", err)
	}
	cmd := self(stageTests, theirs)
	return w, cmd, cmd.Start()
}

// serve answers the tests until they are gone.
func (w *world) serve() {
	buf := make([]byte, 4096)
	for {
		n, err := w.control.Read(buf)
		if err != nil || n == 0 {
			return
		}
		var c call
		if err := json.Unmarshal(buf[:n], &c); err != nil {
			w.reply(answer{Error: err.Error()})
			continue
		}
		if err := w.far.do(func() error { return w.open(c) }); err != nil {
			a := answer{Error: err.Error()}
			errors.As(err, &a.Errno)
			w.reply(a)
		}
	}
}

// open answers one call, on the far thread.
func (w *world) open(c call) error {
	switch c.Op {
	case "info":
		w.reply(answer{IPv6: w.ipv6})
		return nil
	case "listen":
		ln, err := net.Listen(c.Network, c.Address)
		if err != nil {
			return err
		}
		defer ln.Close()
		return w.pass(ln.(syscall.Conn))
	case "packet":
		pc, err := listenPacket(c.Network, c.Address)
		if err != nil {
			return err
		}
		defer pc.Close()
		return w.pass(pc.(syscall.Conn))
	case "sniff":
		fd, err := w.sniff()
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		w.reply(answer{}, fd)
		return nil
	}
	return fmt.Errorf("unknown call %q", c.Op)
}

// pass replies with the descriptor of a socket.
func (w *world) pass(s syscall.Conn) error {
	rc, err := s.SyscallConn()
	if err != nil {
		return err
	}
	return rc.Control(func(fd uintptr) { w.reply(answer{}, int(fd)) })
}

// reply sends an answer. When the tests are gone nobody misses it.
func (w *world) reply(a answer, fds ...int) {
	b, err := json.Marshal(a)
	if err != nil {
		panic("netlab: " + err.Error()) // the struct always marshals
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	w.control.WriteMsgUnix(b, oob, nil)
}
