package egress

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// What stands here runs tests on a false clock. Its time passes only while
// every goroutine waits for another, which rules sockets out: pipes take their
// place.

// pipeListener accepts the connections that dial makes.
type pipeListener struct {
	conns  chan net.Conn
	errs   chan error // returned by Accept, once each
	closed chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), errs: make(chan error), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case err := <-l.errs:
		return nil, err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.closed); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (l *pipeListener) dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	return client
}

// clock is a proxy on a false clock, in front of one server.
type clock struct {
	proxy  *Proxy
	ln     *pipeListener
	run    *Run
	e      *Endpoint
	events chan Event
	server chan net.Conn // server ends of connections that the proxy made
}

// onClock runs f in a bubble with a proxy and a run that may reach everything.
func onClock(t *testing.T, o Options, rc RunConfig, g *Gate, f func(t *testing.T, c *clock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &clock{ln: newPipeListener(), events: make(chan Event, 1000), server: make(chan net.Conn, 1000)}
		if g.Resolve == nil {
			g.Resolve = func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{addrAllowed}, nil }
		}
		if g.Dial == nil {
			g.Dial = func(context.Context, netip.AddrPort) (net.Conn, error) {
				client, server := net.Pipe()
				c.server <- server
				return client, nil
			}
		}
		if g.OwnAddrs == nil {
			g.OwnAddrs = func() ([]netip.Addr, error) { return nil, nil }
		}
		o.OnEvent = func(e Event) { c.events <- e }
		c.proxy = NewProxy(g, o)
		defer c.proxy.Close()
		rc.Rules = mustRules(t, policy.Config{Mode: policy.ModePublic, AllowInsecureHTTP: true})
		c.run = NewRun(rc)
		c.e = c.proxy.Serve(c.ln)
		c.e.Assign(c.run)
		f(t, c)
	})
}

// tunnel opens a tunnel, past its ClientHello.
func (c *clock) tunnel(t *testing.T) (client, server net.Conn) {
	t.Helper()
	client = c.ln.dial()
	io.WriteString(client, connectTo("a.test:443"))
	br := bufio.NewReader(client)
	resp, err := http.ReadResponse(br, &http.Request{Method: "CONNECT"})
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("CONNECT: %v, %v", resp, err)
	}
	server = <-c.server
	hello := clientHello("a.test")
	go client.Write(hello)
	if _, err := io.ReadFull(server, make([]byte, len(hello))); err != nil {
		t.Fatal(err)
	}
	return client, server
}

// last returns the last event, after everything has come to rest.
func (c *clock) last() (last Event) {
	synctest.Wait()
	for {
		select {
		case last = <-c.events:
		default:
			return last
		}
	}
}

// eof waits for the connection to be closed by the other side and returns how
// long that took.
func eof(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	start := time.Now()
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Errorf("waiting for the end: %v", err)
	}
	return time.Since(start)
}
