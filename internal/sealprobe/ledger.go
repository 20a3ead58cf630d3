package sealprobe

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/bellglass/bellglass/internal/netns"
	"github.com/bellglass/bellglass/internal/wire"
)

// ledger collects what the sentinels saw, by phase and probe.
type ledger struct {
	seen [2]map[int][]Seen
	// multicast and stray are the probes that get what the browser does of its
	// own accord.
	multicast, stray int
}

func newLedger(multicast, stray int) *ledger {
	return &ledger{seen: [2]map[int][]Seen{{}, {}}, multicast: multicast, stray: stray}
}

// add notes something; what is seen again at the same place counts up.
func (l *ledger) add(ph phase, n int, s Seen) {
	for i, old := range l.seen[ph][n] {
		if old.Where != s.Where {
			continue
		}
		// The first packet of a connection has no bytes yet.
		if old.Bytes == "" {
			l.seen[ph][n][i].What, l.seen[ph][n][i].Bytes = s.What, s.Bytes
		}
		l.seen[ph][n][i].Packets += s.Packets
		return
	}
	l.seen[ph][n] = append(l.seen[ph][n], s)
}

// shownBytes is how many of the first bytes a report holds.
const shownBytes = 64

// seenOf describes a packet.
func seenOf(p netns.Packet) Seen {
	to := p.Dst.String()
	if p.Proto != "tcp" && p.Proto != "udp" {
		to = p.Dst.Addr().String()
	}
	s := Seen{Where: p.Proto + " " + to, Packets: 1}
	if len(p.Data) > 0 {
		s.Bytes = hex.EncodeToString(p.Data[:min(len(p.Data), shownBytes)])
		if p.Proto == "tcp" || p.Proto == "udp" {
			s.What = describe(p.Data)
		}
	}
	return s
}

// describe names what bytes look like, and quotes plain text.
func describe(b []byte) string {
	what := wire.Describe(b)
	text := string(bytes.TrimSpace(b))
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	if !strings.HasPrefix(what, strconv.Itoa(len(b))+" bytes") || text == "" || strings.ContainsFunc(text, odd) {
		return what
	}
	return strconv.Quote(text[:min(len(text), shownBytes)])
}

// packets sorts what was sent during a phase. expected says what the service
// itself may have sent.
func (l *ledger) packets(during phase, ps []netns.Packet, expected func(netns.Packet) bool) {
	for _, p := range ps {
		if expected(p) || kernels(p) || p.Proto == "udp" && p.Dst.Port() == 53 && l.names(during, p) {
			continue
		}
		// What was begun in one phase may arrive in the next.
		if ph, n, ok := ofAddr(p.Dst); ok {
			l.add(ph, n, seenOf(p))
			continue
		}
		switch ip := p.Dst.Addr(); {
		case ip == netip.MustParseAddr("224.0.0.22") || ip == netip.MustParseAddr("224.0.0.251") || ip == netip.MustParseAddr("ff02::fb") || ip == netip.MustParseAddr("ff02::16"):
			l.add(during, l.multicast, seenOf(p))
		default:
			l.add(during, l.stray, seenOf(p))
		}
	}
}

// kernels recognises what the kernel of this side says in answer to others:
// ARP, and that nobody takes a packet (ICMP type 3, ICMPv6 type 1).
func kernels(p netns.Packet) bool {
	if len(p.Data) > 0 {
		if _, _, ok := ofAddr(p.Dst); ok {
			return false
		}
		return p.Proto == "icmp" && p.Data[0] == 3 || p.Proto == "icmp6" && p.Data[0] == 1
	}
	return p.Proto == "arp"
}

// names sorts a question to a name server by the names that it asks for, and
// returns whether that says it all.
func (l *ledger) names(during phase, p netns.Packet) bool {
	names := questions(p.Data)
	for _, name := range names {
		s := seenOf(p)
		s.Where = "dns " + name
		if ph, n, ok := ofName(name); ok {
			l.add(ph, n, s)
		} else {
			l.add(during, l.stray, s)
		}
	}
	return len(names) > 0
}

// loopback sorts what was sent to this machine itself: only what is for a
// probe counts, because the proxy is there, too.
func (l *ledger) loopback(ps []netns.Packet) {
	for _, p := range ps {
		if ph, n, ok := ofAddr(p.Dst); ok {
			l.add(ph, n, seenOf(p))
		}
	}
}

// String says in one line what was seen.
func (s Seen) String() string {
	out := s.Where
	if s.What != "" && s.What != "nothing" {
		out += ": " + s.What
	}
	if s.Packets > 1 {
		out += fmt.Sprintf(" (%d packets)", s.Packets)
	}
	return out
}

// first says the most telling thing that was seen: a connection rather than the
// look-up before it, and bytes rather than none.
func first(all []Seen) string {
	if len(all) == 0 {
		return "nothing"
	}
	worth := func(s Seen) int {
		switch {
		case strings.HasPrefix(s.Where, "dns "):
			return 0
		case s.Bytes == "":
			return 1
		}
		return 2
	}
	out := slices.MaxFunc(all, func(a, b Seen) int { return worth(a) - worth(b) }).String()
	if more := len(all) - 1; more > 0 {
		out += fmt.Sprintf(", and %d more", more)
	}
	return out
}
