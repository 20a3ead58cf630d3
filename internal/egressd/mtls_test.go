package egressd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
	"github.com/bellglass/bellglass/policy"
)

// authority writes certificates into a folder.
type authority struct {
	t    *testing.T
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	file string
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	var der []byte
	a.key, der = sign(t, template, nil)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.file = a.write("ca.pem", "CERTIFICATE", der)
	return a
}

// sign makes a key and a certificate for it; without an authority it signs
// itself.
func sign(t *testing.T, template *x509.Certificate, by *authority) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return key, der
}

func (a *authority) write(name, kind string, der []byte) string {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// issue writes a certificate with a common name and further names: DNS names
// and, where there is a colon in them, URIs.
func (a *authority) issue(cn string, names ...string) (cert, key string) {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: cn},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	for _, n := range names {
		if strings.Contains(n, ":") {
			u, err := url.Parse(n)
			if err != nil {
				a.t.Fatal(err)
			}
			template.URIs = append(template.URIs, u)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	k, der := sign(a.t, template, a)
	keyDER, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.write(cn+".pem", "CERTIFICATE", der), a.write(cn+".key", "EC PRIVATE KEY", keyDER)
}

// mtlsFile is the mtls section of a file, with a gateway's certificate.
func (a *authority) mtlsFile(at string) string {
	cert, key := a.issue("gateway", "gateway.test")
	return fmt.Sprintf("mtls: {listen: %q, cert_file: %s, key_file: %s, client_ca_file: %s}\n", at, cert, key, a.file)
}

// dial connects to an mtls listener as somebody; as nobody without a cert. The
// error shows only when something is read: TLS 1.3 clients are done first.
func (a *authority) dial(at, cert, key string) (*tls.Conn, error) {
	a.t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	cfg := &tls.Config{RootCAs: pool, ServerName: "gateway.test"}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			a.t.Fatal(err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	c, err := tls.Dial("tcp", at, cfg)
	if err == nil {
		a.t.Cleanup(func() { c.Close() })
	}
	return c, err
}

// TestCertificatesGiveRoles: each client gets the role that its certificate
// names, and no other, whatever it sends; strangers get none.
func TestCertificatesGiveRoles(t *testing.T) {
	one, two := origin(t), origin(t)
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other")
	at := free(t)
	d := run(t, ca.mtlsFile(at)+fmt.Sprintf(`
admin: %q
roles:
  first: {clients: ["cn:worker-1", "uri:spiffe://test/one"], mode: allowlist, unsafe_allow: [%q]}
  second: {clients: ["dns:worker-2.test"], mode: allowlist, unsafe_allow: [%q]}
`, free(t), one, two))
	for _, tt := range []struct {
		cn, name string
		ca       *authority
		role     string // "": turned away
	}{
		{"worker-1", "any.test", ca, "first"},
		{"any", "spiffe://test/one", ca, "first"},
		{"any", "worker-2.test", ca, "second"},
		{"worker-2.test", "any.test", ca, ""},    // the right name in the wrong place
		{"worker-1", "worker-2.test", ca, ""},    // two roles are none
		{"worker-10", "worker-20.test", ca, ""},  // nobody's
		{"worker-1", "worker-1.test", other, ""}, // another authority's word
	} {
		cert, key := tt.ca.issue(tt.cn, tt.name)
		c, err := ca.dial(at, cert, key)
		if err == nil && tt.role == "" {
			c.SetDeadline(time.Now().Add(10 * time.Second))
			_, err = c.Read(make([]byte, 1))
		}
		if tt.role == "" {
			if err == nil {
				t.Errorf("%v was let in", tt)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", tt, err)
			continue
		}
		mine, theirs := one, two
		if tt.role == "second" {
			mine, theirs = two, one
		}
		if code, _ := askOver(t, c, "http://"+mine+"/"); code != 200 {
			t.Errorf("%v: own origin: %d", tt, code)
		}
		c, err = ca.dial(at, cert, key)
		if err != nil {
			t.Fatal(err)
		}
		if code, _ := askOver(t, c, "http://"+theirs+"/"); code != 403 {
			t.Errorf("%v: the other role's origin: %d", tt, code)
		}
	}
	if c, err := ca.dial(at, "", ""); err == nil {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a client without a certificate was let in")
		}
	}
	if c, err := net.Dial("tcp", at); err == nil { // no TLS at all
		io.WriteString(c, "CONNECT "+one+" HTTP/1.1\r\nHost: "+one+"\r\n\r\n")
		if b, _ := io.ReadAll(c); strings.Contains(string(b), "HTTP/1.1") {
			t.Errorf("a client without TLS got %q", b)
		}
		c.Close()
	}
	eventually(t, "six strangers to be counted", func() bool {
		_, m := d.get("/metrics")
		return strings.Contains(m, "bellglass_egress_handshakes_refused_total 6")
	})
	for _, line := range d.lines(`"event":"decision"`) {
		if line["tenant"] != line["role"] {
			t.Errorf("line %v", line)
		}
	}
}

// TestReloadTakesRolesFromClients: who has another role now, or none, is cut.
func TestReloadTakesRolesFromClients(t *testing.T) {
	at, listen := origin(t), free(t)
	ca := newAuthority(t, "ca")
	file := func(first, second string) string {
		return ca.mtlsFile(listen) + fmt.Sprintf(`
admin: none
roles:
  first: {clients: [%s], mode: allowlist, unsafe_allow: [%q]}
  second: {clients: [%s], mode: allowlist, unsafe_allow: [%q]}
`, first, at, second, at)
	}
	d := run(t, file(`"cn:stays", "cn:moves", "cn:goes"`, `"cn:x"`))
	goesOn := map[string]func() bool{}
	certs := map[string][2]string{}
	for _, name := range []string{"stays", "moves", "goes"} {
		cert, key := ca.issue(name)
		certs[name] = [2]string{cert, key}
		c, err := ca.dial(listen, cert, key)
		if err != nil {
			t.Fatal(err)
		}
		goesOn[name] = streamOver(t, c, "http://"+at+"/stream")
	}
	if err := d.Reload(config(t, file(`"cn:stays"`, `"cn:moves"`))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "two clients to be cut", func() bool { return !goesOn["moves"]() && !goesOn["goes"]() })
	if !goesOn["stays"]() {
		t.Error("a client that kept its role was cut")
	}
	c, err := ca.dial(listen, certs["moves"][0], certs["moves"][1])
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := askOver(t, c, "http://"+at+"/"); code != 200 || len(d.lines(`"role":"second"`)) == 0 {
		t.Errorf("the client that moved: %d", code)
	}
}

// TestTwoProxiesInARow: a near one in front of the browsers, this one as its
// gateway, with real names, the real resolver and dialer. The near one resolves
// nothing; the far one's audit lines say on whose behalf.
func TestTwoProxiesInARow(t *testing.T) {
	lab := netlab.Need(t)
	public := netip.MustParseAddr("93.184.216.34")
	ln, err := lab.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "far %v", r.Header) })}
	go srv.Serve(ln)
	defer srv.Close()
	dns, err := lab.ServeDNS(func(name string) []netip.Addr {
		return map[string][]netip.Addr{"site.example.com": {public}, "rebound.example.com": {netip.MustParseAddr("10.0.0.1")}}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	defer dns.Close()
	ca := newAuthority(t, "ca")
	at := free(t)
	d := run(t, ca.mtlsFile(at)+fmt.Sprintf(`
admin: none
dns: {servers: [%q]}
roles:
  browsers: {clients: ["cn:worker"], trust_identity: true, mode: public, allow_insecure_http: true}
`, netip.AddrPortFrom(netlab.DNSServer, 53)))
	cert, key := ca.issue("worker")
	gateway, _, err := egress.UpstreamConfig{URL: "gateway://" + at, ServerName: "gateway.test", CAFile: ca.file, CertFile: cert, KeyFile: key}.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	near := egress.NewProxy(&egress.Gate{Dial: nil}, egress.Options{Gateway: gateway})
	defer near.Close()
	end, err := near.Listen()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.Compile(policy.Config{Mode: policy.ModePublic, AllowInsecureHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	r := egress.NewRun(egress.RunConfig{Tenant: "acme", ID: "task 7", Rules: rules})
	end.Assign(r)
	code, body := ask(t, end.Addr().String(), "http://site.example.com/")
	if code != 200 || !strings.HasPrefix(body, "far ") || strings.Contains(body, "Bellglass") {
		t.Errorf("got %d %q", code, body)
	}
	if code, body := ask(t, end.Addr().String(), "http://rebound.example.com/"); code != 403 || !strings.Contains(body, "address_not_public") {
		t.Errorf("rebound: %d %q", code, body)
	}
	if code, _ := ask(t, end.Addr().String(), "http://missing.example.com/"); code != 502 {
		t.Errorf("missing: %d", code)
	}
	asked := map[string]bool{}
	for _, q := range dns.Queries() {
		asked[q.Name] = true
	}
	if !asked["site.example.com"] || len(asked) != 3 {
		t.Errorf("asked for %v", asked)
	}
	eventually(t, "the audit lines", func() bool { return len(d.lines(`"role":"browsers"`, `"tenant":"acme"`, `"run":"task 7"`)) == 4 })
	if strings.Contains(d.out.String(), "93.184.216.34") || strings.Contains(d.out.String(), "10.0.0.1") {
		t.Errorf("the audit lines hold an address: %s", d.out.String())
	}
}
