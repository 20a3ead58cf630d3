package egress

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
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

	// Gateway, if not nil, makes all connections except those to addresses
	// that the rules open as unsafe, which are local by nature.
	Gateway *Gateway

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
		e.shut()
		return e
	}
	p.endpoints[e] = struct{}{}
	p.wg.Go(e.accept)
	return e
}

// Close closes every endpoint and cuts every connection. It returns when all
// goroutines of the proxy are done, and may be called more than once.
func (p *Proxy) Close() error {
	for _, e := range p.end() {
		e.Close()
	}
	p.wg.Wait()
	return nil
}

// Drain does to all endpoints at once what [Endpoint.Drain] does to one, and
// closes the proxy. It returns how many connections had to be cut.
func (p *Proxy) Drain(ctx context.Context) int {
	var (
		wg  sync.WaitGroup
		cut atomic.Int64
	)
	for _, e := range p.end() {
		wg.Go(func() { cut.Add(int64(e.Drain(ctx))) })
	}
	wg.Wait()
	p.Close()
	return int(cut.Load())
}

// end keeps new endpoints from being opened, and returns the old ones.
func (p *Proxy) end() []*Endpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return slices.Collect(maps.Keys(p.endpoints))
}

// Clients returns the number of client connections that are open.
func (p *Proxy) Clients() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for e := range p.endpoints {
		e.mu.Lock()
		n += len(e.clients)
		e.mu.Unlock()
	}
	return n
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
