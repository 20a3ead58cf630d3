// Package testweb is a small internet for tests: sites, kind and hostile,
// under names of their own, with a resolver and a dialer in front.
//
// [Web.Resolve] and [Web.Dial] have the signatures of the two hooks through
// which the egress gate reaches the real internet. Every name gets an address
// that looks public, so the code under test needs no exception for loopback,
// and what the tests then assert is what the servers saw ([Web.Hits],
// [Web.Dialed], [Web.Resolved]), not what the client claims. [Site] is the
// collection of ready pages, [Canary] a listener that must not be reached,
// [Case] a page with its expectations loaded from a folder.
//
// It starts no browser, judges no address and seals nothing. Tests in which
// packets are meant to escape belong into the namespaces of package netlab.
package testweb

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// TB is the part of testing.TB that this package uses. It is an interface of
// our own so that programs other than tests (the demo, benchmarks) do not link
// package testing.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// The public-looking ranges from which sites get their addresses. Both are
// ordinary global unicast space: a table of special-purpose addresses that
// refuses them is wrong.
var (
	first4 = netip.MustParseAddr("93.184.216.10")
	first6 = netip.MustParseAddr("2606:2800:220:1::10")
)

// Options configures [Start]. The zero value is what most tests want.
type Options struct {
	// IPv6 makes unscripted names resolve to their IPv6 address as well,
	// after the IPv4 one. Both can always be dialed.
	IPv6 bool
}

// Web is a small internet. Its methods may be called concurrently.
type Web struct {
	opts Options
	ca   *authority
	base func(net.Listener) context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup // accept loops and handlers
	hits journal[Hit]

	mu       sync.Mutex
	closed   bool
	sites    map[string]*site
	byAddr   map[netip.Addr]*site
	next4    netip.Addr
	next6    netip.Addr
	scripts  map[string]*script
	black    map[netip.Addr]bool
	resolved []string
	dialed   []Dial
	closers  []io.Closer
	conns    map[net.Conn]struct{}
}

// site is what answers at one name: its addresses and, by port, the loopback
// listeners behind them. Its fields are guarded by Web.mu.
type site struct {
	name    string
	v4, v6  netip.Addr
	handler http.Handler
	fault   Fault
	ports   map[uint16]string
}

// New starts a Web that is closed when the test ends.
func New(tb TB) *Web {
	tb.Helper()
	w, err := Start(Options{})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(w.Close)
	return w
}

