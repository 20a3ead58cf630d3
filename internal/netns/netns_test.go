package netns_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass/internal/netns"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
)

// anywhere are addresses whose packets must stay in the lab.
var anywhere = []string{
	"169.254.169.254", "10.0.0.1", "192.168.77.1", "93.184.216.34", "100.100.100.200", "8.8.8.8",
	"fd00:ec2::254", "2606:4700::1111", "2001:db8::1", "64:ff9b::7f00:1",
}

func addresses(t *testing.T, l *netns.Lab) []netip.Addr {
	t.Helper()
	var ips []netip.Addr
	for _, s := range anywhere {
		if ip := netip.MustParseAddr(s); ip.Is4() || l.IPv6() {
			ips = append(ips, ip)
		}
	}
	return ips
}

func sniff(t *testing.T, l *netns.Lab) *netns.Sniffer {
	t.Helper()
	s, err := l.Sniff()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if n := s.Dropped(); n != 0 {
			t.Errorf("the sniffer lost %d packets", n)
		}
	})
	return s
}

func TestEveryAddressReachesTheListener(t *testing.T) {
	l := netlab.Need(t)
	ln, err := l.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	s := sniff(t, l)
	for _, ip := range addresses(t, l) {
		to := netip.AddrPortFrom(ip, 80)
		c, err := net.DialTimeout("tcp", to.String(), 5*time.Second)
		if err != nil {
			t.Errorf("dial %v: %v", to, err)
			continue
		}
		io.WriteString(c, "GET /latest/meta-data HTTP/1.1\r\nHost: metadata\r\n\r\n")
		c.(*net.TCPConn).CloseWrite()
		a, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(a); !strings.HasPrefix(string(b), "GET /latest") || err != nil {
			t.Errorf("%v read %q, %v", to, b, err)
		}
		if got := a.LocalAddr().String(); got != to.String() {
			t.Errorf("called %v, accepted at %s", to, got)
		}
		a.Close()
		c.Close()
		if !sees(s, "tcp", to, "HTTP GET metadata/latest/meta-data") {
			t.Errorf("the sniffer did not see %v among %v", to, s.Packets())
		}
	}
}

// sees reports whether a packet was sent to an address, and described so.
func sees(s *netns.Sniffer, proto string, to netip.AddrPort, what string) bool {
	for _, p := range s.Packets() {
		if p.Proto == proto && p.Dst == to && strings.HasSuffix(p.String(), what) {
			return true
		}
	}
	return false
}

func TestPacketsAreAnsweredFromTheAddressTheyWereSentTo(t *testing.T) {
	l := netlab.Need(t)
	pc, err := l.ListenPacket("udp", ":3478")
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	s := sniff(t, l)
	for _, ip := range addresses(t, l) {
		to := netip.AddrPortFrom(ip, 3478)
		// A connected socket only takes packets from its peer.
		c, err := net.Dial("udp", to.String())
		if err != nil {
			t.Errorf("dial %v: %v", to, err)
			continue
		}
		io.WriteString(c, "ahoy")
		buf := make([]byte, 100)
		n, from, at, err := pc.ReadPacket(buf)
		if err != nil || string(buf[:n]) != "ahoy" || at != to || from.String() != c.LocalAddr().String() {
			t.Errorf("packet %q from %v at %v, %v; want one from %v at %v", buf[:n], from, at, err, c.LocalAddr(), to)
		}
		if err := pc.WritePacket([]byte("aye"), at, from); err != nil {
			t.Errorf("answer to %v: %v", from, err)
		}
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if n, err := c.Read(buf); string(buf[:n]) != "aye" || err != nil {
			t.Errorf("answer %q, %v", buf[:n], err)
		}
		c.Close()
		if !sees(s, "udp", to, ": 4 bytes: 61686f79") {
			t.Errorf("the sniffer did not see %v", to)
		}
	}
}

func TestWithoutAListenerTheSnifferStillSees(t *testing.T) {
	l := netlab.Need(t)
	s := sniff(t, l)
	_, err := net.DialTimeout("tcp", "169.254.169.254:81", 5*time.Second)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial: %v, want connection refused", err)
	}
	var got []string
	for _, p := range s.Packets() {
		got = append(got, fmt.Sprint(p.Proto, " ", p.Src.Addr(), " ", p.Dst, " ", p.Flags))
	}
	if diff := cmp.Diff([]string{"tcp 192.168.77.2 169.254.169.254:81 S"}, got); diff != "" {
		t.Errorf("packets (-want +got):\n%s", diff)
	}
}

func TestNothingIsSentUnasked(t *testing.T) {
	l := netlab.Need(t)
	s := sniff(t, l)
	// A sleep, because the absence of packets is what is waited for: the
	// kernel's own chatter about a new interface comes within a second.
	time.Sleep(1200 * time.Millisecond)
	if p := s.Packets(); len(p) != 0 {
		t.Errorf("packets %v", p)
	}
}

func TestLoopbackStaysNear(t *testing.T) {
	l := netlab.Need(t)
	s := sniff(t, l)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if p := s.Packets(); len(p) != 0 {
		t.Errorf("packets %v", p)
	}
}

