package netns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// world is the helper's hold on the two namespaces: the near one is that of
// the main thread, and of the program; the far one, that of another thread.
type world struct {
	near, far *thread
	farIndex  int  // of the far end of the link
	loIndex   int  // of loopback in the near namespace
	ipv6      bool // whether this kernel speaks it
	control   *net.UnixConn
}

// The two ends of the link, with addresses of the locally administered range.
var (
	nearEnd = end{"eth0", net.HardwareAddr{2, 0, 0, 0, 0, 2}}
	farEnd  = end{"world0", net.HardwareAddr{2, 0, 0, 0, 0, 1}}
)

// thread is an OS thread that runs functions one after the other, and that is
// in a namespace of its own.
type thread struct{ calls chan func() }

func newThread() *thread {
	t := &thread{make(chan func())}
	go func() {
		runtime.LockOSThread() // for ever: the thread must not serve others
		for f := range t.calls {
			f()
		}
	}()
	return t
}

// do runs f on the thread and returns its error.
func (t *thread) do(f func() error) error {
	errc := make(chan error)
	t.calls <- func() { errc <- f() }
	return <-errc
}

// newWorld makes the far namespace and the link to it, and tries them out.
func newWorld() (*world, error) {
	w := &world{near: newThread(), far: newThread()}
	var netns int
	err := w.far.do(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return called("unshare(CLONE_NEWNET)", err)
		}
		netns, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer unix.Close(netns)
	// Absent where the kernel has no IPv6, 1 where it is switched off.
	off, err := os.ReadFile("/proc/sys/net/ipv6/conf/default/disable_ipv6")
	w.ipv6 = err == nil && strings.TrimSpace(string(off)) == "0"
	if err := w.wireNear(netns); err != nil {
		return nil, fmt.Errorf("near side: %w", err)
	}
	if err := w.far.do(w.wireFar); err != nil {
		return nil, fmt.Errorf("far side: %w", err)
	}
	// Addresses of nobody (RFC 5737, RFC 3849).
	if err := w.probe("tcp4", "203.0.113.77"); err != nil {
		return nil, err
	}
	if w.ipv6 {
		return w, w.probe("tcp6", "2001:db8::77")
	}
	return w, nil
}

// pairs are the addresses of the link, of each IP version in use.
func (w *world) pairs() [][2]netip.Addr {
	p := [][2]netip.Addr{{Addr4, far4}}
	if w.ipv6 {
		p = append(p, [2]netip.Addr{Addr6, far6})
	}
	return p
}

// link makes a link's end and loopback ready in the calling thread's
// namespace, and returns the index of the end.
func (w *world) link(n *netlink, name string) (int, error) {
	for _, dev := range []string{"lo", name} {
		ifi, err := net.InterfaceByName(dev)
		if err != nil {
			return 0, err
		}
		if err := n.up(ifi.Index, w.ipv6 && dev != "lo"); err != nil {
			return 0, fmt.Errorf("%s up: %w", dev, err)
		}
		if dev == name {
			return ifi.Index, nil
		}
	}
	return 0, fmt.Errorf("no interface %s", name)
}

// wireNear leads everything over the link.
func (w *world) wireNear(netns int) error {
	n, err := openNetlink()
	if err != nil {
		return err
	}
	defer n.Close()
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return err
	}
	w.loIndex = lo.Index
	if err := n.veth(nearEnd, farEnd, netns); err != nil {
		return fmt.Errorf("veth: %w", err)
	}
	index, err := w.link(n, nearEnd.name)
	if err != nil {
		return err
	}
	for _, p := range w.pairs() {
		near, far := p[0], p[1]
		err := errors.Join(
			n.address(index, near),
			n.neighbour(index, far, farEnd.mac),
			n.route(route{to: netip.PrefixFrom(far, far.BitLen()), index: index, kind: unix.RTN_UNICAST, table: unix.RT_TABLE_MAIN}),
			n.route(route{to: everything(far), index: index, via: far, kind: unix.RTN_UNICAST, table: unix.RT_TABLE_MAIN}),
		)
		if err != nil {
			return fmt.Errorf("addresses and routes: %w", err)
		}
	}
	return nil
}

