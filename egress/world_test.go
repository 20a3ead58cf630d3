package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// world is a small internet: names with public-looking addresses, and servers
// on loopback behind them. The addresses are mapped after judgement, so that
// the code under test knows nothing of loopback.
type world struct {
	t *testing.T

	mu       sync.Mutex
	names    map[string][]netip.Addr
	servers  map[netip.AddrPort]string // address on loopback
	resolved []string
	dialed   []netip.AddrPort
	events   []Event

	gate  *Gate
	proxy *Proxy
}

// The public-looking addresses of the small internet.
var (
	addrAllowed = netip.MustParseAddr("93.184.215.14")
	addrEvil    = netip.MustParseAddr("93.184.216.34")
)

func newWorld(t *testing.T, o Options) *world {
	t.Helper()
	w := &world{
		t: t,
		names: map[string][]netip.Addr{
			"allowed.test":       {addrAllowed},
			"other.allowed.test": {addrAllowed},
			"evil.test":          {addrEvil},
		},
		servers: make(map[netip.AddrPort]string),
	}
	w.gate = &Gate{
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.resolved = append(w.resolved, host)
			if a, ok := w.names[host]; ok {
				return a, nil
			}
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		},
		Dial: func(ctx context.Context, ap netip.AddrPort) (net.Conn, error) {
			w.mu.Lock()
			w.dialed = append(w.dialed, ap)
			to, ok := w.servers[ap]
			w.mu.Unlock()
			if !ok {
				return nil, errors.New("connection refused")
			}
			return new(net.Dialer).DialContext(ctx, "tcp", to)
		},
		OwnAddrs: func() ([]netip.Addr, error) { return nil, nil },
	}
	onEvent := o.OnEvent
	o.OnEvent = func(e Event) {
		w.mu.Lock()
		w.events = append(w.events, e)
		w.mu.Unlock()
		if onEvent != nil {
			onEvent(e)
		}
	}
	w.proxy = NewProxy(w.gate, o)
	t.Cleanup(func() { w.proxy.Close() })
	return w
}

// at puts a server behind an address of the small internet.
func (w *world) at(a netip.Addr, port uint16, addr net.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[netip.AddrPortFrom(a, port)] = addr.String()
}

// http puts an http server behind allowed.test:80.
func (w *world) http(f http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(f)
	w.t.Cleanup(s.Close)
	w.at(addrAllowed, 80, s.Listener.Addr())
	return s
}

// tls puts an https server behind allowed.test:443.
func (w *world) tls(f http.HandlerFunc) *httptest.Server {
	s := httptest.NewUnstartedServer(f)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	w.t.Cleanup(s.Close)
	w.at(addrAllowed, 443, s.Listener.Addr())
	return s
}

// tcp puts a server behind allowed.test that treats every connection alike.
func (w *world) tcp(port uint16, f func(net.Conn)) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	var wg sync.WaitGroup
	w.t.Cleanup(func() { ln.Close(); w.proxy.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { defer c.Close(); f(c) })
		}
	})
	w.at(addrAllowed, port, ln.Addr())
}

// run returns a run, and an endpoint that has it.
func (w *world) run(c policy.Config, rc RunConfig) (*Run, *Endpoint) {
	w.t.Helper()
	rules, err := policy.Compile(c)
	if err != nil {
		w.t.Fatal(err)
	}
	rc.Rules = rules
	r := NewRun(rc)
	e, err := w.proxy.Listen()
	if err != nil {
		w.t.Fatal(err)
	}
	e.Assign(r)
	return r, e
}

// allowed is the configuration of most tests.
func allowed() policy.Config {
	return policy.Config{Mode: policy.ModeAllowlist, Allow: []string{"allowed.test"}, AllowInsecureHTTP: true}
}

func (w *world) lookups() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.resolved)
}

func (w *world) dials() []netip.AddrPort {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dialed)
}

func (w *world) log() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// raw opens a connection to an endpoint.
func raw(t *testing.T, e *Endpoint) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", e.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

// ask sends bytes and returns the first response, whose body is read.
func ask(t *testing.T, e *Endpoint, request string) (*http.Response, string) {
	t.Helper()
	c := raw(t, e)
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return readAnswer(t, bufio.NewReader(c))
}

func readAnswer(t *testing.T, br *bufio.Reader) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// tunnel sends a CONNECT and fails the test unless it is accepted.
func tunnel(t *testing.T, e *Endpoint, authority string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c := raw(t, e)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", authority)
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		t.Fatalf("CONNECT %s: %s", authority, resp.Status)
	}
	return c, br
}

// refused sends a request and checks that it is refused for a reason.
func refused(t *testing.T, e *Endpoint, request string, status int, reason policy.Reason) {
	t.Helper()
	resp, body := ask(t, e, request)
	if resp.StatusCode != status || resp.Header.Get(ReasonHeader) != string(reason) || !strings.Contains(body, string(reason)) {
		t.Errorf("%.80q: got %s, %s %q, want %d %s", request, resp.Status, resp.Header.Get(ReasonHeader), body, status, reason)
	}
}

// client returns an http client that uses the endpoint as its proxy and trusts
// the server.
func client(t *testing.T, e *Endpoint, s *httptest.Server) *http.Client {
	tr := &http.Transport{Proxy: http.ProxyURL(mustURL("http://" + e.Addr().String()))}
	if s != nil && s.TLS != nil {
		tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
