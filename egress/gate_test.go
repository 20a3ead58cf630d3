package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/bellglass/bellglass/policy"
)

// public are rules that every public name passes.
func public(t *testing.T) *policy.Rules {
	return mustRules(t, policy.Config{Mode: policy.ModePublic, AllowInsecureHTTP: true})
}

// TestOneBadAnswerRefusesAll: DNS-003, DNS-004, DNS-007, DNS-009 and IP-088
// among others. Not even the good answer is dialed.
func TestOneBadAnswerRefusesAll(t *testing.T) {
	for _, tt := range []struct {
		id      string
		answers []string
		want    policy.Reason
	}{
		{"control", []string{"93.184.215.14", "2a00:1450:4001:80b::200e"}, ""},
		{"DNS-003", []string{"93.184.215.14", "10.0.0.5"}, policy.ReasonAddress},
		{"DNS-004", []string{"10.0.0.5", "93.184.215.14"}, policy.ReasonAddress},
		{"DNS-007", []string{"93.184.215.14", "::1"}, policy.ReasonAddress},
		{"DNS-009", []string{"127.0.0.1"}, policy.ReasonAddress},
		{"IP-024", []string{"169.254.169.254"}, policy.ReasonAddress},
		{"IP-031", []string{"168.63.129.16"}, policy.ReasonAddress},
		{"IP-050", []string{"::ffff:169.254.169.254"}, policy.ReasonAddress},
		{"mapped public", []string{"::ffff:93.184.215.14"}, policy.ReasonAddress},
		{"IP-057", []string{"64:ff9b::a9fe:a9fe"}, policy.ReasonAddress},
		{"IP-060", []string{"2002:7f00:1::"}, policy.ReasonAddress},
		{"zone", []string{"2a00:1450:4001:80b::200e%eth0"}, policy.ReasonAddress},
		{"DNS-039 IP-088", []string{"93.184.216.34"}, policy.ReasonAddress},
		{"nothing", nil, ReasonDNS},
	} {
		var dialed []netip.AddrPort
		g := &Gate{
			Resolve: func(context.Context, string) (addrs []netip.Addr, _ error) {
				for _, a := range tt.answers {
					addrs = append(addrs, netip.MustParseAddr(a))
				}
				return addrs, nil
			},
			Dial: func(_ context.Context, ap netip.AddrPort) (net.Conn, error) {
				dialed = append(dialed, ap)
				c, _ := net.Pipe()
				return c, nil
			},
			OwnAddrs: func() ([]netip.Addr, error) { return []netip.Addr{addrEvil}, nil },
		}
		c, err := g.Connect(t.Context(), public(t), policy.Host{Name: "name.test"}, 443)
		reason, what := reasonOf(err)
		if reason != tt.want || (tt.want == "") != (len(dialed) == 1) || (c != nil) != (tt.want == "") {
			t.Errorf("%s %v: got %q, dialed %v; want %q", tt.id, tt.answers, reason, dialed, tt.want)
		}
		for _, a := range tt.answers {
			if tt.want != "" && (strings.Contains(what, a) || strings.Contains(err.Error(), a)) {
				t.Errorf("%s: %v tells the address", tt.id, err)
			}
		}
	}
}

// TestRebinding: DNS-001, DNS-002. One look-up per connection, and the address
// that was judged is the one that is dialed.
func TestRebinding(t *testing.T) {
	answers := []netip.Addr{addrAllowed, netip.MustParseAddr("127.0.0.1"), addrAllowed}
	lookups := 0
	var dialed []netip.Addr
	g := &Gate{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			lookups++
			return answers[lookups-1 : lookups], nil
		},
		Dial: func(_ context.Context, ap netip.AddrPort) (net.Conn, error) {
			dialed = append(dialed, ap.Addr())
			c, _ := net.Pipe()
			return c, nil
		},
	}
	for i, want := range []policy.Reason{"", policy.ReasonAddress, ""} {
		_, err := g.Connect(t.Context(), public(t), policy.Host{Name: "rebind.test"}, 443)
		if got, _ := reasonOf(err); got != want || lookups != i+1 {
			t.Errorf("connection %d: got %q after %d look-ups, want %q", i+1, got, lookups, want)
		}
	}
	if want := []netip.Addr{addrAllowed, addrAllowed}; !slices.Equal(dialed, want) {
		t.Errorf("dialed %v, want %v", dialed, want)
	}
}

