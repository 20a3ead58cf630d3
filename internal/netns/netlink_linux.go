package netns

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// message is a netlink request under construction: a header, a structure that
// depends on its type, and attributes (RFC 3549 §2.3).
type message struct {
	kind, flags uint16
	body        []byte
}

// request begins a message. fixed is the structure that follows the header.
func request[T any](kind, flags uint16, fixed T) *message {
	m := &message{kind: kind, flags: flags | unix.NLM_F_REQUEST | unix.NLM_F_ACK}
	m.raw(unsafe.Slice((*byte)(unsafe.Pointer(&fixed)), unsafe.Sizeof(fixed)))
	return m
}

// raw appends bytes, padded to the alignment of netlink.
func (m *message) raw(b []byte) {
	m.body = append(m.body, b...)
	for len(m.body)%unix.NLMSG_ALIGNTO != 0 {
		m.body = append(m.body, 0)
	}
}

// attr appends an attribute.
func (m *message) attr(kind uint16, value []byte) {
	m.body = binary.NativeEndian.AppendUint16(m.body, uint16(unix.SizeofRtAttr+len(value)))
	m.body = binary.NativeEndian.AppendUint16(m.body, kind)
	m.raw(value)
}

func (m *message) u32(kind uint16, v uint32) {
	m.attr(kind, binary.NativeEndian.AppendUint32(nil, v))
}

func (m *message) str(kind uint16, s string) { m.attr(kind, append([]byte(s), 0)) }

// nest appends an attribute whose value is what fill appends.
func (m *message) nest(kind uint16, fill func()) {
	start := len(m.body)
	m.attr(kind, nil)
	fill()
	binary.NativeEndian.PutUint16(m.body[start:], uint16(len(m.body)-start))
}

// netlink configures the network namespace of the thread that opened it. It
// must be used on that thread's goroutine only.
type netlink struct{ fd int }

func openNetlink() (*netlink, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	return &netlink{fd}, nil
}

func (n *netlink) Close() { unix.Close(n.fd) }

// do sends a request and waits for its acknowledgement.
func (n *netlink) do(m *message) error {
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(m.body)))
	b = binary.NativeEndian.AppendUint16(b, m.kind)
	b = binary.NativeEndian.AppendUint16(b, m.flags)
	b = append(b, 1, 0, 0, 0, 0, 0, 0, 0) // sequence, and a port that the kernel knows
	if err := unix.Sendto(n.fd, append(b, m.body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	reply := make([]byte, 4096)
	k, _, err := unix.Recvfrom(n.fd, reply, 0)
	if err != nil {
		return err
	}
	if k < unix.NLMSG_HDRLEN+4 || binary.NativeEndian.Uint16(reply[4:]) != unix.NLMSG_ERROR {
		return fmt.Errorf("netlink: unexpected reply of %d bytes", k)
	}
	if code := int32(binary.NativeEndian.Uint32(reply[unix.NLMSG_HDRLEN:])); code != 0 {
		return syscall.Errno(-code)
	}
	return nil
}

// up brings an interface up, without an automatic link-local address: no
// router solicitation and no duplicate detection disturb the sniffer.
func (n *netlink) up(index int, ipv6 bool) error {
	if ipv6 {
		m := request(unix.RTM_NEWLINK, 0, unix.IfInfomsg{Index: int32(index)})
		m.nest(unix.IFLA_AF_SPEC, func() {
			m.nest(unix.AF_INET6, func() { m.attr(unix.IFLA_INET6_ADDR_GEN_MODE, []byte{addrGenModeNone}) })
		})
		if err := n.do(m); err != nil {
			return fmt.Errorf("addr_gen_mode: %w", err)
		}
	}
	return n.do(request(unix.RTM_NEWLINK, 0, unix.IfInfomsg{Index: int32(index), Flags: unix.IFF_UP, Change: unix.IFF_UP}))
}

// addrGenModeNone is IN6_ADDR_GEN_MODE_NONE of linux/if_link.h.
const addrGenModeNone = 1

// end is one end of a veth pair.
type end struct {
	name string
	mac  net.HardwareAddr
}

// veth makes a pair: near in this namespace, far in the one of netns.
func (n *netlink) veth(near, far end, netns int) error {
	m := request(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, unix.IfInfomsg{})
	m.str(unix.IFLA_IFNAME, near.name)
	m.attr(unix.IFLA_ADDRESS, near.mac)
	m.nest(unix.IFLA_LINKINFO, func() {
		m.str(unix.IFLA_INFO_KIND, "veth")
		m.nest(unix.IFLA_INFO_DATA, func() {
			m.nest(vethInfoPeer, func() {
				m.raw(make([]byte, unix.SizeofIfInfomsg))
				m.str(unix.IFLA_IFNAME, far.name)
				m.attr(unix.IFLA_ADDRESS, far.mac)
				m.u32(unix.IFLA_NET_NS_FD, uint32(netns))
			})
		})
	})
	return n.do(m)
}

// vethInfoPeer is VETH_INFO_PEER of linux/veth.h.
const vethInfoPeer = 1

// address gives an interface an address, alone in its subnet.
func (n *netlink) address(index int, ip netip.Addr) error {
	m := request(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, unix.IfAddrmsg{
		Family: family(ip), Prefixlen: uint8(ip.BitLen()), Flags: unix.IFA_F_NODAD, Index: uint32(index),
	})
	m.attr(unix.IFA_LOCAL, ip.AsSlice())
	m.attr(unix.IFA_ADDRESS, ip.AsSlice())
	return n.do(m)
}

// neighbour tells where an address of the link is, so that nobody has to ask.
func (n *netlink) neighbour(index int, ip netip.Addr, mac net.HardwareAddr) error {
	m := request(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, unix.NdMsg{
		Family: family(ip), Ifindex: int32(index), State: unix.NUD_PERMANENT,
	})
	m.attr(unix.NDA_DST, ip.AsSlice())
	m.attr(unix.NDA_LLADDR, mac)
	return n.do(m)
}

// route is one entry of a routing table.
type route struct {
	to    netip.Prefix
	index int        // of the interface
	via   netip.Addr // a gateway on the link, if valid
	kind  uint8      // unix.RTN_UNICAST, unix.RTN_LOCAL
	table uint8
}

func (n *netlink) route(r route) error {
	fixed := unix.RtMsg{
		Family: family(r.to.Addr()), Dst_len: uint8(r.to.Bits()), Table: r.table,
		Protocol: unix.RTPROT_BOOT, Type: r.kind, Scope: unix.RT_SCOPE_LINK,
	}
	if r.kind == unix.RTN_LOCAL {
		fixed.Scope = unix.RT_SCOPE_HOST
	}
	if r.via.IsValid() {
		fixed.Scope, fixed.Flags = unix.RT_SCOPE_UNIVERSE, unix.RTNH_F_ONLINK
	}
	m := request(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, fixed)
	if r.to.Bits() > 0 {
		m.attr(unix.RTA_DST, r.to.Addr().AsSlice())
	}
	if r.via.IsValid() {
		m.attr(unix.RTA_GATEWAY, r.via.AsSlice())
	}
	m.u32(unix.RTA_OIF, uint32(r.index))
	return n.do(m)
}

func family(ip netip.Addr) uint8 {
	if ip.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}
