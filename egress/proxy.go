package egress

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/bellglass/bellglass/policy"
)

const (
	defaultHeadTimeout = 10 * time.Second
	defaultKeepAlive   = 2 * time.Minute
	defaultMaxClients  = 1024
)

// Options adjust a [Proxy].
type Options struct {
	// OnEvent, if not nil, is called for every decision and every close,
	// from many goroutines at once. It must not call back into the Proxy.
	OnEvent func(Event)

	// HeadTimeout bounds the time from the first byte of a request to the
	// last of its head, and from the start of a tunnel to the end of its
	// TLS ClientHello. If zero, 10 seconds.
	HeadTimeout time.Duration

	// KeepAlive is how long a client may be silent between requests. If
	// zero, 2 minutes.
	KeepAlive time.Duration

	// MaxClients is the most client connections of one endpoint. If zero,
	// 1,024.
	MaxClients int
}

// Proxy is an HTTP/1.1 proxy in front of a [Gate]. It answers CONNECT and
// requests in absolute form for http URLs, and nothing else.
type Proxy struct {
	gate *Gate
	opts Options

	wg sync.WaitGroup // accept loops

	mu        sync.Mutex
	endpoints map[*Endpoint]struct{}
	closed    bool
}

// NewProxy returns a proxy without endpoints. The caller must call
// [Proxy.Close].
func NewProxy(g *Gate, o Options) *Proxy {
	o.HeadTimeout = or(o.HeadTimeout, defaultHeadTimeout)
	o.KeepAlive = or(o.KeepAlive, defaultKeepAlive)
	o.MaxClients = or(o.MaxClients, defaultMaxClients)
	return &Proxy{gate: g, opts: o, endpoints: make(map[*Endpoint]struct{})}
}

// Listen opens an endpoint on a free port of 127.0.0.1. It denies everything
// until it is assigned a run.
func (p *Proxy) Listen() (*Endpoint, error) {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return p.Serve(ln), nil
}

// Serve opens an endpoint on a listener made elsewhere, such as inside a
// network namespace, and takes the listener over. On a closed Proxy the
// listener is closed at once.
func (p *Proxy) Serve(ln net.Listener) *Endpoint {
	e := &Endpoint{p: p, ln: ln, quit: make(chan struct{}), clients: make(map[*conn]struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		e.closed = true
		close(e.quit)
		ln.Close()
		return e
	}
	p.endpoints[e] = struct{}{}
	p.wg.Go(e.accept)
	return e
}

// Close closes every endpoint and cuts every connection. It returns when all
// goroutines of the proxy are done, and may be called more than once.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	var all []*Endpoint
	for e := range p.endpoints {
		all = append(all, e)
	}
	p.mu.Unlock()
	for _, e := range all {
		e.Close()
	}
	p.wg.Wait()
	return nil
}

// serves reports whether addr is one of the proxy's own endpoints.
func (p *Proxy) serves(addr netip.AddrPort) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for e := range p.endpoints {
		if a, ok := e.ln.Addr().(*net.TCPAddr); ok {
			own := a.AddrPort()
			if netip.AddrPortFrom(own.Addr().Unmap(), own.Port()) == addr {
				return true
			}
		}
	}
	return false
}

// Endpoint is one listener of a [Proxy]: one slot for one run at a time.
type Endpoint struct {
	p    *Proxy
	ln   net.Listener
	quit chan struct{}  // closed with the endpoint
	wg   sync.WaitGroup // client connections

	mu      sync.Mutex
	closed  bool
	lease   *lease // nil: everything is denied
	clients map[*conn]struct{}
}

// lease is the time for which an endpoint belongs to a run.
type lease struct {
	run    *Run
	ctx    context.Context // ends with the lease
	cancel context.CancelFunc
	pool   pool
	wg     sync.WaitGroup // client connections that have asked for something
}

// Addr returns the address the endpoint listens on.
func (e *Endpoint) Addr() net.Addr { return e.ln.Addr() }