// TestNoLookUpBeforeTheNameRules: DNS-033 for the Gate on its own.
func TestNoLookUpBeforeTheNameRules(t *testing.T) {
	g := &Gate{Resolve: func(context.Context, string) ([]netip.Addr, error) {
		t.Error("looked up")
		return nil, nil
	}}
	r := mustRules(t, allowed())
	for _, h := range []policy.Host{{Name: "secret.attacker.test"}, {Name: "localhost"}, {}, {Addr: netip.MustParseAddr("127.0.0.1")}} {
		if _, err := g.Connect(t.Context(), r, h, 443); err == nil {
			t.Errorf("%v: connected", h)
		}
	}
	if _, err := g.Connect(t.Context(), nil, policy.Host{Name: "allowed.test"}, 443); err == nil {
		t.Error("connected without rules")
	}
}

// TestDialerJudgesAgain gives the real dialer an address that was never
// judged. The control shows that it dials what was.
func TestDialerJudgesAgain(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	at := ln.Addr().(*net.TCPAddr).AddrPort()
	g := new(Gate)
	_, err = g.dialOne(t.Context(), public(t), policy.Host{Name: "name.test"}, at)
	var refusal *policy.Refusal
	if !errors.As(dialError(err), &refusal) || refusal.Reason != policy.ReasonAddress {
		t.Errorf("loopback, not judged: got %v", err)
	}
	r := mustRules(t, policy.Config{Mode: policy.ModePublic, UnsafeAllow: []string{at.String()}})
	c, err := g.Connect(t.Context(), r, policy.Host{Addr: at.Addr()}, at.Port())
	if err != nil {
		t.Fatalf("control: %v", err)
	}
	c.Close()
}

// TestUnknownOwnAddressesFailClosed: who cannot tell its own addresses cannot
// tell that this is none of them.
func TestUnknownOwnAddressesFailClosed(t *testing.T) {
	g := &Gate{
		Resolve:  func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{addrAllowed}, nil },
		Dial:     func(context.Context, netip.AddrPort) (net.Conn, error) { t.Error("dialed"); return nil, nil },
		OwnAddrs: func() ([]netip.Addr, error) { return nil, errors.New("no netlink") },
	}
	if _, err := g.Connect(t.Context(), public(t), policy.Host{Name: "name.test"}, 443); err == nil {
		t.Error("connected")
	}
}

func TestInterfaceAddrsHoldLoopback(t *testing.T) {
	addrs, err := interfaceAddrs()
	if err != nil || !slices.Contains(addrs, netip.MustParseAddr("127.0.0.1")) {
		t.Errorf("got %v, %v", addrs, err)
	}
}

// dnsServer answers over UDP on loopback and remembers what it was asked.
type dnsServer struct {
	addr  netip.AddrPort
	mu    sync.Mutex
	asked []string
}

// newDNSServer calls answer for each question. It may return several messages,
// which are sent in turn.
func newDNSServer(t *testing.T, answer func(q dnsmessage.Message) []dnsmessage.Message) *dnsServer {
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dnsServer{addr: pc.LocalAddr().(*net.UDPAddr).AddrPort()}
	var wg sync.WaitGroup
	t.Cleanup(func() { pc.Close(); wg.Wait() })
	wg.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			var q dnsmessage.Message
			if q.Unpack(buf[:n]) != nil || len(q.Questions) != 1 {
				continue
			}
			s.mu.Lock()
			s.asked = append(s.asked, q.Questions[0].Name.String())
			s.mu.Unlock()
			for _, m := range answer(q) {
				if b, err := m.Pack(); err == nil {
					pc.WriteTo(b, from)
				}
			}
		}
	})
	return s
}

