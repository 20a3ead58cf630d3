package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/bellglass/bellglass/policy"
)

const (
	defaultDNSTimeout  = 5 * time.Second
	defaultDialTimeout = 10 * time.Second

	// maxAnswers is the most addresses a name may have. The largest honest
	// answers seen hold a few dozen.
	maxAnswers = 128

	// maxDials is the most of a name's addresses that are tried.
	maxDials = 8

	// dialStagger is the Connection Attempt Delay of RFC 8305 section 8.
	dialStagger = 250 * time.Millisecond
)

// Gate connects to hosts that a run's rules allow. It resolves a name once,
// judges every address it got, one bad address refusing all, and dials one of
// those very addresses, so that a name that changes its mind gains nothing.
//
// The zero value is ready to use, with the system's resolver and dialer. A
// Gate may be shared by any number of runs, and must not be copied or changed
// after first use.
type Gate struct {
	// Resolve, if not nil, replaces the resolver. It must return every A
	// and AAAA address of host, a lower-case ASCII name without trailing
	// dot, and should return when ctx ends. Its answers are judged like all
	// others and are not cached.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	// Servers are the DNS servers to ask. If empty, the system decides.
	// Unused with Resolve.
	Servers []netip.AddrPort

	// Dial, if not nil, replaces the dialer. It is given an address that
	// passed judgement.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)

	// Foreign, if not nil, is somebody else's proxy that makes the
	// connections, except those to addresses that the rules open as unsafe,
	// which are local by nature. It is asked for addresses that passed
	// judgement, and Dial is then not.
	Foreign *Foreign

	// DNSTimeout and DialTimeout bound one look-up and all dials of one
	// connection. If zero, 5 and 10 seconds.
	DNSTimeout, DialTimeout time.Duration

	// OwnAddrs, if not nil, replaces the list of this machine's interface
	// addresses, which are refused even where they are public: a service
	// bound to all interfaces answers there.
	OwnAddrs func() ([]netip.Addr, error)

	cache cache
	own   ownAddrs
}

// route is how a connection came about.
type route struct {
	class     policy.Class // of the address dialed, or of the one refused
	addr      netip.Addr   // dialed; invalid through a gateway
	dns, dial time.Duration
}

// Connect returns a TCP connection to host and port, if r allows it. The error
// is a [*policy.Refusal] or an [*Error]. The rules on schemes are the caller's
// to check ([policy.Rules.CheckURL] or [policy.Rules.CheckConnect]); Connect
// knows only host and port.
func (g *Gate) Connect(ctx context.Context, r *policy.Rules, host policy.Host, port uint16) (net.Conn, error) {
	if err := r.CheckConnect(host, port, true); err != nil && r.CheckConnect(host, port, false) != nil {
		return nil, err
	}
	c, _, err := g.connect(ctx, r, host, port)
	return c, err
}

// connect is Connect for a host and port that already passed the name rules.
func (g *Gate) connect(ctx context.Context, r *policy.Rules, host policy.Host, port uint16) (net.Conn, route, error) {
	var rt route
	start := time.Now()
	addrs, err := g.lookup(ctx, host)
	rt.dns = time.Since(start)
	if err != nil {
		return nil, rt, err
	}
	for _, a := range addrs {
		class, err := g.judge(r, host, a, port)
		if err != nil {
			rt.class = class
			return nil, rt, err
		}
	}
	rt.class = policy.Classify(addrs[0])
	start = time.Now()
	c, addr, err := g.dialAny(ctx, r, host, addrs, port)
	rt.addr = addr
	rt.dial = time.Since(start)
	return c, rt, err
}

// judge is the verdict on one address, and its class.
func (g *Gate) judge(r *policy.Rules, host policy.Host, a netip.Addr, port uint16) (policy.Class, error) {
	class := policy.Classify(a)
	if err := r.CheckAddr(host, a, port); err != nil {
		return class, err
	}
	if r.Unsafe(host, port) {
		return class, nil
	}
	own, err := g.own.has(a, g.OwnAddrs)
	if err != nil {
		return class, &Error{Reason: ReasonConnection, What: "cannot tell this machine's own addresses", Err: err}
	}
	if own {
		return policy.ClassOwnInterface, &policy.Refusal{Reason: policy.ReasonAddress, What: string(policy.ClassOwnInterface) + " address"}
	}
	return class, nil
}