// Start starts a Web outside a test. The caller must Close it.
func Start(o Options) (*Web, error) {
	ca, err := newAuthority(time.Now())
	if err != nil {
		return nil, fmt.Errorf("testweb: certificate authority: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Web{
		opts:    o,
		ca:      ca,
		base:    func(net.Listener) context.Context { return ctx },
		stop:    stop,
		sites:   make(map[string]*site),
		byAddr:  make(map[netip.Addr]*site),
		next4:   first4,
		next6:   first6,
		scripts: make(map[string]*script),
		black:   make(map[netip.Addr]bool),
		conns:   make(map[net.Conn]struct{}),
	}, nil
}

// Close breaks every connection, cancels the context of every request and
// returns when the last handler has returned. It may be called more than once.
func (w *Web) Close() {
	w.mu.Lock()
	w.closed = true
	closers := w.closers
	w.closers = nil
	w.mu.Unlock()

	// Connections go first, so that a handler which ends with its context
	// cannot end its response well.
	for _, c := range closers {
		c.Close()
	}
	w.mu.Lock()
	conns := slices.Collect(maps.Keys(w.conns))
	w.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
	w.stop()
	w.wg.Wait()
}

// Handle makes h answer for host, over HTTP on port 80 and over TLS (HTTP/2
// and HTTP/1.1) on port 443, and returns the site's IPv4 address, which stays
// the same for the life of the Web. Handling a host again replaces its
// handler. The handler must return when its request's context ends.
//
// Like httptest.NewServer, it panics when the machine refuses a listener.
func (w *Web) Handle(host string, h http.Handler) netip.Addr {
	host = canonical(host)
	w.mu.Lock()
	s, known := w.sites[host]
	if !known {
		s = w.addSite(host)
	}
	s.handler = h
	w.mu.Unlock()
	if !known {
		w.ServePlain(host, 80)
		w.ServeTLS(host, 443)
	}
	return s.v4
}

// addSite gives host its addresses. The caller holds w.mu.
func (w *Web) addSite(host string) *site {
	if host == "" {
		panic("testweb: a site needs a name")
	}
	s := &site{name: host, v4: w.next4, v6: w.next6, ports: make(map[uint16]string)}
	w.next4, w.next6 = w.next4.Next(), w.next6.Next()
	w.sites[host], w.byAddr[s.v4], w.byAddr[s.v6] = s, s, s
	return s
}

// ServePlain makes a handled host answer HTTP/1.1 on a further port.
func (w *Web) ServePlain(host string, port uint16) {
	s := w.site(host)
	srv := w.server(s, port)
	w.listen(s, port, srv, srv.Serve)
}

// ServeTLS makes a handled host answer HTTPS on a further port.
func (w *Web) ServeTLS(host string, port uint16) {
	s := w.site(host)
	srv := w.server(s, port)
	srv.TLSConfig = w.tlsConfig(s)
	w.listen(s, port, srv, func(ln net.Listener) error { return srv.ServeTLS(ln, "", "") })
}

// HandleConn makes h speak for host on a port, from the first byte on, for
// what an HTTP server would not do. It replaces whatever listened there; a
// host that is not handled yet gets an address, and nothing on 80 and 443.
// The connection is closed when h returns, and at [Web.Close].
func (w *Web) HandleConn(host string, port uint16, h func(net.Conn)) netip.Addr {
	host = canonical(host)
	w.mu.Lock()
	s := w.sites[host]
	if s == nil {
		s = w.addSite(host)
		s.handler = http.NotFoundHandler()
	}
	w.mu.Unlock()
	w.listen(s, port, nil, func(ln net.Listener) error {
		for {
			c, err := ln.Accept()
			if err != nil {
				return err
			}
			if !w.begin() {
				c.Close()
				return net.ErrClosed
			}
			go func() {
				defer w.wg.Done()
				defer c.Close()
				h(c)
			}()
		}
	})
	return s.v4
}

// Addr returns the IPv4 address of a handled host.
func (w *Web) Addr(host string) netip.Addr { return w.site(host).v4 }

// Addr6 returns the IPv6 address of a handled host.
func (w *Web) Addr6(host string) netip.Addr { return w.site(host).v6 }

// CAPEM returns the certificate of the throwaway authority in PEM form.
func (w *Web) CAPEM() []byte { return w.ca.pem() }

// CAPool returns a pool that holds only the throwaway authority, for the
// tls.Config of Go clients.
func (w *Web) CAPool() *x509.CertPool { return w.ca.pool() }

// SPKIHash returns base64(SHA-256(SubjectPublicKeyInfo)) of the one key that
// all sites with good TLS share, in the form that Chromium's flag
// --ignore-certificate-errors-spki-list takes. Sites given to [Web.BadTLS] use
// other keys, so their errors are still reported.
func (w *Web) SPKIHash() string { return w.ca.leaf.spkiHash() }

// site returns a handled host and panics on others: a typing error in a test.
func (w *Web) site(host string) *site {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sites[canonical(host)]
	if s == nil {
		panic("testweb: nobody handles " + host)
	}
	return s
}

// server returns the HTTP server of one port of a site. It is silent: what
// goes wrong in a hostile exchange is for the test to find.
func (w *Web) server(s *site, port uint16) *http.Server {
	return &http.Server{
		Handler:     w.record(s, port),
		BaseContext: w.base,
		ErrorLog:    log.New(io.Discard, "", 0),
	}
}

// listen opens the loopback listener behind one port of a site and runs serve
// on it until [Web.Close], which also closes srv when it is not nil.
func (w *Web) listen(s *site, port uint16, srv io.Closer, serve func(net.Listener) error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("testweb: " + err.Error())
	}
	if !w.begin() {
		ln.Close()
		panic("testweb: the web is closed")
	}
	w.mu.Lock()
	s.ports[port] = ln.Addr().String()
	w.closers = append(w.closers, ln)
	if srv != nil {
		w.closers = append(w.closers, srv)
	}
	w.mu.Unlock()
	go func() {
		defer w.wg.Done()
		if err := serve(&tracker{ln, w}); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
			panic("testweb: " + err.Error())
		}
	}()
}

// begin counts one more goroutine that Close waits for, unless the Web is
// closed already.
func (w *Web) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.wg.Add(1)
	return true
}

// tracker remembers accepted connections, because http.Server forgets those
// that a handler hijacked.
type tracker struct {
	net.Listener
	w *Web
}

func (t *tracker) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tc := &trackedConn{c.(*net.TCPConn), t.w}
	t.w.mu.Lock()
	t.w.conns[tc] = struct{}{}
	closed := t.w.closed
	t.w.mu.Unlock()
	if closed {
		tc.Close()
	}
	return tc, nil
}

type trackedConn struct {
	*net.TCPConn
	w *Web
}

func (c *trackedConn) Close() error {
	c.w.mu.Lock()
	delete(c.w.conns, c)
	c.w.mu.Unlock()
	return c.TCPConn.Close()
}

// canonical is the form under which names are kept: lower case, without the
// dot of the root.
func canonical(host string) string {
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