// reply returns an answer to q with address records, of which only those of
// the kind that was asked for are put in.
func reply(q dnsmessage.Message, addrs ...netip.Addr) dnsmessage.Message {
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: q.ID, Response: true, RecursionAvailable: true}, Questions: q.Questions}
	for _, a := range addrs {
		h := dnsmessage.ResourceHeader{Name: q.Questions[0].Name, Type: q.Questions[0].Type, Class: dnsmessage.ClassINET}
		switch {
		case a.Is4() && h.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && h.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return m
}

// look resolves a name by way of a server and returns what would be judged.
func look(t *testing.T, s *dnsServer, name string) ([]netip.Addr, error) {
	t.Helper()
	g := &Gate{Servers: []netip.AddrPort{s.addr}}
	return g.lookup(t.Context(), policy.Host{Name: name})
}

func TestOwnServers(t *testing.T) {
	v6 := netip.MustParseAddr("2a00:1450:4001:80b::200e")
	s := newDNSServer(t, func(q dnsmessage.Message) []dnsmessage.Message {
		return []dnsmessage.Message{reply(q, addrAllowed, v6)}
	})
	addrs, err := look(t, s, "foo.test")
	slices.SortFunc(addrs, netip.Addr.Compare)
	if err != nil || !slices.Equal(addrs, []netip.Addr{addrAllowed, v6}) {
		t.Errorf("got %v, %v", addrs, err)
	}
	for _, a := range addrs {
		if a.Is4In6() {
			t.Errorf("%v would be refused as mapped", a)
		}
	}
}

// TestSearchListIsNotUsed: DNS-031. That of the system, in a network that has
// one, is in the tests of the library.
func TestSearchListIsNotUsed(t *testing.T) {
	s := newDNSServer(t, func(q dnsmessage.Message) []dnsmessage.Message {
		m := reply(q)
		m.RCode = dnsmessage.RCodeNameError
		return []dnsmessage.Message{m}
	})
	if addrs, err := look(t, s, "foo.test"); err == nil {
		t.Errorf("got %v", addrs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.asked {
		if name != "foo.test." {
			t.Errorf("asked for %s", name)
		}
	}
	if len(s.asked) == 0 {
		t.Error("asked for nothing")
	}
}

// TestTooManyAnswersAreRefused: DNS-036.
func TestTooManyAnswersAreRefused(t *testing.T) {
	var many []netip.Addr
	for i := range 4000 {
		many = append(many, netip.AddrFrom4([4]byte{93, 184, byte(i >> 8), byte(i)}))
	}
	g := &Gate{Resolve: func(context.Context, string) ([]netip.Addr, error) { return many, nil }}
	if addrs, err := g.lookup(t.Context(), policy.Host{Name: "many.test"}); err == nil {
		t.Errorf("got %d addresses", len(addrs))
	}
}

// TestForgedAnswersAreIgnored: DNS-037. The right answer comes last.
func TestForgedAnswersAreIgnored(t *testing.T) {
	evil := netip.MustParseAddr("203.0.113.66")
	s := newDNSServer(t, func(q dnsmessage.Message) []dnsmessage.Message {
		wrongID := reply(q, evil)
		wrongID.ID++
		wrongName := reply(q, evil)
		wrongName.Questions = []dnsmessage.Question{{Name: dnsmessage.MustNewName("other.test."), Type: q.Questions[0].Type, Class: dnsmessage.ClassINET}}
		question := reply(q, evil)
		question.Response = false
		return []dnsmessage.Message{wrongID, wrongName, question, reply(q, addrAllowed)}
	})
	if addrs, err := look(t, s, "foo.test"); err != nil || !slices.Equal(addrs, []netip.Addr{addrAllowed}) {
		t.Errorf("got %v, %v", addrs, err)
	}
}

// TestEndlessAliasesAreRefused: DNS-006.
func TestEndlessAliasesAreRefused(t *testing.T) {
	s := newDNSServer(t, func(q dnsmessage.Message) []dnsmessage.Message {
		m := reply(q)
		for i := range 9 {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(fmt.Sprintf("a%d.test.", i)), Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(fmt.Sprintf("a%d.test.", i+1))},
			})
		}
		return []dnsmessage.Message{m}
	})
	_, err := look(t, s, "a0.test")
	if reason, _ := reasonOf(err); reason != ReasonDNS {
		t.Errorf("got %v", err)
	}
}

// TestCachedAnswersAreJudgedOnEveryUse: DNS-038. A cached answer is no pass.
func TestCachedAnswersAreJudgedOnEveryUse(t *testing.T) {
	var answer atomic.Pointer[netip.Addr]
	answer.Store(&addrAllowed)
	s := newDNSServer(t, func(q dnsmessage.Message) []dnsmessage.Message { return []dnsmessage.Message{reply(q, *answer.Load())} })
	var own []netip.Addr
	g := &Gate{
		Servers:  []netip.AddrPort{s.addr},
		Dial:     func(context.Context, netip.AddrPort) (net.Conn, error) { c, _ := net.Pipe(); return c, nil },
		OwnAddrs: func() ([]netip.Addr, error) { return own, nil },
	}
	try := func() policy.Reason {
		_, err := g.Connect(t.Context(), public(t), policy.Host{Name: "foo.test"}, 443)
		reason, _ := reasonOf(err)
		return reason
	}
	if got := try(); got != "" {
		t.Fatalf("first: %s", got)
	}
	own = []netip.Addr{addrAllowed} // the address becomes ours while it is cached
	g.own.read = g.own.read.Add(-ownRefresh)
	if got := try(); got != policy.ReasonAddress {
		t.Errorf("cached answer, judged anew: %s", got)
	}
	own = nil
	private := netip.MustParseAddr("10.0.0.1")
	answer.Store(&private)
	g.own.read = g.own.read.Add(-ownRefresh)
	g.cache.answers["foo.test"].expires = g.cache.answers["foo.test"].expires.Add(-cacheFound)
	if got := try(); got != policy.ReasonAddress {
		t.Errorf("expired, now private: %s", got)
	}
}
