package egress

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// write puts a file into dir and returns its path.
func write(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// files writes a certificate and its key.
func (a *authority) files(dir, name string) (cert, key string) {
	pair := a.issue(name)
	der, err := x509.MarshalECPrivateKey(pair.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		a.t.Fatal(err)
	}
	cert = write(a.t, dir, name+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}))
	key = write(a.t, dir, name+".key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	return cert, key
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func TestUpstreamConfig(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t)
	caFile := write(t, dir, "ca.pem", ca.pem())
	cert, key := ca.files(dir, "worker")
	login := write(t, dir, "login", []byte("user:pass\nand a comment\n"))
	empty := write(t, dir, "empty", nil)
	gateway := UpstreamConfig{URL: "gateway://192.0.2.1:3443", ServerName: "gateway", CAFile: caFile, CertFile: cert, KeyFile: key}
	with := func(change func(*UpstreamConfig)) UpstreamConfig {
		c := gateway
		change(&c)
		return c
	}
	for _, tt := range []struct {
		name string
		c    UpstreamConfig
		want []string // parts of the error; none if it is good
	}{
		{"none", UpstreamConfig{}, nil},
		{"gateway", gateway, nil},
		{"http", UpstreamConfig{URL: "http://192.0.2.1:3128", CredentialsFile: login}, nil},
		{"https", UpstreamConfig{URL: "https://[2001:db8::1]:3129", ServerName: "proxy.test", CAFile: caFile, Credentials: "u:p"}, nil},
		{"settings alone", UpstreamConfig{CAFile: caFile}, []string{"without an upstream URL"}},
		{"no scheme", UpstreamConfig{URL: "192.0.2.1:3128"}, []string{"cannot be parsed"}},
		{"other scheme", UpstreamConfig{URL: "socks5://192.0.2.1:1080"}, []string{`"socks5"`}},
		{"no port", UpstreamConfig{URL: "http://192.0.2.1"}, []string{"a host and a port"}},
		{"port 0", UpstreamConfig{URL: "http://192.0.2.1:0"}, []string{"bad port"}},
		{"path", UpstreamConfig{URL: "http://192.0.2.1:1/x"}, []string{"nothing more"}},
		{"login in the URL", UpstreamConfig{URL: "http://user:hunter2@192.0.2.1:1"}, []string{"process lists"}},
		{"no certificate", with(func(c *UpstreamConfig) { c.CertFile, c.CAFile = "", "" }), []string{"a CA file", "a certificate and a key"}},
		{"no such files", with(func(c *UpstreamConfig) { c.CertFile, c.CAFile = "/nowhere/a", "/nowhere/b" }), []string{"/nowhere/a", "/nowhere/b"}},
		{"empty CA", with(func(c *UpstreamConfig) { c.CAFile = empty }), []string{"no certificate in PEM"}},
		{"login for a gateway", with(func(c *UpstreamConfig) { c.Credentials = "u:p" }), []string{"by certificate"}},
		{"certificate for a proxy", UpstreamConfig{URL: "http://192.0.2.1:1", CertFile: cert, KeyFile: key, CAFile: caFile}, []string{"a gateway only", "no certificate"}},
		{"empty login", UpstreamConfig{URL: "http://192.0.2.1:1", CredentialsFile: empty}, []string{"nothing in its first line"}},
		{"half a login", UpstreamConfig{URL: "http://192.0.2.1:1", Credentials: "hunter2"}, []string{"user:password"}},
		{"two logins", UpstreamConfig{URL: "http://192.0.2.1:1", Credentials: "u:hunter2", CredentialsFile: login}, []string{"twice"}},
	} {
		g, f, err := tt.c.Open(t.Context())
		if len(tt.want) == 0 {
			if err != nil || (g != nil) == (f != nil) && tt.c.URL != "" {
				t.Errorf("%s: %v %v %v", tt.name, g, f, err)
			}
			continue
		}
		for _, part := range tt.want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %v lacks %q", tt.name, err, part)
			}
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows the credentials: %v", tt.name, err)
		}
	}
	_, f, err := UpstreamConfig{URL: "http://192.0.2.1:3128", CredentialsFile: login}.Open(t.Context())
	if err != nil || string(f.Authorization) != "Basic dXNlcjpwYXNz" {
		t.Errorf("%v %q", err, string(f.Authorization))
	}
}

// TestUpstreamHostIsResolvedOnce: a name becomes an address when it is opened.
func TestUpstreamHostIsResolvedOnce(t *testing.T) {
	_, f, err := UpstreamConfig{URL: "http://localhost:3128"}.Open(t.Context())
	if err != nil || !f.Addr.Addr().IsLoopback() || f.Addr.Port() != 3128 {
		t.Errorf("%v, %v", f, err)
	}
}

