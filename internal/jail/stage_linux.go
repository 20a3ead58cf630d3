package jail

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// The second stage is this binary under one of these names, with the control
// socket at descriptor controlFD, and without arguments.
var stageNames = map[Level]string{
	Kernel:   "bellglass-jail: stage 2, kernel",
	Landlock: "bellglass-jail: stage 2, landlock",
}

const controlFD = 3

// Messages of the second stage: one byte, then what it says.
const (
	msgListeners = 'L' // descriptors
	msgSniffer   = 'S' // a descriptor
	msgFailed    = 'E' // an Error as JSON
	msgReady     = 'R' // about to execute the program
)

const (
	packetBytes      = 32 << 10 // of one part of the configuration
	rightsPerMessage = 128      // the kernel's limit is 253
)

// config is what the second stage is told.
type config struct {
	Level Level
	Path  string
	Args  []string
	Env   []string
	Home  string
	Files map[string][]byte
	Ports []uint16
	Extra int
	Sniff bool
	Tasks int
	Try   bool // execute nothing
}

// init is where the second stage's life begins, and ends.
func init() {
	if level := stage(); level != "" {
		s := &second{level: level}
		s.fail(s.run())
		os.Exit(1)
	}
}

// stage returns the level whose second stage this process is, or "".
func stage() Level {
	if len(os.Args) != 1 {
		return ""
	}
	for level, name := range stageNames {
		if os.Args[0] != name || (level == Kernel) != (os.Getpid() == 1) {
			continue
		}
		kind, err := unix.GetsockoptInt(controlFD, unix.SOL_SOCKET, unix.SO_TYPE)
		family, err2 := unix.GetsockoptInt(controlFD, unix.SOL_SOCKET, unix.SO_DOMAIN)
		if err == nil && err2 == nil && kind == unix.SOCK_SEQPACKET && family == unix.AF_UNIX {
			return level
		}
	}
	return ""
}

// second is the second stage. It runs on the main thread, to which the runtime
// binds init functions: what is set per thread (signals, privileges, filters)
// holds for the program that this thread executes.
type second struct {
	level   Level
	control int
	step    string // what is being tried
	c       config
}

// try runs one step. Its name stands in the error if it fails.
func (s *second) try(name string, f func() error) error {
	s.step = name
	return f()
}

func (s *second) fail(err error) {
	e := Error{Level: s.level, Step: s.step}
	if !errors.As(err, &e.Errno) {
		e.Text = err.Error()
	} else if named := (*stepError)(nil); errors.As(err, &named) {
		e.Step += ": " + named.what
	}
	b, err := json.Marshal(e)
	if err != nil {
		panic("jail: " + err.Error()) // the struct always marshals
	}
	unix.Sendmsg(s.control, append([]byte{msgFailed}, b...), nil, nil, 0)
}

// stepError names what a step was at.
type stepError struct {
	what string
	err  error
}

