package jail

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Jail is a running program. End it with [Jail.Kill].
type Jail struct {
	// Level is the one asked for.
	Level Level
	// Listeners are those made for the program. The caller closes them.
	Listeners []net.Listener
	// Sniffer is a packet socket (AF_PACKET, every protocol) in the jail's
	// network, if it was asked for. The caller closes it.
	Sniffer *os.File

	cmd    *exec.Cmd
	cgroup *cgroup
	done   chan struct{} // closed when the program and, at level kernel, all it started is dead

	mu  sync.Mutex
	err error
}

// Pid is the program's process id as the caller sees it; it is also its
// process group's and its session's.
func (j *Jail) Pid() int { return j.cmd.Process.Pid }

// Done is closed when the program has ended. At level kernel nothing of what
// it started is then left.
func (j *Jail) Done() <-chan struct{} { return j.done }

// Err is why the program ended: [ErrMemory], or an [*exec.ExitError], or nil.
// It must be called after Done only.
func (j *Jail) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Kill ends the program and returns when it is dead, with all that it started
// at level kernel; at level landlock with its process group. It is idempotent.
func (j *Jail) Kill() {
	if j.Level != Kernel {
		syscall.Kill(-j.Pid(), syscall.SIGKILL)
	}
	j.cmd.Process.Kill()
	<-j.done
}

// stop notes why the jail is ended, and ends it.
func (j *Jail) stop(why error) {
	j.mu.Lock()
	if j.err == nil {
		j.err = why
	}
	j.mu.Unlock()
	if j.Level != Kernel {
		syscall.Kill(-j.Pid(), syscall.SIGKILL)
	}
	j.cmd.Process.Kill()
}

// firstPort is the first listener's at level kernel, where all ports are free.
// It is below the range that the kernel takes ports of outgoing connections
// from.
const firstPort = 20001

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Start runs the program of a Spec. When it returns without error the program
// has been executed, and has not been waited for. ctx bounds only the start.
// An [*Error] says that the level cannot be had here, or that the program
// could not be executed in it; nothing is then left behind.
func Start(ctx context.Context, s Spec) (*Jail, error) {
	if s.Level != Kernel && s.Level != Landlock {
		return nil, fmt.Errorf("jail: no such level: %q", s.Level)
	}
	s.Limits = s.Limits.withDefaults()
	if !s.try && s.Path != Self {
		path, err := filepath.EvalSymlinks(s.Path) // in the jail their folders may be missing
		if err != nil {
			return nil, fmt.Errorf("jail: %w", err)
		}
		if s.Path, err = filepath.Abs(path); err != nil {
			return nil, fmt.Errorf("jail: %w", err)
		}
	}
	j := &Jail{Level: s.Level, done: make(chan struct{})}
	if err := j.start(ctx, s); err != nil {
		for _, ln := range j.Listeners {
			ln.Close()
		}
		if j.Sniffer != nil {
			j.Sniffer.Close()
		}
		var refused *Error
		if errors.As(err, &refused) {
			refused.explain()
		}
		return nil, err
	}
	return j, nil
}

