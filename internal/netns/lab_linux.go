package netns

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Lab is the lab that this process is in. Its methods may be called
// concurrently, but all users of the process share its ports and its link:
// who sniffs sees what the others send.
type Lab struct {
	ipv6    bool
	mu      sync.Mutex // one call at a time
	control *net.UnixConn
}

// join takes over the control socket that the helper left at fd.
func join(fd int) (*Lab, error) {
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "control")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("netns: control socket: %w", err)
	}
	l := &Lab{control: c.(*net.UnixConn)}
	a, _, err := l.call(call{Op: "info"})
	if err != nil {
		return nil, err
	}
	l.ipv6 = a.IPv6
	return l, nil
}

// call asks the helper, and returns the descriptor that came with the answer,
// or -1.
func (l *Lab) call(c call) (answer, int, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return answer{}, -1, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.control.Write(b); err != nil {
		return answer{}, -1, fmt.Errorf("netns: helper: %w", err)
	}
	buf, oob := make([]byte, callBytes), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := l.control.ReadMsgUnix(buf, oob)
	if err != nil {
		return answer{}, -1, fmt.Errorf("netns: helper: %w", err)
	}
	fd, err := descriptor(oob[:oobn])
	if err != nil {
		return answer{}, -1, err
	}
	var a answer
	if err := json.Unmarshal(buf[:n], &a); err != nil {
		return answer{}, -1, fmt.Errorf("netns: helper: %w", err)
	}
	if a.Error != "" {
		return a, -1, &remoteError{a}
	}
	return a, fd, nil
}

// remoteError is an error of the helper that still answers errors.Is for the
// errno behind it.
type remoteError struct{ a answer }

func (e *remoteError) Error() string { return "netns: " + e.a.Error }
func (e *remoteError) Unwrap() error {
	if e.a.Errno == 0 {
		return nil
	}
	return e.a.Errno
}

// descriptor takes the one descriptor out of control messages, or returns -1.
func descriptor(oob []byte) (int, error) {
	if len(oob) == 0 {
		return -1, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return -1, fmt.Errorf("netns: helper: %d control messages, %w", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, fmt.Errorf("netns: helper: %d descriptors, %w", len(fds), err)
	}
	return fds[0], nil
}

// IPv6 reports whether this kernel speaks IPv6.
func (l *Lab) IPv6() bool { return l.ipv6 }

// Listen opens a TCP listener in the far namespace. With an address such as
// ":80" it accepts connections to every address of the internet on that port;
// the LocalAddr of an accepted connection tells which was called. Names are
// not resolved. The caller closes it.
func (l *Lab) Listen(network, address string) (net.Listener, error) {
	_, fd, err := l.call(call{Op: "listen", Network: network, Address: address})
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	return net.FileListener(f)
}

// ListenPacket opens a UDP socket in the far namespace, under the rules of
// [Lab.Listen]. The caller closes it.
func (l *Lab) ListenPacket(network, address string) (*PacketConn, error) {
	_, fd, err := l.call(call{Op: "packet", Network: network, Address: address})
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "packets")
	defer f.Close()
	pc, err := net.FilePacketConn(f)
	if err != nil {
		return nil, err
	}
	return &PacketConn{pc.(*net.UDPConn)}, nil
}

// PacketConn is a UDP socket of the far namespace. Because it may answer for
// every address, its methods name both ends.
type PacketConn struct{ c *net.UDPConn }

// ReadPacket reads one packet, and says from where to where it was sent.
func (p *PacketConn) ReadPacket(b []byte) (n int, from, to netip.AddrPort, err error) {
	oob := make([]byte, 128)
	n, oobn, _, from, err := p.c.ReadMsgUDPAddrPort(b, oob)
	if err != nil {
		return 0, from, to, err
	}
	ip, err := destination(oob[:oobn])
	port := p.c.LocalAddr().(*net.UDPAddr).AddrPort().Port()
	return n, netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), netip.AddrPortFrom(ip, port), err
}