// Assign gives the endpoint to a run, after releasing it from the one before.
// Connections opened before, but not used yet, go to the new run.
func (e *Endpoint) Assign(r *Run) {
	e.Release()
	ctx, cancel := context.WithCancel(context.Background())
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		cancel()
		return
	}
	e.lease = &lease{run: r, ctx: ctx, cancel: cancel}
}

// Release takes the endpoint from its run, if it has one, cuts all its
// connections and denies everything again. When it returns, the run's counters
// and outcomes are final, unless the run holds another endpoint.
func (e *Endpoint) Release() {
	e.mu.Lock()
	l := e.lease
	e.lease = nil
	if l != nil {
		for c := range e.clients {
			c.nc.Close()
		}
	}
	e.mu.Unlock()
	if l == nil {
		return
	}
	l.cancel()
	l.wg.Wait()
	l.pool.close()
}

// Close closes the listener and releases the endpoint. It returns when all
// goroutines of the endpoint are done.
func (e *Endpoint) Close() error {
	e.Release()
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	for c := range e.clients {
		c.nc.Close()
	}
	e.mu.Unlock()
	var err error
	if first {
		close(e.quit)
		err = e.ln.Close()
	}
	e.wg.Wait()
	e.p.mu.Lock()
	delete(e.p.endpoints, e)
	e.p.mu.Unlock()
	return err
}

// accept serves the listener until it is closed. When the machine has run out
// of descriptors or memory it waits and goes on.
func (e *Endpoint) accept() {
	var backoff time.Duration
	for {
		nc, err := e.ln.Accept()
		if err != nil {
			if !passing(err) {
				return
			}
			backoff = min(max(2*backoff, 5*time.Millisecond), time.Second)
			select {
			case <-time.After(backoff):
			case <-e.quit:
			}
			continue
		}
		backoff = 0
		c := &conn{e: e, nc: nc}
		if !e.enter(c) {
			nc.Close()
			continue
		}
		go c.serve()
	}
}

// passing reports whether an error of Accept is expected to go away by itself.
func passing(err error) bool {
	for _, e := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.EINTR,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// enter admits a client connection, which must leave once.
func (e *Endpoint) enter(c *conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.clients) >= e.p.opts.MaxClients {
		return false
	}
	e.clients[c] = struct{}{}
	e.wg.Add(1)
	return true
}

func (e *Endpoint) leave(c *conn) {
	e.mu.Lock()
	delete(e.clients, c)
	e.mu.Unlock()
	e.wg.Done()
}

// bind ties a client connection to the lease of this moment, if it is not tied
// to one yet. It reports false if the connection outlived its lease.
func (e *Endpoint) bind(c *conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.bound {
		return c.lease == e.lease
	}
	c.bound, c.lease = true, e.lease
	if c.lease != nil {
		c.lease.wg.Add(1)
	}
	return true
}

// conn is one client connection. It is used by one goroutine, except for nc,
// which others may close.
type conn struct {
	e     *Endpoint
	nc    net.Conn
	br    *bufio.Reader // of nc; nil once a tunnel is past its first bytes
	bound bool
	lease *lease // nil if not bound, or bound to no run
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
			c.begin("").refuse(err)
			return
		case h.method == "CONNECT":
			c.connect(h)
			return
		case !c.forward(h):
			return
		}
	}
}

// refuse records a decision against an attempt and answers it.
func (a *attempt) refuse(err error) {
	a.decide(err)
	a.c.answer(err)
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
	rules := run.cfg.Rules
	if err := rules.CheckConnect(a.hp.host, a.hp.port, tls); err != nil {
		return err
	}
	if rules.Observes() && !rules.Listed(a.hp.host, a.hp.port, tls) {
		run.observe(a.hp)
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
	nc, rt, err := c.e.p.gate.connect(ctx, run.cfg.Rules, a.hp.host, a.hp.port)
	a.route = rt
	if err != nil {
		run.release()
		return nil, err
	}
	return nc, nil
}
