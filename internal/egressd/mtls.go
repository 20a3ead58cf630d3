package egressd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

const (
	// handshakeTime bounds a TLS handshake.
	handshakeTime = 10 * time.Second
	// maxHandshakes is the most of them at one time.
	maxHandshakes = 256
	// acceptPause is how long no client is accepted when the machine has no
	// descriptor or memory for one.
	acceptPause = 100 * time.Millisecond
)

// mtls is the listener at which clients show a certificate. Each connection is
// handed to the one role that the certificate names; there is no other way to a
// role here, whatever a client sends later.
type mtls struct {
	ln       net.Listener
	stranger func() // counts a connection that was turned away
	wg       sync.WaitGroup
	quit     context.Context
	cancel   context.CancelFunc
	busy     chan struct{} // a token for each handshake

	mu    sync.Mutex
	cfg   *tls.Config
	roles map[string]*served // by identity
	open  map[*client]struct{}
}

func newMTLS(ln net.Listener, cfg *tls.Config, stranger func()) *mtls {
	m := &mtls{ln: ln, cfg: cfg, stranger: stranger, busy: make(chan struct{}, maxHandshakes), open: make(map[*client]struct{})}
	m.quit, m.cancel = context.WithCancel(context.Background())
	m.wg.Go(m.accept)
	return m
}

// admit says who has which role from now on. Connections of those who have
// another one now, or none, are closed.
func (m *mtls) admit(cfg *tls.Config, roles map[string]*served) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cfg, m.roles = cfg, roles
	for c := range m.open {
		if m.roleOf(c.identities) != c.role {
			c.Conn.NetConn().Close()
		}
	}
}

// roleOf returns the one role that the identities have, or nil. The caller
// holds mu.
func (m *mtls) roleOf(identities []string) *served {
	var role *served
	for _, id := range identities {
		if r := m.roles[id]; r != nil && role != nil && r != role {
			return nil
		} else if r != nil {
			role = r
		}
	}
	return role
}

func (m *mtls) accept() {
	for {
		nc, err := m.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			select {
			case <-time.After(acceptPause):
			case <-m.quit.Done():
			}
			continue
		}
		select {
		case m.busy <- struct{}{}:
			m.wg.Go(func() {
				defer func() { <-m.busy }()
				m.greet(nc)
			})
		default:
			m.stranger()
			nc.Close()
		}
	}
}

// greet finds out who a client is.
func (m *mtls) greet(nc net.Conn) {
	m.mu.Lock()
	cfg := m.cfg
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(m.quit, handshakeTime)
	defer cancel()
	tc := tls.Server(nc, cfg)
	if tc.HandshakeContext(ctx) != nil {
		m.stranger()
		nc.Close()
		return
	}
	c := &client{Conn: tc, m: m, identities: identities(tc.ConnectionState())}
	m.mu.Lock()
	c.role = m.roleOf(c.identities)
	if c.role != nil {
		m.open[c] = struct{}{}
	}
	m.mu.Unlock()
	if c.role == nil {
		m.stranger()
		nc.Close()
		return
	}
	c.role.clients.give(c)
}

// identities returns what a verified certificate says about its holder, in the
// words of the configuration.
func identities(s tls.ConnectionState) []string {
	cert := s.PeerCertificates[0] // the handshake has verified it
	var out []string
	if cn := cert.Subject.CommonName; cn != "" {
		out = append(out, "cn:"+cn)
	}
	for _, n := range cert.DNSNames {
		out = append(out, "dns:"+n)
	}
	for _, u := range cert.URIs {
		out = append(out, "uri:"+u.String())
	}
	return out
}

// close closes the listener and ends all handshakes.
func (m *mtls) close() {
	m.cancel()
	m.ln.Close()
	m.wg.Wait()
}

// client is a connection of a client that has a role.
type client struct {
	*tls.Conn
	m          *mtls
	identities []string
	role       *served
}

func (c *client) Close() error {
	c.m.mu.Lock()
	delete(c.m.open, c)
	c.m.mu.Unlock()
	return c.Conn.Close()
}

// fed is a listener that is fed connections from elsewhere.
type fed struct {
	at    net.Addr
	conns chan net.Conn
	quit  chan struct{}
	once  sync.Once
}

func newFed(at net.Addr) *fed {
	return &fed{at: at, conns: make(chan net.Conn), quit: make(chan struct{})}
}

func (f *fed) give(c net.Conn) {
	select {
	case f.conns <- c:
	case <-f.quit:
		c.Close()
	}
}

func (f *fed) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.quit:
		return nil, net.ErrClosed
	}
}

func (f *fed) Close() error {
	f.once.Do(func() { close(f.quit) })
	return nil
}

// Addr is where the clients connected. No proxy may take it for a place that it
// serves itself and others do not.
func (f *fed) Addr() net.Addr { return f.at }
