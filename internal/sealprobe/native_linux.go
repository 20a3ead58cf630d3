package sealprobe

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// nativeTimeout bounds one native probe.
const nativeTimeout = 1500 * time.Millisecond

// Native plays the program inside: it makes the probes that its argument lists,
// all at once, and writes what came of them. With "victim" it is the process
// that others attack.
func Native(args []string, stdin io.Reader, stdout io.Writer) int {
	if len(args) != 1 {
		return 2
	}
	if args[0] == "victim" {
		return beVictim(stdin, stdout)
	}
	var tasks []nativeTask
	if err := json.Unmarshal([]byte(args[0]), &tasks); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	answers := make([]nativeAnswer, len(tasks))
	var wg sync.WaitGroup
	for i, t := range tasks {
		wg.Go(func() {
			answers[i].N = t.N
			try := natives[t.How]
			if try == nil {
				answers[i].Err = "unknown probe"
				return
			}
			got, err := try(t)
			answers[i].Got = got[:min(len(got), 200)]
			if err != nil {
				answers[i].Err = cause(err)
			}
		})
	}
	wg.Wait()
	if json.NewEncoder(stdout).Encode(answers) != nil {
		return 1
	}
	return 0
}

// cause is the kernel's word for an error, where there is one.
func cause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	var t interface{ Timeout() bool }
	if errors.As(err, &t) && t.Timeout() {
		return "no answer"
	}
	return err.Error()
}

// beVictim lets everybody trace it, and says when it gets a signal.
func beVictim(stdin io.Reader, stdout io.Writer) int {
	// Where the Yama module guards, a process may only trace its children,
	// unless the other permits it.
	unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGUSR1)
	io.WriteString(stdout, "r")
	go func() {
		for range signals {
			io.WriteString(stdout, "s")
		}
	}()
	io.Copy(io.Discard, stdin)
	return 0
}

// natives are the probes by name.
var natives = map[string]func(nativeTask) (string, error){
	"tcp":      dialNative,
	"udp":      dialNative,
	"unix":     dialNative,
	"abstract": dialNative,
	"dns":      askNative,
	"resolve":  resolveNative,
	"ping":     func(t nativeTask) (string, error) { return "", echo(t, unix.SOCK_DGRAM) },
	"icmp":     func(t nativeTask) (string, error) { return "", echo(t, unix.SOCK_RAW) },
	"raw-ip":   func(t nativeTask) (string, error) { return "", rawIP(t) },
	"frame":    func(t nativeTask) (string, error) { return "", frames(t) },
	"vsock":    func(t nativeTask) (string, error) { return "", dialVsock(t) },
	"read":     readNative,
	"write": func(t nativeTask) (string, error) {
		return "", os.WriteFile(t.Arg, []byte("written from inside"), 0o600)
	},
	"environ": environNative,
	"ptrace":  func(t nativeTask) (string, error) { return "", trace(t) },
	"signal": func(t nativeTask) (string, error) {
		pid, err := victimPid(t)
		if err != nil {
			return "", err
		}
		return "", unix.Kill(pid, unix.SIGUSR1)
	},
	"shm":      sharedNative,
	"mqueue":   queueNative,
	"keyring":  keyNative,
	"fastopen": func(t nativeTask) (string, error) { return "", stream(t, unix.IPPROTO_TCP) },
	"mptcp":    func(t nativeTask) (string, error) { return "", stream(t, unix.IPPROTO_MPTCP) },
}

func dialNative(t nativeTask) (string, error) {
	network, addr := t.How, t.Addr
	switch t.How {
	case "unix":
		addr = t.Arg
	case "abstract":
		network, addr = "unix", "@"+t.Arg
	}
	c, err := net.DialTimeout(network, addr, nativeTimeout)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_, err = io.WriteString(c, "from inside\n")
	return "", err
}

// askNative sends a question to a name server.
func askNative(t nativeTask) (string, error) {
	name, err := dnsmessage.NewName(t.Arg + ".")
	if err != nil {
		return "", err
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 1, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	b, err := m.Pack()
	if err != nil {
		return "", err
	}
	c, err := net.DialTimeout("udp", t.Addr, nativeTimeout)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_, err = c.Write(b)
	return "", err
}

func resolveNative(t nativeTask) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), nativeTimeout)
	defer cancel()
	_, err := (&net.Resolver{PreferGo: true}).LookupHost(ctx, t.Arg+".")
	return "", err
}

// echoRequest is an ICMP echo request (RFC 792).
func echoRequest() []byte {
	b := []byte{8, 0, 0, 0, 0x42, 0x42, 0, 1, 'i', 'n', 's', 'i', 'd', 'e'}
	binary.BigEndian.PutUint16(b[2:], checksum(b))
	return b
}

