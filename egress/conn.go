package egress

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// conn is one client connection. It is used by one goroutine, except for nc,
// which others may close.
type conn struct {
	e     *Endpoint
	nc    net.Conn
	br    *bufio.Reader // of nc; nil once a tunnel is past its first bytes
	bound bool
	lease *lease // nil if not bound, or bound to no run
	// serving is true from a request to the end of its answer. Guarded by
	// e.mu.
	serving bool
}

// run returns the run the connection belongs to, or nil.
func (c *conn) run() *Run {
	if c.lease == nil {
		return nil
	}
	return c.lease.run
}

// readers holds the buffers in which request heads are found.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxHeadSize) }}

func (c *conn) dropReader() {
	if c.br != nil {
		c.br.Reset(nil)
		readers.Put(c.br)
		c.br = nil
	}
}

// serve answers the requests of one client until it, the run or the proxy has
// had enough.
func (c *conn) serve() {
	defer func() {
		c.nc.Close()
		c.dropReader()
		if c.lease != nil {
			c.lease.wg.Done()
		}
		c.e.leave(c)
	}()
	c.br = readers.Get().(*bufio.Reader)
	c.br.Reset(c.nc)
	for {
		c.nc.SetReadDeadline(time.Now().Add(c.e.p.opts.KeepAlive))
		if _, err := c.br.Peek(1); err != nil {
			return
		}
		c.nc.SetReadDeadline(time.Now().Add(c.e.p.opts.HeadTimeout))
		h, err := readHead(c.br)
		if err != nil && !isBadHead(err) {
			return
		}
		if !c.e.bind(c) {
			return
		}
		switch {
		case err != nil:
			c.begin(nil).refuse(err)
			return
		case h.method == "CONNECT":
			c.connect(h)
			return
		case !c.forward(h) || !c.e.idle(c):
			return
		}
	}
}

// refuse records a decision against an attempt and answers it.
func (a *attempt) refuse(err error) {
	if l := a.c.lease; l != nil && l.ctx.Err() != nil {
		a.abandon()
		return
	}
	a.decide(err)
	a.c.answer(err)
	a.c.linger()
}

// How long, and for how many bytes, a client that was answered may go on
// talking.
const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// linger waits for the client to take an answer. Closing while it still sends
// would reset the connection, and the answer might be lost with it.
func (c *conn) linger() {
	w, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || w.CloseWrite() != nil {
		return
	}
	c.nc.SetReadDeadline(time.Now().Add(lingerTime))
	io.CopyN(io.Discard, c.nc, lingerBytes) // ends at the deadline at the latest
}

// write writes to the client, which has as long for it as it may be silent.
func (c *conn) write(b []byte) error {
	c.nc.SetWriteDeadline(time.Now().Add(c.e.p.opts.KeepAlive))
	_, err := c.nc.Write(b)
	return err
}

// admit applies the rules and budgets that need no DNS to an attempt.
func (c *conn) admit(a *attempt, tls bool) error {
	run := c.run()
	if run == nil {
		return &policy.Refusal{Reason: policy.ReasonHost, What: "endpoint without run"}
	}
	rules := a.cfg.Rules
	if err := rules.CheckConnect(a.hp.host, a.hp.port, tls); err != nil {
		return err
	}
	if rules.Observes() && !rules.Listed(a.hp.host, a.hp.port, tls) {
		run.observe(a.hp)
		a.ev.Observed = true
	}
	return run.admit(a.hp.host, a.start)
}

// dial connects to where an admitted attempt wants to go, and counts the
// connection against the run until it is closed.
func (c *conn) dial(ctx context.Context, a *attempt) (net.Conn, error) {
	run := c.run()
	if addr := a.hp.host.Addr; addr.IsValid() && c.e.p.serves(netip.AddrPortFrom(addr, a.hp.port)) {
		return nil, &policy.Refusal{Reason: policy.ReasonAddress, What: "the proxy itself"}
	}
	if err := run.acquire(); err != nil {
		return nil, err
	}
	nc, err := c.route(ctx, a)
	if err != nil {
		run.release()
		return nil, err
	}
	return nc, nil
}

// route makes the connection itself, or has the gateway make it. A plain http
// request gets a connection to the gateway, which it is then sent to whole.
func (c *conn) route(ctx context.Context, a *attempt) (nc net.Conn, err error) {
	host, port := a.hp.host, a.hp.port
	gateway := c.gateway(a)
	if gateway == nil {
		nc, a.route, err = c.e.p.gate.connect(ctx, a.cfg.Rules, host, port)
		return nc, err
	}
	if host.Addr.IsValid() { // a literal can be judged on either side
		if a.route.class, err = c.e.p.gate.judge(a.cfg.Rules, host, host.Addr, port); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	defer func() { a.route.dial = time.Since(start) }()
	if a.ev.Method == http.MethodConnect {
		return gateway.tunnel(ctx, c.run(), a.hp)
	}
	return gateway.dial(ctx)
}

// gateway returns the gateway that an attempt goes through, or nil.
func (c *conn) gateway(a *attempt) *Gateway {
	if a.cfg.Rules.Unsafe(a.hp.host, a.hp.port) {
		return nil
	}
	return c.e.p.opts.Gateway
}