func (j *Jail) start(ctx context.Context, s Spec) error {
	c := config{Level: s.Level, Path: s.Path, Env: s.Env, Home: Home, Files: s.Files, Extra: len(s.Extra), Sniff: s.Sniff, Tasks: s.Limits.Tasks, Try: s.try}
	if s.Level == Landlock {
		c.Home = s.Home
		if err := j.listenHere(s.Listeners); err != nil {
			return err
		}
		for _, ln := range j.Listeners {
			c.Ports = append(c.Ports, ln.Addr().(Addr).Port())
		}
	} else {
		for i := range s.Listeners {
			c.Ports = append(c.Ports, uint16(firstPort+i))
		}
	}
	if s.Args != nil {
		var addrs []netip.AddrPort
		for _, p := range c.Ports {
			addrs = append(addrs, netip.AddrPortFrom(loopback, p))
		}
		c.Args = s.Args(c.Home, addrs)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("jail: control socket: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return fmt.Errorf("jail: control socket: %w", err)
	}
	control := conn.(*net.UnixConn)
	defer control.Close()
	if j.cmd, err = command(s, theirs); err != nil {
		return err
	}
	if err := j.fork(s); err != nil {
		return err
	}
	theirs.Close()
	if err := j.handshake(ctx, control, c); err != nil {
		j.Kill()
		return err
	}
	go j.watch(s.Limits)
	return nil
}

// listenHere opens the listeners of level landlock in our own network.
func (j *Jail) listenHere(n int) error {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	for range n {
		ln, err := lc.Listen(context.Background(), "tcp4", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("jail: listen: %w", err)
		}
		j.Listeners = append(j.Listeners, listener{ln, Addr{ln.Addr().(*net.TCPAddr).AddrPort()}})
	}
	return nil
}

// namespaces are those of level kernel.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWNS |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// insideID is the program's user and group id in its user namespace. It is not
// 0, because Chromium's sandbox refuses to run as root.
const insideID = 1000

// command prepares to run this binary again as the second stage.
func command(s Spec, control *os.File) (*exec.Cmd, error) {
	cmd := exec.Command(Self)
	cmd.Args = []string{stageNames[s.Level]}
	cmd.Env = []string{"GOMAXPROCS=1"} // the runtime starts in an eighth less time (measured)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = s.Stdout, s.Stderr
	cmd.WaitDelay = time.Second // a descendant may hold stderr open
	cmd.ExtraFiles = append([]*os.File{control}, s.Extra...)
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.SysProcAttr = attr
	id, err := pickIdentity()
	if err != nil {
		return nil, &Error{Level: s.Level, Step: "choose a user for the program", Text: err.Error()}
	}
	if s.Level == Landlock {
		if id.changed {
			attr.Credential = &syscall.Credential{Uid: uint32(id.uid), Gid: uint32(id.gid)}
			if err := os.Chown(s.Home, id.uid, id.gid); err != nil {
				return nil, &Error{Level: s.Level, Step: "give the home to the program's user", Text: err.Error()}
			}
		}
		return cmd, nil
	}
	attr.Cloneflags = namespaces
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: insideID, HostID: id.uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: insideID, HostID: id.gid, Size: 1}}
	// Only who maps another id than its own may drop its other groups.
	attr.GidMappingsEnableSetgroups = id.changed
	attr.Credential = &syscall.Credential{Uid: insideID, Gid: insideID, NoSetGroups: !id.changed}
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW}
	return cmd, nil
}

// fork starts the second stage from a thread that lives as long as the
// program: the parent-death signal is sent when the *thread* that forked ends,
// and the runtime may end a thread at any time.
func (j *Jail) fork(s Spec) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cg := newCgroup(s.Limits)
		if cg != nil {
			j.cmd.SysProcAttr.UseCgroupFD, j.cmd.SysProcAttr.CgroupFD = true, cg.fd
		}
		err := j.cmd.Start()
		if err != nil {
			cg.remove()
			started <- err
			return
		}
		j.cgroup = cg
		started <- nil
		err = j.cmd.Wait()
		if cg.outOfMemory() {
			err = ErrMemory
		}
		cg.remove()
		j.mu.Lock()
		if j.err == nil {
			j.err = err
		}
		j.mu.Unlock()
		close(j.done)
	}()
	err := <-started
	if err == nil {
		return nil
	}
	e := &Error{Level: s.Level, Step: "execute the second stage (/proc/self/exe)"}
	if s.Level == Kernel {
		e.Step = "clone(CLONE_NEWUSER|CLONE_NEWNET|CLONE_NEWPID|CLONE_NEWNS|…) and execute the second stage"
	}
	if !errors.As(err, &e.Errno) {
		e.Text = err.Error()
	}
	return e
}

