package egress

import (
	"context"
	"net"
	"sync"
)

// Inside is an [Endpoint] for a client in this process. It has no port that
// anybody could find: its connections come from Dial. All else is as at other
// endpoints: the same decisions in the same order, the same budgets, the same
// events.
type Inside struct {
	*Endpoint
	ln *pipes
}

// Inside opens an endpoint for a client in this process. It denies everything
// until it is assigned a run. The caller must Close it.
func (p *Proxy) Inside() *Inside {
	ln := &pipes{to: make(chan net.Conn), closed: make(chan struct{})}
	return &Inside{p.Serve(ln), ln}
}

// Dial connects to the proxy. The error is net.ErrClosed, or ctx's.
func (i *Inside) Dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case i.ln.to <- theirs:
		return ours, nil
	case <-i.ln.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pipes is a listener whose connections are made in this process.
type pipes struct {
	to     chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.to:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
