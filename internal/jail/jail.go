// Package jail runs one program where it can reach nothing but what it is
// given: at level [Kernel] in user, network, pid, mount, ipc, uts and cgroup
// namespaces of its own, at level [Landlock] under rules of the Landlock
// security module and a system call filter.
//
// # Level kernel
//
// The network has a loopback interface and nothing else. The listeners that a
// [Spec] asks for are made inside and handed out: whoever serves them, outside,
// is all that the program can talk to. The file system holds the system's
// programs and libraries, read-only, the program's own folder, a few files of
// /etc, and empty folders in memory for its home, /tmp and /dev/shm. There is
// no /home, /root, /run, /var, /mnt, /srv, no /sys and no working folder of
// the caller's: what is not listed does not exist. Of processes the program
// sees its own descendants. It runs as user 1000, which outside is the
// caller's own id or, for root, one that owns nothing.
//
// The program is process 1 of its namespace. When it ends, for whatever
// reason, the kernel ends every process that it started, whatever they did to
// get away, and drops the file systems and the network with them. It ends when
// the process that called [Start] ends, however that ended.
//
// # The host program
//
// Between the caller and the program stands a second stage: the binary of the
// running process (whoever imports this package) is executed again inside the
// new namespaces. The package's init function recognises that stage by the
// name it was given, by being process 1 (at level kernel), and by the control
// socket at a fixed descriptor; it plays its part and never returns, so that
// main does not run. Packages that are initialised earlier do run their init
// functions once more, without their environment; if one of them ends the
// process, Start reports what it said.
//
// The package knows nothing of browsers and of what is said over the
// listeners.
package jail

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"time"
)

// Level is how a program is held.
type Level string

const (
	// Kernel: namespaces. The program has no network but the listeners.
	Kernel Level = "kernel"
	// Landlock: rules on files and TCP, and a filter of system calls. The
	// program shares the network with its caller, but may open TCP
	// connections to the listeners' ports only (at any address: Landlock's
	// rules know no addresses), and no other sockets.
	Landlock Level = "landlock"
	// ProxyOnly is no jail: the program is asked nicely. [Start] refuses it; the
	// word is here because it is the third of the three levels.
	ProxyOnly Level = "proxy-only"
)

// Below returns whether l holds less than m. Unknown levels hold nothing.
func (l Level) Below(m Level) bool { return rank[l] < rank[m] }

var rank = map[Level]int{ProxyOnly: 1, Landlock: 2, Kernel: 3}

// Home is the folder in memory that is the program's HOME at level kernel; at
// level landlock it is [Spec.Home].
const Home = "/profile"

// Self as a [Spec]'s Path is the binary of the running process, wherever it
// lies.
const Self = "/proc/self/exe"

// Spec is what to run, and what it is given. Level and Path are required.
type Spec struct {
	Level Level
	// Path is the program; symbolic links are followed. Its folder is shown if
	// it is that of a Chromium (it holds icudtl.dat), else the file alone.
	Path string
	// Args makes the arguments, without the program's name. It is given the
	// folder that is the program's home and the addresses of the listeners as
	// the program sees them. May be nil.
	Args func(home string, listeners []netip.AddrPort) []string
	// Env is the whole environment, beside HOME and TMPDIR.
	Env []string
	// Files are written into the home before the program starts, with mode
	// 0600, by their path below it.
	Files map[string][]byte
	// Home is the folder that the program may write to at level landlock; the
	// caller makes and removes it. At level kernel it is not used.
	Home string
	// Listeners is how many TCP listeners on loopback are made.
	Listeners int
	// Extra are descriptors 3 and up of the program.
	Extra []*os.File
	// Stdout and Stderr get what the program writes. If nil, it is dropped.
	Stdout, Stderr io.Writer
	// Sniff asks for [Jail.Sniffer]. Level kernel only.
	Sniff bool
	// Limits bound what the program and its descendants use.
	Limits Limits

	try bool // end where the program would be executed
}

// Limits of one jail, all its processes together. The zero value of a field
// means its default.
type Limits struct {
	// Memory is the most bytes. Default: [DefaultMemory].
	Memory int64
	// Tasks is the most processes and threads. Default: [DefaultTasks].
	Tasks int
	// CPUs is how many processors' worth of time may be used; it needs a
	// delegated cgroup. Zero is no limit.
	CPUs float64
	// CgroupOff leaves cgroups alone, for tests of the watchdog.
	CgroupOff bool
}

// Defaults of [Limits]. A headless shell with four pages open takes 300 to 600
// MB and 150 to 250 tasks (measured).
const (
	DefaultMemory = 2 << 30
	DefaultTasks  = 2048
)

func (l Limits) withDefaults() Limits {
	if l.Memory == 0 {
		l.Memory = DefaultMemory
	}
	if l.Tasks == 0 {
		l.Tasks = DefaultTasks
	}
	return l
}

// Addr is the address of a listener as the program in the jail sees it. It is
// no [net.TCPAddr], because at level kernel it means nothing in the network of
// the caller.
type Addr struct{ netip.AddrPort }

// Network returns "tcp".
func (Addr) Network() string { return "tcp" }

// listener is a listener of the jail's.
type listener struct {
	net.Listener
	addr Addr
}

func (l listener) Addr() net.Addr { return l.addr }

// Why a jail ended that nobody killed.
var (
	// ErrMemory: it used more memory than [Limits] allow.
	ErrMemory = errors.New("jail: the memory limit was reached")
	// ErrTasks: it had more processes and threads than [Limits] allow. At
	// level kernel making one more fails instead.
	ErrTasks = errors.New("jail: the limit of processes and threads was reached")
)

// Try finds out whether a level can be had here: it does all that [Start] does
// but execute a program. The error is an [*Error].
func Try(ctx context.Context, l Level) error {
	s := Spec{Level: l, Listeners: 1, try: true}
	if l == Landlock {
		home, err := os.MkdirTemp("", "bellglass-try-")
		if err != nil {
			return &Error{Level: l, Step: "make a folder", Text: err.Error()}
		}
		defer os.RemoveAll(home)
		s.Home = home
	}
	j, err := Start(ctx, s)
	if err != nil {
		return err
	}
	j.Kill()
	for _, ln := range j.Listeners {
		ln.Close()
	}
	return nil
}

// startTimeout bounds what happens before the program runs. Measured: 12 to 40
// ms; a loaded two-core machine needs a margin.
const startTimeout = 10 * time.Second
