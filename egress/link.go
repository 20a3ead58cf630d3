package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// UpstreamConfig says which other proxy makes the connections, in the words of
// an operator: addresses and files. The zero value means none.
type UpstreamConfig struct {
	// URL is where the proxy is, by scheme:
	//
	//	gateway://10.1.2.3:3443   another egress proxy of this project
	//	http://10.1.2.4:3128      anybody's forward proxy
	//	https://10.1.2.4:3129     the same, spoken to in TLS
	//
	// A host name is resolved once, by Open; its address stays the same
	// after that. See [Gateway] and [Foreign] for who judges what.
	URL string

	// ServerName is the name in the certificate of a proxy that is spoken to
	// in TLS. If empty, the host of URL.
	ServerName string

	// CAFile holds the authorities that vouch for that certificate, in PEM.
	// A gateway needs it; for others the system's are the default.
	CAFile string

	// CertFile and KeyFile are what a gateway knows us by, in PEM. They are
	// read again when the former has changed.
	CertFile, KeyFile string

	// Credentials is "user:password" for a forward proxy, or "".
	// CredentialsFile is a file that holds the same in its first line.
	Credentials     Secret
	CredentialsFile string
}

// linkTimeout bounds the look-up of an upstream proxy's name.
const linkTimeout = 5 * time.Second

// Open checks everything and reads all files. Without URL it returns two nils;
// else exactly one is not nil. The error joins all that is wrong.
func (c UpstreamConfig) Open(ctx context.Context) (*Gateway, *Foreign, error) {
	if c.URL == "" {
		if c != (UpstreamConfig{}) {
			return nil, nil, errors.New("egress: upstream settings without an upstream URL")
		}
		return nil, nil, nil
	}
	l := opening{c: c}
	u := l.parse()
	cfg := &tls.Config{ServerName: c.ServerName, MinVersion: tls.VersionTLS12}
	if cfg.ServerName == "" {
		cfg.ServerName = u.Hostname()
	}
	l.authorities(cfg)
	auth := l.authorization()
	if u.Scheme == "gateway" {
		l.identity(cfg)
	}
	var addr netip.AddrPort
	if len(l.problems) == 0 {
		addr = l.resolve(ctx, u)
	}
	if err := errors.Join(l.problems...); err != nil {
		return nil, nil, err
	}
	if u.Scheme == "gateway" {
		cfg.MinVersion = tls.VersionTLS13
		g, err := NewGateway(addr, cfg)
		return g, nil, err
	}
	f := &Foreign{Addr: addr, Authorization: auth}
	if u.Scheme == "https" {
		f.TLS = cfg
	}
	return nil, f, nil
}

// opening collects what is wrong with an UpstreamConfig.
type opening struct {
	c        UpstreamConfig
	problems []error
}

func (l *opening) wrong(format string, args ...any) {
	l.problems = append(l.problems, fmt.Errorf("egress: upstream: "+format, args...))
}

// parse returns the parts of the URL; an empty one if there is no sense in it.
func (l *opening) parse() *url.URL {
	u, err := url.Parse(l.c.URL)
	if err != nil { // the error would show what stands in front of the host
		l.wrong("the URL cannot be parsed; write gateway://ADDRESS:PORT, http://ADDRESS:PORT or https://ADDRESS:PORT")
		return new(url.URL)
	}
	switch {
	case u.User != nil:
		l.wrong("credentials in the URL would show in process lists and logs; put them into a file")
	case u.Scheme != "gateway" && u.Scheme != "http" && u.Scheme != "https":
		l.wrong("scheme %q is none of gateway, http, https", u.Scheme)
	case u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		l.wrong("the URL must be a scheme, a host and a port, and nothing more")
	}
	if _, err := policy.ParsePort(u.Port()); u.Port() != "" && err != nil {
		l.wrong("bad port %q", u.Port())
	}
	c := l.c
	switch {
	case u.Scheme == "http" && (c.CAFile != "" || c.ServerName != ""):
		l.wrong("an http proxy has no certificate: CA file and server name are for https and gateway")
	case u.Scheme == "gateway" && c.CAFile == "":
		l.wrong("a gateway needs a CA file")
	}
	if u.Scheme != "gateway" && (c.CertFile != "" || c.KeyFile != "") {
		l.wrong("certificate and key are for a gateway only")
	}
	if u.Scheme == "gateway" && (c.Credentials != "" || c.CredentialsFile != "") {
		l.wrong("a gateway knows its clients by certificate, not by credentials")
	}
	return u
}

func (l *opening) authorities(cfg *tls.Config) {
	if l.c.CAFile == "" {
		return
	}
	pem, err := os.ReadFile(l.c.CAFile)
	if err != nil {
		l.wrong("CA file: %w", err)
		return
	}
	cfg.RootCAs = x509.NewCertPool()
	if !cfg.RootCAs.AppendCertsFromPEM(pem) {
		l.wrong("CA file %s holds no certificate in PEM", l.c.CAFile)
	}
}

func (l *opening) identity(cfg *tls.Config) {
	if l.c.CertFile == "" || l.c.KeyFile == "" {
		l.wrong("a gateway needs a certificate and a key to know us by")
		return
	}
	pair := &keyPair{certFile: l.c.CertFile, keyFile: l.c.KeyFile}
	if _, err := pair.current(); err != nil {
		l.wrong("certificate: %w", err)
		return
	}
	cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.current() }
}

// authorization returns the value of the Proxy-Authorization field. No problem
// it notes quotes what it read.
func (l *opening) authorization() Secret {
	text := string(l.c.Credentials)
	if l.c.CredentialsFile != "" {
		if text != "" {
			l.wrong("credentials are given twice")
		}
		b, err := os.ReadFile(l.c.CredentialsFile)
		if err != nil {
			l.wrong("credentials: %w", err)
			return ""
		}
		text, _, _ = strings.Cut(string(b), "\n")
		if text = strings.TrimSuffix(text, "\r"); text == "" {
			l.wrong("credentials file %s has nothing in its first line", l.c.CredentialsFile)
		}
	}
	if text == "" {
		return ""
	}
	if user, _, ok := strings.Cut(text, ":"); !ok || user == "" {
		l.wrong("credentials have not the form user:password")
	}
	return Secret("Basic " + base64.StdEncoding.EncodeToString([]byte(text)))
}

func (l *opening) resolve(ctx context.Context, u *url.URL) netip.AddrPort {
	port, _ := policy.ParsePort(u.Port()) // parse has checked it
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		return netip.AddrPortFrom(a.Unmap(), port)
	}
	ctx, cancel := context.WithTimeout(ctx, linkTimeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		l.wrong("host: %w", err)
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(addrs[0].Unmap(), port)
}

// keyPair is a certificate and its key, read again when the file of the former
// has changed: certificates are renewed while their users run.
type keyPair struct {
	certFile, keyFile string

	mu   sync.Mutex
	read time.Time // modification time of what was read
	pair *tls.Certificate
}

// current returns the pair of this moment, or the one before where the present
// files are no pair.
func (k *keyPair) current() (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	info, err := os.Stat(k.certFile)
	if err == nil && (k.pair == nil || !info.ModTime().Equal(k.read)) {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(k.certFile, k.keyFile); err == nil {
			k.pair, k.read = &pair, info.ModTime()
		}
	}
	if k.pair != nil {
		return k.pair, nil
	}
	return nil, err
}