// checksum is that of RFC 1071.
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(b[i]) << 8
		if i+1 < len(b) {
			sum += uint32(b[i+1])
		}
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

func echo(t nativeTask, kind int) error {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ip, err := netip.ParseAddr(t.Addr)
	if err != nil {
		return err
	}
	return unix.Sendto(fd, echoRequest(), 0, &unix.SockaddrInet4{Addr: ip.As4()})
}

// byHand is an IP packet (RFC 791) that carries an echo request.
func byHand(to netip.Addr) []byte {
	dst, payload := to.As4(), echoRequest()
	b := []byte{0x45, 0, 0, 0, 0, 1, 0, 0, 64, unix.IPPROTO_ICMP, 0, 0, 192, 168, 77, 2, dst[0], dst[1], dst[2], dst[3]}
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)+len(payload)))
	binary.BigEndian.PutUint16(b[10:], checksum(b))
	return append(b, payload...)
}

func rawIP(t nativeTask) error {
	ip, err := netip.ParseAddr(t.Addr)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, byHand(ip), 0, &unix.SockaddrInet4{Addr: ip.As4()})
}

// frames sends one through every interface there is.
func frames(t nativeTask) error {
	ip, err := netip.ParseAddr(t.Addr)
	if err != nil {
		return err
	}
	const proto = unix.ETH_P_IP<<8&0xff00 | unix.ETH_P_IP>>8 // in network byte order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifs, err := net.Interfaces()
	if err != nil {
		return err
	}
	sent := false
	for _, i := range ifs {
		// The far end of the lab's link.
		to := &unix.SockaddrLinklayer{Protocol: proto, Ifindex: i.Index, Halen: 6, Addr: [8]byte{2, 0, 0, 0, 0, 1}}
		if e := unix.Sendto(fd, byHand(ip), 0, to); e != nil {
			err = e
		} else if i.Flags&net.FlagLoopback == 0 {
			sent = true
		}
	}
	if sent {
		return nil
	}
	if err == nil {
		err = errors.New("there is no interface but loopback")
	}
	return err
}

// stream makes a connection of multipath TCP or, with TCP, one whose first
// packet carries data and that no connect begins (RFC 7413).
func stream(t nativeTask, proto int) error {
	to, err := netip.ParseAddrPort(t.Addr)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	tv := unix.NsecToTimeval(nativeTimeout.Nanoseconds())
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv)
	addr := &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}
	if proto == unix.IPPROTO_MPTCP {
		if err := unix.Connect(fd, addr); err != nil {
			return err
		}
		_, err := unix.Write(fd, []byte("from inside\n"))
		return err
	}
	return unix.Sendto(fd, []byte("from inside\n"), unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL, addr)
}

func dialVsock(t nativeTask) error {
	port, err := strconv.Atoi(t.Arg)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_LOCAL, Port: uint32(port)})
}

func readNative(t nativeTask) (string, error) {
	b, err := os.ReadFile(t.Arg)
	return string(b), err
}

// environNative looks for the secret in environments.
func environNative(t nativeTask) (string, error) {
	if t.Arg == "own" {
		if v, ok := os.LookupEnv(secretVariable); ok {
			return v, nil
		}
		return "", errors.New("it does not")
	}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	self := strconv.Itoa(os.Getpid())
	read := 0
	for _, f := range files {
		if filepath.Base(filepath.Dir(f)) == self {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		read++
		for v := range strings.SplitSeq(string(b), "\x00") {
			if value, ok := strings.CutPrefix(v, secretVariable+"="); ok {
				return value, nil
			}
		}
	}
	return "", fmt.Errorf("of %d processes in sight, %d told", len(files)-1, read)
}

// victimPid is the process to attack, unless inside that number is somebody
// near.
func victimPid(t nativeTask) (int, error) {
	pid, err := strconv.Atoi(t.Arg)
	if err == nil && (pid <= 1 || pid == os.Getpid() || pid == os.Getppid()) {
		err = errors.New("inside, that process is another")
	}
	return pid, err
}

// trace attaches to a process without stopping it, for a moment.
func trace(t nativeTask) error {
	pid, err := victimPid(t)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the tracer is a thread; with it the tracing ends
	if err := unix.PtraceSeize(pid); err != nil {
		return err
	}
	time.Sleep(100 * time.Millisecond) // long enough to be seen
	return nil
}

func sharedNative(t nativeTask) (string, error) {
	key, err := strconv.Atoi(t.Arg)
	if err != nil {
		return "", err
	}
	id, err := unix.SysvShmGet(key, 4096, 0)
	if err != nil {
		return "", err
	}
	b, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
	if err != nil {
		return "", err
	}
	defer unix.SysvShmDetach(b)
	s, _, _ := strings.Cut(string(b), "\x00")
	return s, nil
}