// TestSecretsAreNotShown: CRD-003 as far as a proxy's credentials go.
func TestSecretsAreNotShown(t *testing.T) {
	c := UpstreamConfig{URL: "http://192.0.2.1:1", Credentials: "user:hunter2"}
	_, f, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	slog.New(slog.NewJSONHandler(&shown, nil)).Info("x", "config", c, "proxy", f, "secret", c.Credentials)
	slog.New(slog.NewTextHandler(&shown, nil)).Info("x", "config", c, "proxy", f, "secret", c.Credentials)
	b, err := json.Marshal(c)
	fmt.Fprintf(&shown, "%v %+v %#v %s %v %+v %#v %s %v", c, c, c, c.Credentials, f, *f, *f, b, err)
	if s := shown.String(); strings.Contains(s, "hunter2") || strings.Contains(s, "aHVudGVyMg") || strings.Contains(s, string(f.Authorization[6:])) {
		t.Error("shown:", s)
	}
}

// TestUpstreamFilesMakeALink: what an operator writes down on both sides leads
// to a tunnel, also after the certificate was renewed.
func TestUpstreamFilesMakeALink(t *testing.T) {
	far := newWorld(t, Options{})
	far.tcp(443, echo)
	ca := newAuthority(t)
	dir := t.TempDir()
	cert, key := ca.files(dir, "worker")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	e := far.proxy.Serve(tls.NewListener(ln, &tls.Config{
		Certificates: []tls.Certificate{ca.issue("gateway")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool,
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			seen = append(seen, s.PeerCertificates[0].Subject.CommonName)
			return nil
		},
	}))
	e.Assign(NewRun(RunConfig{Rules: mustRules(t, allowed())}))
	g, _, err := UpstreamConfig{
		URL: "gateway://" + ln.Addr().String(), ServerName: "gateway",
		CAFile: write(t, dir, "ca.pem", ca.pem()), CertFile: cert, KeyFile: key,
	}.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	near := newWorld(t, Options{Gateway: g})
	_, e2 := near.run(allowed(), RunConfig{})
	opened(t, e2, "allowed.test").Close()
	newCert, newKey := ca.files(dir, "renewed")
	for from, to := range map[string]string{newCert: cert, newKey: key} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	os.Chtimes(cert, time.Now(), time.Now().Add(time.Minute))
	opened(t, e2, "allowed.test").Close()
	os.WriteFile(cert, []byte("half written"), 0o600)
	os.Chtimes(cert, time.Now(), time.Now().Add(2*time.Minute))
	opened(t, e2, "allowed.test").Close()
	if got := strings.Join(seen, " "); got != "worker renewed renewed" {
		t.Errorf("the gateway knew us as %q", got)
	}
}

// TestUnsafeAddressesAreLocal: what the rules open as unsafe is this machine's,
// and not the far end's of a foreign proxy.
func TestUnsafeAddressesAreLocal(t *testing.T) {
	w := newWorld(t, Options{})
	w.gate.Foreign = &Foreign{Addr: closedPort(t)}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		if c, err := ln.Accept(); err == nil {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nlocal")
			c.Close()
		}
	}()
	at := ln.Addr().String()
	config := allowed()
	config.UnsafeAllow = []string{at}
	w.gate.Dial = nil
	_, e := w.run(config, RunConfig{})
	if _, body := ask(t, e, getFrom("http://"+at+"/")); body != "local" {
		t.Errorf("got %q", body)
	}
	refused(t, e, getFrom("http://allowed.test/"), 502, ReasonUpstream)
}

// closedPort is an address on loopback where nobody listens.
func closedPort(t *testing.T) netip.AddrPort {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	return ln.Addr().(*net.TCPAddr).AddrPort()
}

// TestForeignAnswers: what another's proxy says is told apart.
func TestForeignAnswers(t *testing.T) {
	for status, want := range map[int]policy.Reason{
		200: "", 403: policy.ReasonHost, 407: ReasonUpstream, 502: ReasonConnection, 301: ReasonConnection,
	} {
		if got, _ := reasonOf(foreignError(status)); got != want {
			t.Errorf("%d: got %q, want %q", status, got, want)
		}
	}
}

// TestTLSClientsSeeABrokenEnd: a tunnel that broke off must not look whole to a
// client that came in TLS.
func TestTLSClientsSeeABrokenEnd(t *testing.T) {
	far, near := link(t, allowed())
	far.tcp(443, func(c net.Conn) {
		skipHello(c)
		io.WriteString(c, "half of it")
		c.(*net.TCPConn).SetLinger(0)
	})
	_, e := near.run(allowed(), RunConfig{})
	c, br := tunnel(t, e, "allowed.test:443")
	c.Write(clientHello("allowed.test"))
	if b, err := io.ReadAll(br); err == nil {
		t.Errorf("%q came as if it were all", b)
	}
}