// handshake tells the second stage what to do and takes what it hands out.
func (j *Jail) handshake(ctx context.Context, control *net.UnixConn, c config) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { control.SetDeadline(time.Now()) })
	defer stop()
	err := send(control, c)
	ready := false
	buf, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4*rightsPerMessage))
	for err == nil {
		n, oobn, _, _, readErr := control.ReadMsgUnix(buf, oob)
		if errors.Is(readErr, io.EOF) {
			if ready {
				return nil // the socket was closed by the successful exec
			}
			err = errors.New("it ended without a word")
		} else if readErr != nil {
			err = readErr
		} else if n > 0 {
			switch buf[0] {
			case msgReady:
				ready = true
			case msgListeners:
				err = j.takeListeners(oob[:oobn], c.Ports)
			case msgSniffer:
				err = j.takeSniffer(oob[:oobn])
			case msgFailed:
				e := &Error{Level: j.Level}
				if err = json.Unmarshal(buf[1:n], e); err == nil {
					return e
				}
			default:
				err = fmt.Errorf("unknown message %q", buf[0])
			}
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return &Error{Level: j.Level, Step: "run the second stage", Text: err.Error()}
}

// send writes the configuration in packets, its length first.
func send(control *net.UnixConn, c config) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if _, err := control.Write(binary.NativeEndian.AppendUint32(nil, uint32(len(b)))); err != nil {
		return err
	}
	for len(b) > 0 {
		n, err := control.Write(b[:min(len(b), packetBytes)])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// takeListeners takes descriptors of listeners, in the order of their ports.
func (j *Jail) takeListeners(oob []byte, ports []uint16) error {
	fds, err := rights(oob)
	if err != nil {
		return err
	}
	for _, fd := range fds {
		f := os.NewFile(uintptr(fd), "listener")
		ln, lnErr := net.FileListener(f)
		f.Close()
		if lnErr != nil || len(j.Listeners) == len(ports) {
			err = errors.Join(err, lnErr)
			continue
		}
		addr := netip.AddrPortFrom(loopback, ports[len(j.Listeners)])
		j.Listeners = append(j.Listeners, listener{ln, Addr{addr}})
	}
	return err
}

func (j *Jail) takeSniffer(oob []byte) error {
	fds, err := rights(oob)
	if err != nil || len(fds) != 1 {
		return fmt.Errorf("%d packet sockets, %w", len(fds), err)
	}
	unix.SetNonblock(fds[0], true)
	j.Sniffer = os.NewFile(uintptr(fds[0]), "packets")
	return nil
}

func rights(oob []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return all, err
		}
		all = append(all, fds...)
	}
	return all, nil
}

// identity is who the program is outside of its user namespace.
type identity struct {
	uid, gid int
	changed  bool // another than ours
}

// pickIdentity returns our own ids, or for root ids that own nothing: of files
// that slip into the jail root's are the last that should be writable there.
func pickIdentity() (identity, error) {
	if os.Geteuid() != 0 {
		return identity{os.Geteuid(), os.Getegid(), false}, nil
	}
	uid, realRoot := freeID("/proc/self/uid_map")
	gid, _ := freeID("/proc/self/gid_map")
	if uid > 0 && gid > 0 {
		return identity{uid, gid, true}, nil
	}
	if realRoot {
		return identity{}, errors.New("root has no other user id here (/proc/self/uid_map)")
	}
	return identity{0, 0, false}, nil // root of a namespace with one id: an ordinary user outside
}

// Ids above this belong to nobody by the conventions of systemd and shadow; of
// those, half a million are used.
const (
	nobodyFrom  = 0x70000000
	nobodyCount = 0x80000
)

// freeID returns an id of our user namespace that probably owns nothing, or 0
// if there is none, and whether our 0 is that of the machine.
func freeID(mapFile string) (id int, realRoot bool) {
	f, err := os.Open(mapFile)
	if err != nil {
		return 0, true
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var first, outside, count int64
		if n, _ := fmt.Sscan(strings.TrimSpace(lines.Text()), &first, &outside, &count); n != 3 {
			continue
		}
		if first == 0 && outside == 0 {
			realRoot = true
		}
		switch {
		case first <= nobodyFrom && first+count >= nobodyFrom+nobodyCount:
			return nobodyFrom + rand.IntN(nobodyCount), realRoot
		case count > 2: // the upper half of a small range, but not its last: 65535 is "no id"
			id = int(first + count/2 + rand.Int64N(count-1-count/2))
		case first > 0:
			id = int(first)
		}
	}
	return id, realRoot
}
