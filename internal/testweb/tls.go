package testweb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Fault is what is wrong with the certificate of a site.
type Fault int

// The faults that [Web.BadTLS] knows.
const (
	Expired     Fault = iota + 1 // ended yesterday
	NotYetValid                  // begins tomorrow
	WrongName                    // valid for another host
	SelfSigned                   // signed by its own key
	// Incomplete lacks its intermediate, and names http://aia.test/issuer.crt
	// as the place to fetch it from: a way out that no page has to open.
	Incomplete
)

// AIAHost is the site that serves the missing intermediate of an [Incomplete]
// chain.
const AIAHost = "aia.test"

// BadTLS makes a handled host present a faulty certificate from now on.
func (w *Web) BadTLS(host string, f Fault) {
	s := w.site(host)
	if f == Incomplete {
		w.Handle(AIAHost, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/pkix-cert")
			rw.Write(w.ca.middle.cert.Raw)
		}))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.fault = f
}

// tlsConfig presents the certificate of the site, whatever name the client
// asks for: like most servers, and unlike one that would let a name pass at
// another name's address.
func (w *Web) tlsConfig(s *site) *tls.Config {
	return &tls.Config{
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			w.mu.Lock()
			fault := s.fault
			w.mu.Unlock()
			return w.ca.mint(s, fault)
		},
	}
}

// pair is a key, and the certificate of those keys that sign.
type pair struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func (p pair) spkiHash() string {
	der, err := x509.MarshalPKIXPublicKey(&p.key.PublicKey)
	if err != nil {
		panic("testweb: " + err.Error()) // a P-256 key always marshals
	}
	return hashSPKI(der)
}

// hashSPKI is the pin of a key as in RFC 7469 §2.4.
func hashSPKI(der []byte) string {
	sum := sha256.Sum256(der)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// authority is a throwaway certificate authority. No key ever leaves memory.
type authority struct {
	now          time.Time
	root, middle pair
	leaf, bad    pair // keys of the good sites and of the faulty ones
}

func newAuthority(now time.Time) (*authority, error) {
	a := &authority{now: now}
	for _, p := range []*pair{&a.root, &a.middle, &a.leaf, &a.bad} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		p.key = key
	}
	var err error
	if a.root.cert, err = a.signer("testweb throwaway root", a.root, a.root); err != nil {
		return nil, err
	}
	a.middle.cert, err = a.signer("testweb throwaway intermediate", a.middle, a.root)
	return a, err
}

// signer makes the certificate of an authority.
func (a *authority) signer(name string, p, by pair) (*x509.Certificate, error) {
	t := a.template(name)
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	parent := by.cert
	if parent == nil {
		parent = t
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, &p.key.PublicKey, by.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// template is a certificate that is valid around now. 90 days are well below
// the longest life that Chromium accepts of a leaf (398 days).
func (a *authority) template(name string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic("testweb: " + err.Error()) // crypto/rand does not fail
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    a.now.Add(-time.Hour),
		NotAfter:     a.now.Add(90 * 24 * time.Hour),
	}
}

// mint makes the certificate that a site presents.
func (a *authority) mint(s *site, f Fault) (*tls.Certificate, error) {
	t := a.template(s.name)
	t.DNSNames = []string{s.name}
	t.IPAddresses = []net.IP{s.v4.AsSlice(), s.v6.AsSlice()}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	subject, by := a.bad, a.root
	switch f {
	case 0:
		subject = a.leaf
	case Expired:
		t.NotBefore, t.NotAfter = a.now.Add(-30*24*time.Hour), a.now.Add(-24*time.Hour)
	case NotYetValid:
		t.NotBefore = a.now.Add(24 * time.Hour)
	case WrongName:
		t.Subject.CommonName, t.DNSNames, t.IPAddresses = "other.invalid", []string{"other.invalid"}, nil
	case SelfSigned:
		by = pair{key: a.bad.key, cert: t}
	case Incomplete:
		by = a.middle
		t.IssuingCertificateURL = []string{"http://" + AIAHost + "/issuer.crt"}
	default:
		return nil, fmt.Errorf("testweb: unknown TLS fault %d", f)
	}
	der, err := x509.CreateCertificate(rand.Reader, t, by.cert, &subject.key.PublicKey, by.key)
	if err != nil {
		return nil, fmt.Errorf("testweb: mint: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: subject.key}, nil
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.root.cert.Raw})
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.root.cert)
	return pool
}

// SystemRoots makes the throwaway authority the only one that this process takes
// for the system's, on Linux, if nothing has been verified with those before.
// The function it returns removes what that took.
func (w *Web) SystemRoots() (remove func(), err error) {
	dir, err := os.MkdirTemp("", "testweb-roots-")
	if err != nil {
		return nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	name := filepath.Join(dir, "authorities.pem")
	if err := errors.Join(os.WriteFile(name, w.CAPEM(), 0o600), os.Setenv("SSL_CERT_FILE", name), os.Setenv("SSL_CERT_DIR", dir)); err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}