func TestLoopbackIsSniffedOnce(t *testing.T) {
	l := netlab.Need(t)
	s, err := l.SniffLoopback()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	c, err := net.Dial("udp", pc.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "to myself")
	if n, _, err := pc.ReadFrom(make([]byte, 100)); n != 9 || err != nil {
		t.Fatal(n, err)
	}
	var got []string
	for _, p := range s.Packets() {
		if p.Dst.String() == pc.LocalAddr().String() {
			got = append(got, p.Proto+" "+string(p.Data))
		}
	}
	if diff := cmp.Diff([]string{"udp to myself"}, got); diff != "" {
		t.Errorf("packets (-want +got):\n%s", diff)
	}
}

func TestMulticastIsSeen(t *testing.T) {
	l := netlab.Need(t)
	s := sniff(t, l)
	group := &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251), Port: 5353}
	eth0, err := net.InterfaceByName("eth0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.ListenMulticastUDP("udp4", eth0, group)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.WriteTo([]byte("who is there"), group); err != nil {
		t.Fatal(err)
	}
	if !sees(s, "udp", netip.MustParseAddrPort("224.0.0.251:5353"), "77686f206973207468657265") {
		t.Errorf("no multicast packet among %v", s.Packets())
	}
	var igmp bool
	for range 100 {
		for _, p := range s.Packets() {
			igmp = igmp || p.Proto == "igmp"
		}
		if igmp {
			return
		}
		time.Sleep(10 * time.Millisecond) // the kernel delays the report
	}
	t.Errorf("no IGMP report among %v", s.Packets())
}

func TestOnlyTheLabsInterfacesExist(t *testing.T) {
	netlab.Need(t)
	ifs, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range ifs {
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			if ip := a.(*net.IPNet).IP; ip.To4() != nil {
				got = append(got, i.Name+" "+ip.String())
			}
		}
		// Kernels may add unusable devices of their own (sit0, ifb0).
		if i.Flags&net.FlagUp != 0 && i.Name != "lo" && i.Name != "eth0" {
			t.Errorf("interface %s is up", i.Name)
		}
	}
	if diff := cmp.Diff([]string{"lo 127.0.0.1", "eth0 192.168.77.2"}, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestNamesResolveInTheLab(t *testing.T) {
	l := netlab.Need(t)
	d, err := l.ServeDNS(func(name string) []netip.Addr {
		switch name {
		case "secret.evil.test":
			return []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00:ec2::254")}
		case "empty.test":
			return []netip.Addr{}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got, err := net.DefaultResolver.LookupNetIP(ctx, "ip", "Secret.evil.test")
	if err != nil || len(got) != 2 {
		t.Errorf("Secret.evil.test = %v, %v", got, err)
	}
	for _, name := range []string{"nobody.test.", "empty.test."} {
		var dns *net.DNSError
		if got, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name); !errors.As(err, &dns) || !dns.IsNotFound {
			t.Errorf("%s = %v, %v", name, got, err)
		}
	}
	asked := map[string]bool{}
	for _, q := range d.Queries() {
		if q.Server != netip.AddrPortFrom(netns.DNSServer, 53) {
			t.Errorf("%s was asked of %v, want %v", q.Name, q.Server, netns.DNSServer)
		}
		asked[q.Name+" "+q.Type] = true
	}
	for _, want := range []string{"Secret.evil.test A", "Secret.evil.test AAAA", "nobody.test A"} {
		if !asked[want] {
			t.Errorf("nobody asked for %s, only %v", want, asked)
		}
	}
}

func TestACanaryWatchesTheLab(t *testing.T) {
	l := netlab.Need(t)
	canary := testweb.NewCanary(t)
	ln, err := l.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	canary.Watch(ln)
	pc, err := l.ListenPacket("udp", ":19302")
	if err != nil {
		t.Fatal(err)
	}
	canary.WatchPackets(pc)

	res, err := http.Get("http://169.254.169.254/latest/meta-data")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	c, err := net.Dial("udp", "10.0.0.1:19302")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "\x00\x01\x00\x00\x21\x12\xa4\x42transaction!")
	c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Read(make([]byte, 100)); err != nil {
		t.Errorf("no answer to STUN: %v", err)
	}
	var got []string
	for _, h := range canary.Hits() {
		got = append(got, fmt.Sprint(h.Net, " ", h.To, " ", h.What))
	}
	want := []string{
		"tcp 169.254.169.254:80 HTTP GET 169.254.169.254/latest/meta-data",
		"udp 10.0.0.1:19302 STUN binding request",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}

func TestErrorsKeepTheirCause(t *testing.T) {
	l := netlab.Need(t)
	ln, err := l.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, err := l.Listen("tcp", ":80"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("second listener: %v, want address in use", err)
	}
	if _, err := l.ListenPacket("udp", "no port"); err == nil {
		t.Error("a listener without a port")
	}
}

func TestTheTestsKeepTheirIdentity(t *testing.T) {
	netlab.Need(t)
	if _, ok := os.LookupEnv("BELLGLASS_NETNS"); ok {
		t.Error("the stage is still in the environment")
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		switch {
		case key == "CapAmb" && value != "0000000000000000",
			key == "CapEff" && os.Getuid() != 0 && value != "0000000000000000":
			t.Errorf("uid %d has capabilities: %s %s", os.Getuid(), key, value)
		}
	}
}