// wireFar makes every address local, except those of the near side. Both kinds
// of route stand in the local table, which is asked before the others.
func (w *world) wireFar() error {
	n, err := openNetlink()
	if err != nil {
		return err
	}
	defer n.Close()
	if w.farIndex, err = w.link(n, farEnd.name); err != nil {
		return err
	}
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return err
	}
	for _, p := range w.pairs() {
		near, far := p[0], p[1]
		err := errors.Join(
			n.address(w.farIndex, far),
			n.neighbour(w.farIndex, near, nearEnd.mac),
			n.route(route{to: netip.PrefixFrom(near, near.BitLen()), index: w.farIndex, kind: unix.RTN_UNICAST, table: unix.RT_TABLE_LOCAL}),
			n.route(route{to: everything(far), index: lo.Index, kind: unix.RTN_LOCAL, table: unix.RT_TABLE_LOCAL}),
		)
		if err != nil {
			return fmt.Errorf("addresses and routes: %w", err)
		}
	}
	return nil
}

// everything is the prefix of length 0 of an address's version.
func everything(ip netip.Addr) netip.Prefix { return netip.PrefixFrom(ip, 0).Masked() }

// probe connects from the near side to an address of the far one.
func (w *world) probe(network, ip string) error {
	var ln net.Listener
	err := w.far.do(func() (err error) {
		ln, err = net.Listen(network, ":0")
		return err
	})
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	defer ln.Close()
	to := net.JoinHostPort(ip, strconv.Itoa(ln.Addr().(*net.TCPAddr).Port))
	c, err := net.DialTimeout(network, to, 5*time.Second)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return c.Close()
}

// listenPacket opens a UDP socket that learns to which address each packet was
// sent.
func listenPacket(network, address string) (net.PacketConn, error) {
	lc := net.ListenConfig{Control: func(network, _ string, rc syscall.RawConn) error {
		var err error
		cerr := rc.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
			if network == "udp6" {
				// FREEBIND, because a source address of IPv6 must
				// otherwise be that of an interface.
				err = errors.Join(err,
					unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1),
					unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1))
			}
		})
		return errors.Join(cerr, err)
	}}
	return lc.ListenPacket(context.Background(), network, address)
}

// sniff opens a socket that sees every frame at an interface of the calling
// thread's namespace.
func sniff(index int) (int, error) {
	// The kernel wants the protocol in network byte order.
	const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, called("socket(AF_PACKET)", err)
	}
	// As much as is allowed; the sniffer reports what was lost.
	const room = 8 << 20
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room) != nil {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, room)
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: index}); err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("packet socket: %w", err)
	}
	return fd, nil
}

// privateFiles makes the mount namespace private and points name resolution to
// the lab: resolv.conf, with a search domain as company networks have one, the
// hosts line of nsswitch.conf (whose other modules ask a daemon over a unix
// socket, and that daemon asks the real network), and nscd, which would do the
// same.
func privateFiles() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return called("mount(MS_REC|MS_PRIVATE)", err)
	}
	if err := cover("/etc/resolv.conf", fmt.Appendf(nil, "nameserver %v\nsearch %s\noptions timeout:1 attempts:1\n", DNSServer, SearchDomain)); err != nil {
		return err
	}
	if old, err := os.ReadFile("/etc/nsswitch.conf"); err == nil {
		if err := cover("/etc/nsswitch.conf", hostsLine.ReplaceAll(old, []byte("hosts: files dns"))); err != nil {
			return err
		}
	}
	const nscd = "/var/run/nscd"
	if _, err := os.Stat(nscd); err == nil {
		if err := unix.Mount("tmpfs", nscd, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=4k"); err != nil {
			return called("mount(tmpfs) over "+nscd, err)
		}
	}
	return nil
}

var hostsLine = regexp.MustCompile(`(?m)^\s*hosts:.*$`)

// cover mounts a file with this content over a path. A path that does not
// exist needs no cover.
func cover(path string, content []byte) error {
	f, err := os.CreateTemp("", "bellglass-netns-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // the mount keeps the file alive
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	err = unix.Mount(f.Name(), path, "", unix.MS_BIND, "")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return called("mount(MS_BIND) over "+path, err)
	}
	return nil
}
