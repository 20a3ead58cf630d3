package netns

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

// call is what the program inside asks of the helper; answer is the reply, with
// a descriptor beside it (SCM_RIGHTS) when there is one. Both travel as JSON,
// one to a packet. The answer is also what the helper writes into the status
// pipe when the lab stands, or cannot.
type call struct {
	Op      string   // "info", "listen", "packet", "sniff", "sniff loopback" or "start"
	Network string   `json:",omitempty"`
	Address string   `json:",omitempty"`
	Args    []string `json:",omitempty"`
	Env     []string `json:",omitempty"`
}

type answer struct {
	Error string        `json:",omitempty"`
	Errno syscall.Errno `json:",omitempty"`
	IPv6  bool          `json:",omitempty"`
}

// callBytes is the longest call or answer.
const callBytes = 64 << 10

func failed(err error) answer {
	a := answer{Error: err.Error()}
	errors.As(err, &a.Errno)
	return a
}

// help is the helper's life: build the lab, start the program in its near
// namespace without the helper's capabilities, and open sockets in the far one
// for it until it ends.
func help(o Options) int {
	runtime.LockOSThread()
	unix.CloseOnExec(childFD)
	status := os.NewFile(childFD, "status")
	w, cmd, err := prepare(o)
	var a answer
	if err != nil {
		a = failed(err)
	}
	json.NewEncoder(status).Encode(a)
	status.Close()
	if err != nil {
		return 1
	}
	go w.serve()
	return wait(cmd)
}

// prepare builds the lab and starts the program.
func prepare(o Options) (*world, *exec.Cmd, error) {
	if err := privateFiles(); err != nil {
		return nil, nil, err
	}
	w, err := newWorld()
	if err != nil {
		return nil, nil, err
	}
	if o.Prepare != nil {
		if err := o.Prepare(); err != nil {
			return nil, nil, err
		}
	}
	ours, theirs, err := socketPair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, nil, err
	}
	defer ours.Close()
	defer theirs.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, err
	}
	w.control = c.(*net.UnixConn)
	// The child inherits the capabilities of the thread that forks it.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return nil, nil, called("prctl(PR_CAP_AMBIENT_CLEAR_ALL)", err)
	}
	cmd := self(stageInside, theirs)
	return w, cmd, cmd.Start()
}

func socketPair(kind int) (a, b *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, called("socketpair(AF_UNIX)", err)
	}
	return os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs"), nil
}

// serve answers the program inside until it is gone.
func (w *world) serve() {
	buf := make([]byte, callBytes)
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
		on := w.far
		if c.Op == "start" || c.Op == "sniff loopback" {
			on = w.near
		}
		if err := on.do(func() error { return w.open(c) }); err != nil {
			w.reply(failed(err))
		}
	}
}

// open answers one call, on the thread of the side that it is about.
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
	case "start":
		return w.start(c)
	case "sniff", "sniff loopback":
		index := w.farIndex
		if c.Op != "sniff" {
			index = w.loIndex
		}
		fd, err := sniff(index)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		w.reply(answer{}, fd)
		return nil
	}
	return fmt.Errorf("unknown call %q", c.Op)
}

// start runs this program again, with other arguments, in the near namespace,
// with the one capability that sending packets by hand takes. Its standard
// input and output are a socket whose other end is in the answer.
func (w *world) start(c call) error {
	ours, theirs, err := socketPair(unix.SOCK_STREAM)
	if err != nil {
		return err
	}
	defer ours.Close()
	defer theirs.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append(os.Args[:1:1], c.Args...)
	cmd.Env = c.Env
	cmd.Stdin, cmd.Stdout = theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_RAW}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait()
	w.reply(answer{}, int(ours.Fd()))
	return nil
}

// pass replies with the descriptor of a socket.
func (w *world) pass(s syscall.Conn) error {
	rc, err := s.SyscallConn()
	if err != nil {
		return err
	}
	return rc.Control(func(fd uintptr) { w.reply(answer{}, int(fd)) })
}

// reply sends an answer. When the program is gone nobody misses it.
func (w *world) reply(a answer, fds ...int) {
	b, err := json.Marshal(a)
	if err != nil {
		panic("netns: " + err.Error()) // the struct always marshals
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	w.control.WriteMsgUnix(b, oob, nil)
}
