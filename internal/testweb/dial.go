package testweb

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"
)

// Dial is one attempt to connect.
type Dial struct {
	Time time.Time
	To   netip.AddrPort
	Site string // the name that owns the address, "" when nobody does
	// Refused says that nothing listens there. An attempt to reach an
	// address outside the small internet is refused, never made.
	Refused bool
}

func (d Dial) String() string {
	s := d.To.String()
	if d.Site != "" {
		s += " (" + d.Site + ")"
	}
	if d.Refused {
		s += " refused"
	}
	return s
}

// Dial connects to an address of the small internet. The connection's
// RemoteAddr is that address; its other methods are those of *net.TCPConn.
// Every other address refuses the connection, and [Web.Dialed] tells of it.
func (w *Web) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	local, black := w.route(to)
	if black {
		<-ctx.Done()
		return nil, dialError(to, ctx.Err())
	}
	if local == "" {
		return nil, dialError(to, os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", local)
	if err != nil {
		return nil, err
	}
	return &dialedConn{c.(*net.TCPConn), net.TCPAddrFromAddrPort(to)}, nil
}

// route notes the attempt and finds the loopback listener behind an address.
func (w *Web) route(to netip.AddrPort) (local string, black bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := Dial{Time: time.Now(), To: to}
	addr := to.Addr().Unmap()
	if s := w.byAddr[addr]; s != nil {
		d.Site = s.name
		local = s.ports[to.Port()]
	}
	black = w.black[addr]
	d.Refused = local == "" && !black
	w.dialed = append(w.dialed, d)
	return local, black
}

// Blackhole makes every port of an address silent: an attempt to connect
// lasts until its context ends.
func (w *Web) Blackhole(addr netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.black[addr.Unmap()] = true
}

// Dialed returns every attempt to connect so far, in order.
func (w *Web) Dialed() []Dial {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dialed)
}

// DialContext is Resolve and Dial in one, in the form of http.Transport's
// field of that name: how an unsealed Go client uses the small internet.
func (w *Web) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("testweb: dial: %w", err)
	}
	n, err := net.LookupPort("tcp", port)
	if err != nil {
		return nil, fmt.Errorf("testweb: dial: %w", err)
	}
	addrs, err := w.Resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return w.Dial(ctx, netip.AddrPortFrom(addrs[0], uint16(n)))
}

func dialError(to netip.AddrPort, err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to), Err: err}
}

// dialedConn is a loopback connection that names the address it stands for.
type dialedConn struct {
	*net.TCPConn
	remote net.Addr
}

func (c *dialedConn) RemoteAddr() net.Addr { return c.remote }
