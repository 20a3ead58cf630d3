package testweb

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/bellglass/bellglass/internal/wire"
)

// Canary listens on one port of loopback, over TCP and UDP, IPv4 and (where
// the machine has it) IPv6, and notes whatever arrives. A test that seals a
// browser asserts that nothing did; its negative control, that something did.
//
// It answers, so that a page can tell success too: HTTP requests with 200 and
// permission to read the answer, STUN binding requests with the client's
// address.
type Canary struct {
	port uint16
	wg   sync.WaitGroup
	hits journal[CanaryHit]

	mu      sync.Mutex
	closed  bool
	closers map[io.Closer]struct{} // listeners and connections
}

// Packets is a UDP socket that tells to which address a packet was sent, such
// as the PacketConn of package netlab.
type Packets interface {
	ReadPacket(b []byte) (n int, from, to netip.AddrPort, err error)
	WritePacket(b []byte, from, to netip.AddrPort) error
	Close() error
}

// CanaryHit is one connection or one packet.
type CanaryHit struct {
	Time  time.Time
	Net   string // "tcp" or "udp"
	To    netip.AddrPort
	From  netip.AddrPort
	What  string // what the first bytes look like; "nothing" before they come
	Bytes []byte // the first bytes, at most 2,048
}

func (h CanaryHit) String() string {
	return fmt.Sprintf("%s %v -> %v: %s", h.Net, h.From, h.To, h.What)
}

// canaryBytes is how much of a connection a canary reads.
const canaryBytes = 2048

// NewCanary starts a Canary that is closed when the test ends.
func NewCanary(tb TB) *Canary {
	tb.Helper()
	c, err := StartCanary()
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(c.Close)
	return c
}

// StartCanary starts a Canary outside a test. The caller must Close it.
func StartCanary() (*Canary, error) {
	// Four listeners must agree on a port that is free for each: try a few.
	var err error
	for range 20 {
		c := &Canary{closers: make(map[io.Closer]struct{})}
		if err = c.listen(); err == nil {
			return c, nil
		}
		c.Close()
	}
	return nil, fmt.Errorf("testweb: canary: %w", err)
}

func (c *Canary) listen() error {
	for _, ip := range []string{"127.0.0.1", "::1"} {
		addr := net.JoinHostPort(ip, strconv.Itoa(int(c.port)))
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			if ip == "::1" && !hasIPv6() {
				return nil
			}
			return err
		}
		c.Watch(ln)
		at := ln.Addr().(*net.TCPAddr).AddrPort()
		c.port = at.Port()
		pc, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		if err != nil {
			return err
		}
		c.WatchPackets(loopbackPackets{pc, at})
	}
	return nil
}

// Watch makes the canary note, and answer, what arrives at a further listener,
// such as one of a netlab. The listener is closed with the canary.
func (c *Canary) Watch(ln net.Listener) {
	if c.adopt(ln) {
		c.wg.Go(func() { c.accept(ln) })
	}
}

// WatchPackets does the same for a socket.
func (c *Canary) WatchPackets(pc Packets) {
	if c.adopt(pc) {
		c.wg.Go(func() { c.receive(pc) })
	}
}

// adopt remembers what [Canary.Close] has to close, and closes it at once when
// that has happened already.
func (c *Canary) adopt(x io.Closer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		x.Close()
		return false
	}
	c.closers[x] = struct{}{}
	return true
}

func (c *Canary) disown(x io.Closer) {
	x.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.closers, x)
}

// hasIPv6 tells a machine without IPv6 from one whose port is taken.
func hasIPv6() bool {
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return false
	}
	ln.Close()
	return true
}

// Port is the port of all its listeners.
func (c *Canary) Port() int { return int(c.port) }

// HostPort is "127.0.0.1:port".
func (c *Canary) HostPort() string { return "127.0.0.1:" + strconv.Itoa(int(c.port)) }

// URL is "http://127.0.0.1:port/".
func (c *Canary) URL() string { return "http://" + c.HostPort() + "/" }

// Hits returns what arrived so far, oldest first.
func (c *Canary) Hits() []CanaryHit { return c.hits.all(nil) }

// Wait returns the first hit that match accepts, past or future. A connection
// is a hit from the moment it is made, and matched again when it speaks. Wait
// returns false when ctx ends first.
func (c *Canary) Wait(ctx context.Context, match func(CanaryHit) bool) (CanaryHit, bool) {
	return c.hits.wait(ctx, match)
}

// Close ends all connections and returns when no goroutine is left. It may be
// called more than once.
func (c *Canary) Close() {
	c.mu.Lock()
	c.closed = true
	for x := range c.closers {
		x.Close()
	}
	c.mu.Unlock()
	c.wg.Wait()
}

func (c *Canary) accept(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // such as a client that left in the queue
		}
		if !c.adopt(conn) {
			return
		}
		c.wg.Go(func() { c.serve(conn) })
	}
}

// serve notes a connection and its first bytes, and answers HTTP.
func (c *Canary) serve(conn net.Conn) {
	defer c.disown(conn)
	i := c.hits.add(CanaryHit{
		Time: time.Now(), Net: "tcp", What: wire.Describe(nil),
		To: plain(conn.LocalAddr()), From: plain(conn.RemoteAddr()),
	})
	buf := make([]byte, canaryBytes)
	for n := 0; n < len(buf); {
		k, err := conn.Read(buf[n:])
		n += k
		if k > 0 {
			first := bytes.Clone(buf[:n])
			c.hits.edit(i, func(h *CanaryHit) { h.Bytes, h.What = first, wire.Describe(first) })
		}
		if r, perr := http.ReadRequest(bufio.NewReader(bytes.NewReader(buf[:n]))); perr == nil {
			answer(conn, r)
			return
		}
		if err != nil {
			return
		}
	}
}

// plain is a TCP address, without the IPv6 form that a listener of both
// versions gives to IPv4.
func plain(a net.Addr) netip.AddrPort {
	ap := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// answer lets any page read that it got through.
func answer(conn net.Conn, r *http.Request) {
	const body = "the canary was reached\n"
	origin := r.Header.Get("Origin")
	if origin == "" {
		origin = "*"
	}
	fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nAccess-Control-Allow-Origin: %s\r\nAccess-Control-Allow-Private-Network: true\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", origin, len(body), body)
}

func (c *Canary) receive(pc Packets) {
	buf := make([]byte, 64<<10)
	for {
		n, from, to, err := pc.ReadPacket(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // such as an ICMP error for an earlier answer
		}
		c.hits.add(CanaryHit{
			Time: time.Now(), Net: "udp", To: to, From: from,
			What: wire.Describe(buf[:n]), Bytes: bytes.Clone(buf[:min(n, canaryBytes)]),
		})
		if a := wire.AnswerSTUN(buf[:n], from); a != nil {
			pc.WritePacket(a, to, from)
		}
	}
}

// loopbackPackets are those of a socket that has one address.
type loopbackPackets struct {
	*net.UDPConn
	at netip.AddrPort
}

func (p loopbackPackets) ReadPacket(b []byte) (n int, from, to netip.AddrPort, err error) {
	n, from, err = p.ReadFromUDPAddrPort(b)
	return n, from, p.at, err
}

func (p loopbackPackets) WritePacket(b []byte, _, to netip.AddrPort) error {
	_, err := p.WriteToUDPAddrPort(b, to)
	return err
}
