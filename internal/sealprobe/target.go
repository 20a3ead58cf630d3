package sealprobe

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/bellglass/bellglass/internal/netns"
)

// place is a kind of place that must not be reached.
type place string

const (
	byName     place = "name"      // a public host, by its name
	public4    place = "public4"   // and by its address
	public6    place = "public6"   //
	loopback4  place = "loopback4" // this machine's loopback
	loopback6  place = "loopback6"
	localhost  place = "localhost"  // a name below .localhost
	interface4 place = "interface4" // this machine's own address in its network
	interface6 place = "interface6"
	metadata4  place = "metadata4" // where clouds hand out credentials
	metadata6  place = "metadata6"
	link4      place = "link4" // link-local
	link6      place = "link6"
	private4   place = "private4"
	private6   place = "private6"
	group4     place = "multicast4"
	loopnet4   place = "loopnet4" // a loopback address of the probe's own
)

// fixed are the places with one address; their probes differ by port.
var fixed = map[place]netip.Addr{
	loopback4:  netip.MustParseAddr("127.0.0.1"),
	loopback6:  netip.MustParseAddr("::1"),
	localhost:  netip.MustParseAddr("127.0.0.1"),
	interface4: netns.Addr4,
	interface6: netns.Addr6,
	metadata4:  netip.MustParseAddr("169.254.169.254"),
	metadata6:  netip.MustParseAddr("fd00:ec2::254"),
	link4:      netip.MustParseAddr("169.254.7.7"),
	link6:      netip.MustParseAddr("fe80::1"),
	private4:   netip.MustParseAddr("10.0.0.1"),
	private6:   netip.MustParseAddr("fd00::1"),
}

// near says whether what is sent there stays in the namespace of the program.
func (p place) near() bool {
	switch p {
	case loopback4, loopback6, loopnet4, localhost, interface4, interface6:
		return true
	}
	return false
}

// phase is one of the two runs; each has addresses, ports and names of its
// own, so that a straggler of the sealed one is not taken for the control's.
type phase int

const (
	control phase = iota
	sealed
)

// probeTarget is what one probe of one phase tries to reach, and nobody else does:
// its address, its port or its name tells whose a packet is.
type probeTarget struct {
	place place
	n     int // of the probe, below maxProbes
	phase phase
}

const (
	maxProbes  = 500
	firstPort  = 21000 // below those that the kernel gives to clients
	probesZone = "out.test"
)

// addr is where the sentinel is.
func (t probeTarget) addr() netip.Addr {
	if a, ok := fixed[t.place]; ok {
		return a
	}
	high, low := byte(2*int(t.phase)+t.n/250), byte(1+t.n%250)
	switch t.place {
	case public6:
		return netip.AddrFrom16([16]byte{0x26, 0x06, 0x28, 0x00, 2, 0x20, 0, high, 14: 0, 15: low})
	case group4:
		return netip.AddrFrom4([4]byte{239, 7, high, low})
	case loopnet4:
		return netip.AddrFrom4([4]byte{127, 7, high, low})
	}
	return netip.AddrFrom4([4]byte{93, 184, 100 + high, low})
}

// ownPort is the port by which probes to fixed places differ.
func (t probeTarget) ownPort() uint16 { return uint16(firstPort + maxProbes*int(t.phase) + t.n) }

// port is the one to call; def is that of the protocol.
func (t probeTarget) port(def uint16) uint16 {
	if _, ok := fixed[t.place]; ok {
		return t.ownPort()
	}
	return def
}

// name is a host name that only this probe asks for.
func (t probeTarget) name() string {
	return fmt.Sprintf("p%d.%s.%s", t.n, [...]string{"c", "s"}[t.phase], probesZone)
}

// host is the target as a URL names it, without brackets.
func (t probeTarget) host() string {
	switch t.place {
	case byName:
		return t.name()
	case localhost:
		return fmt.Sprintf("p%d.localhost", t.n)
	}
	return t.addr().String()
}

func (t probeTarget) hostPort(def uint16) string {
	return net.JoinHostPort(t.host(), strconv.Itoa(int(t.port(def))))
}

// url is the target for a scheme, with its port unless that is the scheme's.
func (t probeTarget) url(scheme string) string {
	def := uint16(80)
	if scheme == "https" || scheme == "wss" {
		def = 443
	}
	at := t.hostPort(def)
	if t.port(def) == def {
		at = strings.TrimSuffix(at, ":"+strconv.Itoa(int(def)))
	}
	return scheme + "://" + at + "/"
}

// ofName finds the probe whose name is asked for, at any depth.
func ofName(host string) (phase, int, bool) {
	rest, ok := strings.CutSuffix(strings.ToLower(strings.TrimSuffix(host, ".")), "."+probesZone)
	if !ok {
		return 0, 0, false
	}
	labels := strings.Split(rest, ".")
	if len(labels) < 2 {
		return 0, 0, false
	}
	n, err := strconv.Atoi(strings.TrimPrefix(labels[len(labels)-2], "p"))
	ph := control
	if labels[len(labels)-1] == "s" {
		ph = sealed
	}
	return ph, n, err == nil && n >= 0 && n < maxProbes
}

// ofAddr finds the probe to whose address or port something is sent.
func ofAddr(to netip.AddrPort) (phase, int, bool) {
	ip := to.Addr().Unmap()
	var high, low byte
	switch b := ip.AsSlice(); {
	case len(b) == 4 && b[0] == 93 && b[1] == 184 && b[2] >= 100:
		high, low = b[2]-100, b[3]
	case len(b) == 4 && (b[0] == 239 || b[0] == 127) && b[1] == 7:
		high, low = b[2], b[3]
	case len(b) == 16 && b[0] == 0x26 && b[1] == 0x06 && b[2] == 0x28:
		high, low = b[7], b[15]
	}
	if low > 0 && high < 4 {
		return phase(high / 2), int(high%2)*250 + int(low) - 1, true
	}
	if p := int(to.Port()) - firstPort; p >= 0 && p < 2*maxProbes {
		return phase(p / maxProbes), p % maxProbes, true
	}
	return 0, 0, false
}

// questions are the names that a DNS message asks for.
func questions(b []byte) []string {
	var p dnsmessage.Parser
	if _, err := p.Start(b); err != nil {
		return nil
	}
	qs, err := p.AllQuestions()
	if err != nil {
		return nil
	}
	var names []string
	for _, q := range qs {
		name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
		names = append(names, strings.TrimSuffix(name, "."+netns.SearchDomain))
	}
	return names
}