func (e *stepError) Error() string { return e.what + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// at adds a name to an error.
func at(what string, err error) error {
	if err == nil {
		return nil
	}
	return &stepError{what, err}
}

func (s *second) run() error {
	s.control = controlFD
	steps := []struct {
		name   string
		levels []Level
		do     func() error
	}{
		{"prctl(PR_SET_PDEATHSIG)", nil, dieWithParent},
		{"move the control socket", nil, s.moveControl},
		{"read the configuration", nil, s.receive},
		{"keyctl(KEYCTL_JOIN_SESSION_KEYRING)", nil, newKeyring},
		{"sethostname", []Level{Kernel}, func() error { return unix.Sethostname([]byte("bellglass")) }},
		{"bring loopback up", []Level{Kernel}, loopbackUp},
		{"open the listeners", []Level{Kernel}, s.listen},
		{"open the packet socket", []Level{Kernel}, s.sniff},
		{"build the file system", []Level{Kernel}, s.buildRoot},
		{"write the files of the home", nil, s.writeFiles},
		{"setrlimit", nil, s.rlimits},
		{"arrange descriptors", nil, s.descriptors},
		{"capset", nil, dropCapabilities},
		{"prctl(PR_SET_NO_NEW_PRIVS)", nil, func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"landlock", []Level{Landlock}, s.landlock},
		{"seccomp(SECCOMP_SET_MODE_FILTER)", nil, s.filter},
		{"execve", nil, s.execute},
	}
	for _, st := range steps {
		if len(st.levels) > 0 && st.levels[0] != s.level {
			continue
		}
		if err := s.try(st.name, st.do); err != nil {
			return err
		}
	}
	return nil
}

// dieWithParent asks for the parent-death signal. A change of user has cleared
// the one that was asked for at the fork.
func dieWithParent() error {
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}

// moveControl takes the control socket out of the way of the program's
// descriptors.
func (s *second) moveControl() error {
	fd, err := unix.FcntlInt(controlFD, unix.F_DUPFD_CLOEXEC, 100)
	if err != nil {
		return err
	}
	unix.CloseOnExec(controlFD)
	s.control = fd
	return nil
}

func (s *second) receive() error {
	buf := make([]byte, packetBytes)
	n, err := unix.Read(s.control, buf)
	if err != nil {
		return err
	}
	if n != 4 {
		return fmt.Errorf("a length of %d bytes", n)
	}
	want := int(binary.NativeEndian.Uint32(buf))
	all := make([]byte, 0, want)
	for len(all) < want {
		n, err := unix.Read(s.control, buf)
		if err != nil {
			return err
		}
		if n == 0 {
			return errors.New("the first stage is gone")
		}
		all = append(all, buf[:n]...)
	}
	if err := json.Unmarshal(all, &s.c); err != nil {
		return err
	}
	if s.c.Level != s.level {
		return fmt.Errorf("level %q in the second stage of %q", s.c.Level, s.level)
	}
	return nil
}

// newKeyring leaves the keys of the caller's session behind. Kernels without
// keyrings, and filters that refuse them, leave none to see.
func newKeyring() error {
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil && err != unix.ENOSYS && err != unix.EPERM && err != unix.EACCES {
		return err
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

// listen opens the listeners and hands them out.
func (s *second) listen() error {
	var fds []int
	flush := func() error {
		if len(fds) == 0 {
			return nil
		}
		err := unix.Sendmsg(s.control, []byte{msgListeners}, unix.UnixRights(fds...), nil, 0)
		for _, fd := range fds {
			unix.Close(fd)
		}
		fds = fds[:0]
		return err
	}
	for _, port := range s.c.Ports {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
		if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(port), Addr: loopback.As4()}); err != nil {
			return at("bind", err)
		}
		if err := unix.Listen(fd, 1024); err != nil {
			return at("listen", err)
		}
		if len(fds) == rightsPerMessage {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (s *second) sniff() error {
	if !s.c.Sniff {
		return nil
	}
	all := int(binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL})) // in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendmsg(s.control, []byte{msgSniffer}, unix.UnixRights(fd), nil, 0)
}

// writeFiles writes what the program finds in its home.
func (s *second) writeFiles() error {
	for name, data := range s.c.Files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("%q is not below the home", name)
		}
		path := filepath.Join(s.c.Home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// rlimits bounds what no cgroup needs to bound. The number of tasks is counted
// per user of a user namespace and, upwards, for the namespaces made in it
// (Linux 5.14): at level landlock it would count the caller's as well.
func (s *second) rlimits() error {
	for _, l := range []struct {
		resource int
		max      uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_NOFILE, 8192},
		{unix.RLIMIT_MEMLOCK, 1 << 20},
		{unix.RLIMIT_RTPRIO, 0},
		{unix.RLIMIT_MSGQUEUE, 0},
		{unix.RLIMIT_FSIZE, 2 << 30},
		{unix.RLIMIT_NPROC, uint64(s.c.Tasks)},
	} {
		if l.resource == unix.RLIMIT_NPROC && s.level != Kernel {
			continue
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(l.resource, &now); err != nil {
			return err
		}
		m := min(l.max, now.Max)
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: m, Max: m}); err != nil {
			return err
		}
	}
	// Under pressure the kernel should end a browser first, not who serves it.
	os.WriteFile("/proc/self/oom_score_adj", []byte("200"), 0)
	return nil
}

// descriptors puts the program's where it expects them, and marks all others
// to be closed.
func (s *second) descriptors() error {
	for i := range s.c.Extra {
		if err := unix.Dup3(controlFD+1+i, controlFD+i, 0); err != nil {
			return err
		}
	}
	return unix.CloseRange(uint(controlFD+s.c.Extra), math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
}

func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	var none [2]unix.CapUserData
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}

// execute becomes the program. The control socket, which the kernel closes on
// success, tells the first stage.
func (s *second) execute() error {
	if err := dieWithParent(); err != nil {
		return err
	}
	// The first stage may have died before there was a signal to be sent.
	poll := []unix.PollFd{{Fd: int32(s.control)}}
	if _, err := unix.Poll(poll, 0); err == nil && poll[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0 {
		return syscall.EPIPE
	}
	if err := os.Chdir(s.c.Home); err != nil {
		return at("chdir", err)
	}
	if err := unix.Sendmsg(s.control, []byte{msgReady}, nil, nil, 0); err != nil {
		return err
	}
	if s.c.Try {
		os.Exit(0)
	}
	tmp := "/tmp"
	if s.level == Landlock {
		tmp = s.c.Home
	}
	env := append(s.c.Env[:len(s.c.Env):len(s.c.Env)], "HOME="+s.c.Home, "TMPDIR="+tmp)
	argv := append([]string{s.c.Path}, s.c.Args...)
	return at(s.c.Path, unix.Exec(s.c.Path, argv, env))
}