// WritePacket sends one packet that appears to come from an address. The port
// is always that of the socket.
func (p *PacketConn) WritePacket(b []byte, from, to netip.AddrPort) error {
	var oob []byte
	if ip := from.Addr().Unmap(); ip.Is4() {
		oob = unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: ip.As4()})
	} else {
		oob = unix.PktInfo6(&unix.Inet6Pktinfo{Addr: ip.As16()})
	}
	_, _, err := p.c.WriteMsgUDPAddrPort(b, oob, to)
	return err
}

// Close closes the socket and ends a ReadPacket that waits.
func (p *PacketConn) Close() error { return p.c.Close() }

// destination finds the address to which a packet was sent.
func destination(oob []byte) (netip.Addr, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return netip.Addr{}, err
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_PKTINFO && len(m.Data) >= 12:
			return netip.AddrFrom4([4]byte(m.Data[8:12])), nil // in_pktinfo.ipi_addr
		case m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= 16:
			return netip.AddrFrom16([16]byte(m.Data[:16])).Unmap(), nil
		}
	}
	return netip.Addr{}, errors.New("netns: a packet without its destination")
}

// Sniff starts to record what arrives at the far end of the link: everything
// that the near namespace sends, whether or not somebody listens for it. The
// caller closes the Sniffer.
func (l *Lab) Sniff() (*Sniffer, error) { return l.sniff("sniff", [6]byte(nearEnd.mac)) }

// SniffLoopback does the same for what the near namespace sends to itself.
func (l *Lab) SniffLoopback() (*Sniffer, error) { return l.sniff("sniff loopback", [6]byte{}) }

func (l *Lab) sniff(op string, mac [6]byte) (*Sniffer, error) {
	_, fd, err := l.call(call{Op: op})
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "sniffer")
	rc, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	s := &Sniffer{f: f, rc: rc, mac: mac, done: make(chan struct{})}
	go s.run()
	return s, nil
}

// Start runs this program again in the near namespace, with other arguments and
// exactly this environment, and returns a socket that is its standard input and
// output. Unlike the program itself it may send packets by hand (CAP_NET_RAW),
// and with root's lab it is root: it is what a process with the rights of a
// service could do. It is killed when the lab ends; tell it to end by closing
// the socket.
func (l *Lab) Start(args, env []string) (*os.File, error) {
	_, fd, err := l.call(call{Op: "start", Args: args, Env: env})
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that deadlines work
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "started"), nil
}

// Sniffer records packets.
type Sniffer struct {
	f    *os.File
	rc   syscall.RawConn
	mac  [6]byte // of the sender whose frames count
	done chan struct{}

	mu      sync.Mutex
	packets []Packet
	dropped int
}

func (s *Sniffer) run() {
	defer close(s.done)
	s.rc.Read(func(fd uintptr) bool {
		s.drain(int(fd))
		return false // wait for more, until Close
	})
}

// drain takes over what the kernel holds.
func (s *Sniffer) drain(fd int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	buf := make([]byte, sniffBytes)
	for {
		n, from, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT|unix.MSG_TRUNC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			break
		}
		if ll, ok := from.(*unix.SockaddrLinklayer); ok && s.mac == ([6]byte{}) && ll.Pkttype == unix.PACKET_OUTGOING {
			continue // loopback shows each frame as it goes and as it comes
		}
		if p, ok := decode(buf[:min(n, len(buf))], s.mac); ok {
			p.Len = n
			s.packets = append(s.packets, p)
		}
	}
	if stats, err := unix.GetsockoptTpacketStats(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		s.dropped += int(stats.Drops) // since the last look
	}
}

// Packets returns what was sent since [Lab.Sniff], up to this moment. Left out
// is what the kernel says of its own accord to find its neighbours: NDP, and
// reports of the multicast groups that NDP needs.
func (s *Sniffer) Packets() []Packet {
	s.rc.Control(func(fd uintptr) { s.drain(int(fd)) })
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Packet(nil), s.packets...)
}

// Dropped returns how many packets were lost because the sniffer was too slow.
// A test that found nothing must find 0 here.
func (s *Sniffer) Dropped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Close ends the recording. What was recorded remains.
func (s *Sniffer) Close() error {
	err := s.f.Close()
	<-s.done
	return err
}
