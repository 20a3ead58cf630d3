package netns

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/bellglass/bellglass/internal/wire"
)

// Packet is one packet that left the tests' namespace.
type Packet struct {
	Time  time.Time
	Proto string         // "tcp", "udp", "icmp", "icmp6", "igmp", "arp", "ip 132", "ethernet 88cc"
	Src   netip.AddrPort // port 0 where the protocol has none
	Dst   netip.AddrPort
	Flags string // of TCP, such as "S" or "PA"
	Len   int    // of the whole frame, in bytes
	Data  []byte // the first bytes above TCP, UDP or IP
}

// sniffBytes is how much of each frame is looked at: enough for a ClientHello
// with a post-quantum key share.
const sniffBytes = 4096

func (p Packet) String() string {
	src, dst := p.Src.String(), p.Dst.String()
	if p.Proto != "tcp" && p.Proto != "udp" {
		src, dst = p.Src.Addr().String(), p.Dst.Addr().String()
	}
	s := fmt.Sprintf("%s %s -> %s", p.Proto, src, dst)
	if p.Flags != "" {
		s += " " + p.Flags
	}
	if len(p.Data) > 0 {
		s += ": " + wire.Describe(p.Data)
	}
	return s
}

// decode reads an Ethernet frame. It returns false for frames that another
// station sent and for those that only keep the link alive.
func decode(b []byte, from [6]byte) (Packet, bool) {
	p := Packet{Time: time.Now()}
	if len(b) < 14 || [6]byte(b[6:12]) != from {
		return p, false
	}
	kind, body := binary.BigEndian.Uint16(b[12:]), b[14:]
	switch kind {
	case 0x0800:
		p.ipv4(body)
	case 0x86dd:
		return p, p.ipv6(body)
	case 0x0806:
		p.Proto = "arp"
		if len(body) >= 28 {
			p.Src, p.Dst = addr4(body[14:]), addr4(body[24:])
		}
	default:
		p.Proto, p.Data = fmt.Sprintf("ethernet %04x", kind), bytes.Clone(body)
	}
	return p, true
}

func addr4(b []byte) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[:4])), 0)
}

func addr16(b []byte) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[:16])), 0)
}

// ipv4 reads a header of RFC 791 §3.1.
func (p *Packet) ipv4(b []byte) {
	p.Proto = "ip, cut"
	if len(b) < 20 || len(b) < int(b[0]&0xf)*4 {
		return
	}
	p.Src, p.Dst = addr4(b[12:]), addr4(b[16:])
	if binary.BigEndian.Uint16(b[6:])&0x1fff != 0 {
		p.Proto = "ip fragment"
		return
	}
	p.transport(b[9], b[int(b[0]&0xf)*4:])
}

// ipv6 reads a header of RFC 8200 §3 and skips extension headers. It returns
// false for the kernel's own neighbour discovery.
func (p *Packet) ipv6(b []byte) bool {
	p.Proto = "ip6, cut"
	if len(b) < 40 {
		return true
	}
	p.Src, p.Dst = addr16(b[8:]), addr16(b[24:])
	next, b := b[6], b[40:]
	for {
		switch next {
		case 0, 43, 60: // hop-by-hop, routing, destination options
			if len(b) < 8 || len(b) < 8*(1+int(b[1])) {
				return true
			}
			next, b = b[0], b[8*(1+int(b[1])):]
		case 44:
			if len(b) < 8 {
				return true
			}
			if binary.BigEndian.Uint16(b[2:])&0xfff8 != 0 {
				p.Proto = "ip6 fragment"
				return true
			}
			next, b = b[0], b[8:]
		case 58:
			p.Proto, p.Data = "icmp6", bytes.Clone(b)
			return !discovery(b)
		default:
			p.transport(next, b)
			return true
		}
	}
}

// discovery recognises neighbour discovery (RFC 4861) and the listener reports
// (RFC 9777) of its own multicast groups, ff02::1:ff00:0/104.
func discovery(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	switch b[0] {
	case 133, 134, 135, 136, 137:
		return true
	case 143:
		n, records := int(binary.BigEndian.Uint16(b[6:])), b[8:]
		for range n {
			if len(records) < 20 || !solicited.Contains(addr16(records[4:]).Addr()) {
				return false
			}
			skip := 20 + 16*int(binary.BigEndian.Uint16(records[2:])) + 4*int(records[1])
			records = records[min(skip, len(records)):]
		}
		return true
	}
	return false
}

var solicited = netip.MustParsePrefix("ff02::1:ff00:0/104")

// transport reads what is above IP.
func (p *Packet) transport(proto byte, b []byte) {
	switch proto {
	case 1:
		p.Proto = "icmp"
	case 2:
		p.Proto = "igmp"
	case 6:
		p.Proto = "tcp"
		if len(b) < 20 || len(b) < int(b[12]>>4)*4 {
			return
		}
		p.ports(b)
		p.Flags = tcpFlags(b[13])
		b = b[int(b[12]>>4)*4:]
	case 17:
		p.Proto = "udp"
		if len(b) < 8 {
			return
		}
		p.ports(b)
		b = b[8:]
	default:
		p.Proto = fmt.Sprintf("ip %d", proto)
	}
	p.Data = bytes.Clone(b)
}

func (p *Packet) ports(b []byte) {
	p.Src = netip.AddrPortFrom(p.Src.Addr(), binary.BigEndian.Uint16(b))
	p.Dst = netip.AddrPortFrom(p.Dst.Addr(), binary.BigEndian.Uint16(b[2:]))
}

func tcpFlags(b byte) string {
	var s strings.Builder
	for i, f := range "FSRPAUEC" {
		if b>>i&1 != 0 {
			s.WriteRune(f)
		}
	}
	return s.String()
}
