package egress

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass/policy"
)

// authority signs certificates for both ends of a link.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), crand.Reader); err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(crand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) issue(name string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	der, err := x509.CreateCertificate(crand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// link returns a world that stands behind a gateway, and a world without names
// or servers whose proxy uses it.
func link(t *testing.T, rules policy.Config) (far, near *world) {
	ca := newAuthority(t)
	far = newWorld(t, Options{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := far.proxy.Serve(tls.NewListener(ln, &tls.Config{
		Certificates: []tls.Certificate{ca.issue("gateway")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool,
	}))
	e.Assign(NewRun(RunConfig{Tenant: "role", TrustIdentity: true, Rules: mustRules(t, rules)}))
	g, err := NewGateway(ln.Addr().(*net.TCPAddr).AddrPort(), &tls.Config{
		RootCAs: ca.pool, ServerName: "gateway", Certificates: []tls.Certificate{ca.issue("worker")},
	})
	if err != nil {
		t.Fatal(err)
	}
	near = newWorld(t, Options{Gateway: g})
	near.names = nil
	return far, near
}

// TestGatewayMakesTheConnections: the near side sends names, resolves nothing
// and dials nothing; the far side does, and knows on whose behalf.
func TestGatewayMakesTheConnections(t *testing.T) {
	far, near := link(t, allowed())
	far.http(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s%s", r.Method, r.Host, r.URL, body, r.Header.Get(tenantHeader))
	})
	s := far.tls(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "secret "+r.Host) })
	run, e := near.run(allowed(), RunConfig{Tenant: "ténant\r\nX: 1", ID: "run 7"})
	c := client(t, e, s)
	if _, body := get(t, c, "https://allowed.test/"); body != "secret allowed.test" {
		t.Errorf("https: got %q", body)
	}
	for range 2 {
		if _, body := get(t, c, "http://allowed.test/a?b"); body != "GET allowed.test /a?b " {
			t.Errorf("http: got %q", body)
		}
	}
	resp, err := c.Post("http://allowed.test/", "text/plain", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(resp.Body); string(body) != "POST allowed.test / body" {
		t.Errorf("POST: got %q", body)
	}
	resp.Body.Close()
	if d, l := near.dials(), near.lookups(); len(d)+len(l) != 0 {
		t.Errorf("the near side dialed %v and looked up %v", d, l)
	}
	for _, ev := range far.log() {
		if ev.Tenant != "ténant\r\nX: 1" || ev.Run != "run 7" {
			t.Errorf("far event of tenant %q, run %q", ev.Tenant, ev.Run)
		}
	}
	if o, ok := run.Outcome("allowed.test", 443); !ok || o.Reason != "" {
		t.Errorf("outcome %+v", o)
	}
}

// TestGatewayRefusalsKeepTheirReason: each side applies its own rules, and a
// tool learns why, whoever said no.
func TestGatewayRefusalsKeepTheirReason(t *testing.T) {
	config := allowed()
	config.Allow = append(config.Allow, "rebind.test", "missing.test")
	far, near := link(t, config)
	far.names["rebind.test"] = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	config.Allow = append(config.Allow, "evil.test")
	run, e := near.run(config, RunConfig{})
	for _, tt := range []struct {
		host   string
		status int
		reason policy.Reason
	}{
		{"nearby.test", 403, policy.ReasonHost}, // refused on this side
		{"evil.test", 403, policy.ReasonHost},   // and on that one
		{"rebind.test", 403, policy.ReasonAddress},
		{"missing.test", 502, ReasonDNS},
		{"allowed.test", 502, ReasonConnection},
	} {
		refused(t, e, connectTo(tt.host+":443"), tt.status, tt.reason)
		refused(t, e, getFrom("http://"+tt.host+"/"), tt.status, tt.reason)
		for _, port := range []uint16{80, 443} {
			if o, _ := run.Outcome(tt.host, port); o.Reason != tt.reason {
				t.Errorf("%s:%d: outcome %+v, want %s", tt.host, port, o, tt.reason)
			}
		}
	}
	for _, name := range far.lookups() {
		if name == "nearby.test" || name == "evil.test" {
			t.Errorf("%s was looked up", name)
		}
	}
}

// TestGatewayIdentityIsNotForTheAsking: without TrustIdentity nobody names
// their own tenant; with it a client must have shown a certificate.
func TestGatewayIdentityIsNotForTheAsking(t *testing.T) {
	far, _ := link(t, allowed())
	var e *Endpoint
	for e = range far.proxy.endpoints {
	}
	c, err := tls.Dial("tcp", e.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err == nil {
		defer c.Close()
		io.WriteString(c, connectTo("allowed.test:443"))
		_, err = http.ReadResponse(bufio.NewReader(c), nil)
	}
	if err == nil {
		t.Error("a client without certificate was answered")
	}
	if ev := far.log(); len(ev) != 0 {
		t.Errorf("events %+v", ev)
	}
}

func TestGatewayWordsAreChecked(t *testing.T) {
	for word, want := range map[string]policy.Reason{
		"host_not_allowed":                   policy.ReasonHost,
		"dns_failure":                        ReasonDNS,
		"budget_exceeded":                    ReasonBudget,
		"":                                   ReasonUpstream,
		"Host":                               ReasonUpstream,
		"a b":                                ReasonUpstream,
		"x\r\nSet-Cookie: a=1":               ReasonUpstream,
		strings.Repeat("very_", 10) + "long": ReasonUpstream,
	} {
		resp := &http.Response{StatusCode: 403, Header: http.Header{ReasonHeader: {word}}}
		if got, _ := reasonOf(gatewayError(resp)); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}

func TestNewGatewayInsistsOnBothIdentities(t *testing.T) {
	ca := newAuthority(t)
	good := func() *tls.Config {
		return &tls.Config{RootCAs: ca.pool, ServerName: "gateway", Certificates: []tls.Certificate{ca.issue("worker")}}
	}
	addr := netip.MustParseAddrPort("192.0.2.1:3128")
	if _, err := NewGateway(addr, good()); err != nil {
		t.Errorf("control: %v", err)
	}
	for name, change := range map[string]func(*tls.Config){
		"unverified":   func(c *tls.Config) { c.InsecureSkipVerify = true },
		"system roots": func(c *tls.Config) { c.RootCAs = nil },
		"no name":      func(c *tls.Config) { c.ServerName = "" },
		"anonymous":    func(c *tls.Config) { c.Certificates = nil },
	} {
		c := good()
		change(c)
		if _, err := NewGateway(addr, c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := NewGateway(netip.AddrPort{}, nil); err == nil {
		t.Error("nothing at all: accepted")
	}
}

// TestForeignProxyGetsJudgedAddresses: CRD-002 as far as a proxy's credentials
// go. A company's proxy is asked for addresses, never names, and neither the
// page nor the origin server learns of it or of the credentials.
func TestForeignProxyGetsJudgedAddresses(t *testing.T) {
	w := newWorld(t, Options{})
	var seen string
	w.http(func(w http.ResponseWriter, r *http.Request) {
		seen = fmt.Sprint(r.Header)
		io.WriteString(w, "hello")
	})
	origin := w.servers[netip.AddrPortFrom(addrAllowed, 80)]
	var asked []string
	var deny atomic.Bool
	foreign, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	go http.Serve(foreign, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		if deny.Load() {
			w.Header().Set("Proxy-Authenticate", "Basic")
			w.WriteHeader(407)
			return
		}
		c, _, _ := http.NewResponseController(w).Hijack()
		defer c.Close()
		up, err := net.Dial("tcp", origin)
		if err != nil {
			return
		}
		defer up.Close()
		io.WriteString(c, established)
		go io.Copy(up, c)
		io.Copy(c, up)
	}))
	f := &Foreign{Addr: foreign.Addr().(*net.TCPAddr).AddrPort(), Authorization: "Basic c2VjcmV0"}
	w.gate.Foreign = f
	run, e := w.run(allowed(), RunConfig{})
	if _, body := ask(t, e, getFrom("http://allowed.test/")); body != "hello" {
		t.Errorf("got %q", body)
	}
	if want := []string{"CONNECT 93.184.215.14:80 Basic c2VjcmV0"}; !cmp.Equal(asked, want) {
		t.Errorf("the foreign proxy was asked for %q, want %q", asked, want)
	}
	if strings.Contains(seen, "c2VjcmV0") || strings.Contains(seen, "Proxy") {
		t.Errorf("the origin server saw %s", seen)
	}
	w.names["allowed.test"] = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	e.Assign(run) // lets go of the kept connection
	refused(t, e, getFrom("http://allowed.test/"), 403, policy.ReasonAddress)
	if len(asked) != 1 {
		t.Errorf("asked for a private address: %q", asked)
	}
	w.names["allowed.test"] = []netip.Addr{addrAllowed}
	deny.Store(true)
	refused(t, e, getFrom("http://allowed.test/"), 502, ReasonUpstream)
	foreign.Close()
	refused(t, e, getFrom("http://allowed.test/"), 502, ReasonUpstream)
	if o, _ := run.Outcome("allowed.test", 80); strings.Contains(fmt.Sprint(o), f.Addr.String()) {
		t.Errorf("outcome %+v names the proxy", o)
	}
}