// dialAny dials the addresses until one answers, the next when one has failed
// or is late.
func (g *Gate) dialAny(ctx context.Context, r *policy.Rules, host policy.Host, addrs []netip.Addr, port uint16) (net.Conn, netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, or(g.DialTimeout, defaultDialTimeout))
	defer cancel()
	if len(addrs) == 1 {
		c, err := g.dialOne(ctx, r, host, netip.AddrPortFrom(addrs[0], port))
		return c, addrs[0], dialError(err)
	}
	addrs = interleave(addrs)
	if len(addrs) > maxDials {
		addrs = addrs[:maxDials]
	}
	type result struct {
		c    net.Conn
		addr netip.Addr
		err  error
	}
	results := make(chan result)
	var (
		won     result
		errs    []error
		next    int
		pending int
	)
	late := time.NewTimer(0)
	defer late.Stop()
	for won.c == nil && (pending > 0 || next < len(addrs)) {
		select {
		case <-late.C:
			if next == len(addrs) || ctx.Err() != nil {
				next = len(addrs)
				break
			}
			ap := netip.AddrPortFrom(addrs[next], port)
			next++
			pending++
			go func() {
				c, err := g.dialOne(ctx, r, host, ap)
				results <- result{c, ap.Addr(), err}
			}()
			late.Reset(dialStagger)
		case res := <-results:
			pending--
			if res.err == nil {
				won = res
			} else {
				errs = append(errs, res.err)
				late.Reset(0)
			}
		}
	}
	cancel()
	for ; pending > 0; pending-- {
		if res := <-results; res.c != nil {
			res.c.Close()
		}
	}
	if won.c != nil {
		return won.c, won.addr, nil
	}
	return nil, netip.Addr{}, dialError(errors.Join(append(errs, ctx.Err())...))
}

// dialOne dials one address that was judged.
func (g *Gate) dialOne(ctx context.Context, r *policy.Rules, host policy.Host, ap netip.AddrPort) (net.Conn, error) {
	if g.Foreign != nil && !r.Unsafe(host, ap.Port()) {
		return g.Foreign.Dial(ctx, ap)
	}
	if g.Dial != nil {
		c, err := g.Dial(ctx, ap)
		if err == nil && c == nil {
			err = errors.New("egress: Dial returned neither connection nor error")
		}
		return c, err
	}
	d := net.Dialer{
		// What the kernel is asked for is judged once more: nothing
		// between judgement and here can have changed it unseen.
		Control: func(_, address string, _ syscall.RawConn) error {
			got, err := netip.ParseAddrPort(address)
			if err != nil || got != ap {
				return fmt.Errorf("egress: dialing %s instead of the judged address", address)
			}
			_, err = g.judge(r, host, got.Addr(), got.Port())
			return err
		},
	}
	return d.DialContext(ctx, "tcp", ap.String())
}

// dialError gives a failed dial its reason. A refusal by the Control hook
// stays a refusal.
func dialError(err error) error {
	if err == nil {
		return nil
	}
	var refusal *policy.Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	var failure *Error
	if errors.As(err, &failure) { // of a foreign proxy
		return failure
	}
	what := "connection failed"
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		what = "connection timed out"
	}
	return &Error{Reason: ReasonConnection, What: what, Err: err}
}

// interleave orders addresses by turns from either family, beginning with the
// family of the first (RFC 8305 section 4).
func interleave(addrs []netip.Addr) []netip.Addr {
	first := func(a netip.Addr) bool { return a.Is4() == addrs[0].Is4() }
	out := make([]netip.Addr, 0, len(addrs))
	var later []netip.Addr
	for _, a := range addrs {
		if !first(a) {
			later = append(later, a)
		}
	}
	for _, a := range addrs {
		if first(a) {
			out = append(out, a)
			if len(later) > 0 {
				out, later = append(out, later[0]), later[1:]
			}
		}
	}
	return append(out, later...)
}

// ownRefresh is how long a list of this machine's addresses is believed.
const ownRefresh = 5 * time.Second

// ownAddrs remembers the addresses of this machine's interfaces.
type ownAddrs struct {
	mu    sync.Mutex
	addrs []netip.Addr
	read  time.Time
}

func (o *ownAddrs) has(a netip.Addr, list func() ([]netip.Addr, error)) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.read.IsZero() || time.Since(o.read) >= ownRefresh {
		if list == nil {
			list = interfaceAddrs
		}
		addrs, err := list()
		if err != nil {
			return false, err
		}
		o.addrs, o.read = addrs, time.Now()
	}
	return slices.Contains(o.addrs, a), nil
}

func interfaceAddrs() ([]netip.Addr, error) {
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for _, n := range nets {
		if ipn, ok := n.(*net.IPNet); ok {
			if a, ok := netip.AddrFromSlice(ipn.IP); ok {
				out = append(out, a.Unmap())
			}
		}
	}
	return out, nil
}

// or returns v, or standard if v is zero.
func or[T comparable](v, standard T) T {
	var zero T
	if v == zero {
		return standard
	}
	return v
}
