package netns

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// Query is one question that somebody asked.
type Query struct {
	Name   string // without the final dot
	Type   string // "A", "AAAA", "HTTPS" …
	Server netip.AddrPort
}

// DNS is a name server in the far namespace. It answers at every address.
type DNS struct {
	pc   *PacketConn
	done chan struct{}

	mu      sync.Mutex
	queries []Query
}

// ServeDNS starts a name server on UDP port 53. For A and AAAA questions,
// answer returns the addresses of a lower-case name without final dot, or nil
// when the name does not exist. Questions of other types have no answer. With
// a nil answer no name exists. The caller closes it.
func (l *Lab) ServeDNS(answer func(name string) []netip.Addr) (*DNS, error) {
	pc, err := l.ListenPacket("udp", ":53")
	if err != nil {
		return nil, err
	}
	d := &DNS{pc: pc, done: make(chan struct{})}
	go d.serve(answer)
	return d, nil
}

// Queries returns the questions so far, in order.
func (d *DNS) Queries() []Query {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.queries)
}

// Close ends the service.
func (d *DNS) Close() error {
	err := d.pc.Close()
	<-d.done
	return err
}

func (d *DNS) serve(answer func(string) []netip.Addr) {
	defer close(d.done)
	buf := make([]byte, 64<<10)
	for {
		n, from, to, err := d.pc.ReadPacket(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // such as an ICMP error for an earlier reply
		}
		q, r, err := reply(buf[:n], answer)
		if err != nil {
			continue
		}
		q.Server = to
		d.mu.Lock()
		d.queries = append(d.queries, q)
		d.mu.Unlock()
		d.pc.WritePacket(r, to, from)
	}
}

// reply makes the response to the first question of a query.
func reply(b []byte, answer func(string) []netip.Addr) (Query, []byte, error) {
	var p dnsmessage.Parser
	h, err := p.Start(b)
	if err != nil {
		return Query{}, nil, err
	}
	question, err := p.Question()
	if err != nil {
		return Query{}, nil, err
	}
	q := Query{
		Name: strings.TrimSuffix(question.Name.String(), "."),
		Type: strings.TrimPrefix(question.Type.String(), "Type"),
	}
	var addrs []netip.Addr
	if answer != nil {
		addrs = answer(strings.ToLower(q.Name))
	}
	m := dnsmessage.Message{
		Header: dnsmessage.Header{
			ID: h.ID, Response: true, RecursionDesired: h.RecursionDesired, RecursionAvailable: true,
		},
		Questions: []dnsmessage.Question{question},
	}
	if addrs == nil {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, ip := range addrs {
		rr := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET}
		switch {
		case question.Type == dnsmessage.TypeA && ip.Is4():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: rr, Body: &dnsmessage.AResource{A: ip.As4()}})
		case question.Type == dnsmessage.TypeAAAA && ip.Is6():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: rr, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
		}
	}
	r, err := m.Pack()
	return q, r, err
}
