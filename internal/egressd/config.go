package egressd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/policy"
)

// Defaults of the configuration.
const (
	DefaultAdmin      = "127.0.0.1:9128"
	DefaultDrain      = 30 * time.Second
	DefaultMaxClients = 4096
	DefaultMaxConns   = 4096
	DefaultWindow     = time.Hour
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// Config is a configuration file that was found to be good: every entry parses,
// every file it names was read.
type Config struct {
	file string

	admin      text
	audit      text
	drain      time.Duration
	maxClients int

	dns struct {
		servers []text
		timeout time.Duration
	}
	dialTimeout time.Duration

	mtls struct {
		at                           int // the line; 0 if there is none
		listen, cert, key, clientCAs text
	}

	upstream struct {
		at                                                int
		url, serverName, ca, cert, key, loginFile, logins text
	}

	roles []*role

	// What was made of it.
	tlsConfig *tls.Config // nil without mtls
	servers   []netip.AddrPort
	gateway   *egress.Gateway
	foreign   *egress.Foreign
}

// role is what some clients may reach.
type role struct {
	name    string
	line    int
	listen  text
	clients []text

	mode                                 text
	allow, resources, unsafeAllow, cidrs []text
	insecure, observe                    bool
	run                                  egress.RunConfig
}

// keys is the table of a whole file.
func (c *Config) keys() []key {
	return []key{
		{name: "roles", kind: "mapping", standard: "required", doc: "What who may reach: a name of your choice, and below it the keys of a role.",
			set: func(d *decoder, n *yaml.Node) { c.readRoles(d, n) }, inner: new(role).keys()},
		{name: "mtls", kind: "mapping", standard: "none", doc: "A listener for clients that show a certificate, by which they get their role: other egress proxies, and whatever else speaks to a proxy in TLS.",
			set: func(d *decoder, n *yaml.Node) { c.mtls.at = n.Line; d.mapping(n, c.mtlsKeys()) }, inner: c.mtlsKeys()},
		{name: "upstream", kind: "mapping", standard: "none", doc: "Another proxy that makes the connections.",
			set: func(d *decoder, n *yaml.Node) { c.upstream.at = n.Line; d.mapping(n, c.upstreamKeys()) }, inner: c.upstreamKeys()},
		{name: "dns", kind: "mapping", standard: "the system's resolver", doc: "How names are resolved.",
			set: func(d *decoder, n *yaml.Node) { d.mapping(n, c.dnsKeys()) }, inner: c.dnsKeys()},
		{name: "dial_timeout", kind: "duration", standard: "10s", doc: "Longest time for one connection to be made.",
			set: setDuration(&c.dialTimeout, time.Millisecond, 5*time.Minute)},
		{name: "max_clients", kind: "number", standard: fmt.Sprint(DefaultMaxClients), doc: "Most client connections of one listener, and of one role by mtls.",
			set: setCount(&c.maxClients)},
		{name: "admin", kind: "address:port", standard: DefaultAdmin, doc: "Where /healthz and /metrics are. Nobody is asked who they are there: other addresses than loopback are for a network of your own. `none` turns it off.",
			set: setText(&c.admin)},
		{name: "audit", kind: "path", standard: "stdout", doc: "Where the audit lines go: `stdout`, `none`, or a file, which is appended to, and opened anew at each reload.",
			set: setText(&c.audit)},
		{name: "drain", kind: "duration", standard: inWords(DefaultDrain), doc: "How long tunnels may go on after SIGTERM, before they are cut.",
			set: setDuration(&c.drain, 0, 24*time.Hour)},
	}
}

func (c *Config) mtlsKeys() []key {
	return []key{
		{name: "listen", kind: "address:port", standard: "required", doc: "", set: setText(&c.mtls.listen)},
		{name: "cert_file", kind: "path", standard: "required", doc: "Our certificate, in PEM.", set: setText(&c.mtls.cert)},
		{name: "key_file", kind: "path", standard: "required", doc: "Its key, in PEM.", set: setText(&c.mtls.key)},
		{name: "client_ca_file", kind: "path", standard: "required", doc: "The authorities that vouch for clients, in PEM. Use one that does nothing else.", set: setText(&c.mtls.clientCAs)},
	}
}

func (c *Config) upstreamKeys() []key {
	u := &c.upstream
	return []key{
		{name: "url", kind: "URL", standard: "required", doc: "`gateway://HOST:PORT`: another bellglass egress proxy; this one judges name and port, that one resolves, judges and dials. `http://HOST:PORT` or `https://HOST:PORT`: anybody's forward proxy; it is asked for addresses that were judged here. A name is resolved once, at the start.", set: setText(&u.url)},
		{name: "server_name", kind: "name", standard: "the host of url", doc: "The name in the proxy's certificate.", set: setText(&u.serverName)},
		{name: "ca_file", kind: "path", standard: "the system's; required for a gateway", doc: "The authorities that vouch for it, in PEM.", set: setText(&u.ca)},
		{name: "cert_file", kind: "path", standard: "required for a gateway", doc: "The certificate that a gateway knows us by, in PEM. It is read again when it changes.", set: setText(&u.cert)},
		{name: "key_file", kind: "path", standard: "required for a gateway", doc: "Its key, in PEM.", set: setText(&u.key)},
		{name: "credentials_file", kind: "path", standard: "none", doc: "A file whose first line is `user:password`, for a forward proxy.", set: setText(&u.loginFile)},
		{name: "credentials_env", kind: "name", standard: "none", doc: "A variable of the environment that holds the same.", set: setText(&u.logins)},
	}
}

func (c *Config) dnsKeys() []key {
	return []key{
		{name: "servers", kind: "list of addresses", standard: "the system's resolver", doc: "DNS servers to ask instead, each with `:port` if that is not 53.", set: setList(&c.dns.servers)},
		{name: "timeout", kind: "duration", standard: "5s", doc: "Longest time for one look-up.", set: setDuration(&c.dns.timeout, time.Millisecond, time.Minute)},
	}
}

func (r *role) keys() []key {
	return []key{
		{name: "listen", kind: "address:port", standard: "none", doc: "A listener of this role: whoever can reach it has the role. A role needs this, `clients`, or both.", set: setText(&r.listen)},
		{name: "clients", kind: "list", standard: "none", doc: "Who has the role at the mtls listener, by what their certificate says: `cn:NAME` (common name), `dns:NAME`, `uri:URI`. A certificate that fits two roles is refused.", set: setList(&r.clients)},
		{name: "trust_identity", kind: "true or false", standard: "false", doc: "Whether clients may say on whose behalf they ask, as another egress proxy does with its runs. That labels audit lines, and selects nothing. Only with `clients`, and without `listen`.", set: setBool(&r.run.TrustIdentity)},
		{name: "mode", kind: "word", standard: "allowlist", doc: "`deny`: nothing. `allowlist`: what is listed. `public`: any public name at the default ports.", set: setText(&r.mode)},
		{name: "allow", kind: "list of hosts", standard: "empty", doc: "`example.com`; `*.example.com`, any name below it; `.example.com`, both; an address, one of IPv6 in brackets; each with `:port` if that is not the default one.", set: setList(&r.allow)},
		{name: "resources", kind: "list of hosts", standard: "empty", doc: "Further hosts. A proxy cannot tell what a page loads from what is navigated to: to it both lists are one.", set: setList(&r.resources)},
		{name: "allow_insecure_http", kind: "true or false", standard: "false", doc: "Whether http without TLS is let through.", set: setBool(&r.insecure)},
		{name: "read_only", kind: "true or false", standard: "false", doc: "Whether plain http requests that could change something are refused. Methods inside TLS cannot be seen.", set: setBool(&r.run.ReadOnly)},
		{name: "unsafe_allow", kind: "list of address:port", standard: "empty", doc: "Exact literal addresses that are otherwise refused, such as `127.0.0.1:8080`. For tests and development; logged.", set: setList(&r.unsafeAllow)},
		{name: "allowed_private_cidrs", kind: "list of ranges", standard: "empty", doc: "Private ranges that listed hosts may have, such as `10.1.0.0/16`. Loopback, link-local and metadata addresses cannot be opened. Logged.", set: setList(&r.cidrs)},
		{name: "observe", kind: "true or false", standard: "false", doc: "Whether any public name is let through, to learn what an allowlist needs: audit lines then carry `observed: true`, and the list is logged at a reload and at the end.", set: setBool(&r.observe)},
		{name: "budgets", kind: "mapping", standard: "see there", doc: "How much the role may use.", set: func(d *decoder, n *yaml.Node) { d.mapping(n, r.budgetKeys()) }, inner: r.budgetKeys()},
	}
}

func (r *role) budgetKeys() []key {
	b := &r.run
	return []key{
		{name: "connections", kind: "number", standard: fmt.Sprint(DefaultMaxConns), doc: "Connections to the outside at one time.", set: setCount(&b.MaxConns)},
		{name: "requests", kind: "number", standard: "no limit", doc: "Tunnels and plain http requests in one window, refused ones included.", set: setCount(&b.MaxRequests)},
		{name: "bytes", kind: "size", standard: "no limit", doc: "Bytes sent and received in one window.", set: setSize(&b.MaxBytes)},
		{name: "hosts", kind: "number", standard: "no limit", doc: "Different hosts in one window.", set: setCount(&b.MaxHosts)},
		{name: "window", kind: "duration", standard: inWords(DefaultWindow), doc: "The time after which requests, bytes and hosts are counted anew.", set: setDuration(&b.Window, time.Second, 30*24*time.Hour)},
		{name: "names_per_minute", kind: "number", standard: fmt.Sprint(egress.DefaultMaxNames), doc: "Names below one registrable domain that may be looked up for the first time in one window and minute. It bounds what can be told to the owner of a domain by asking for names.", set: setCount(&b.MaxNames)},
		{name: "idle", kind: "duration", standard: inWords(egress.DefaultIdleTimeout), doc: "After so long without a byte a connection is closed.", set: setDuration(&b.IdleTimeout, time.Second, 24*time.Hour)},
		{name: "tunnel_time", kind: "duration", standard: inWords(egress.DefaultMaxDuration), doc: "Longest life of one tunnel.", set: setDuration(&b.MaxDuration, time.Second, 30*24*time.Hour)},
	}
}

// Load reads and checks a file, and all files that it names. Its error is
// [Problems], or that of reading the file.
func Load(ctx context.Context, path string) (*Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, Problems{{File: path, What: "is larger than 1 MiB"}}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(ctx, path, b)
}

func parse(ctx context.Context, path string, b []byte) (*Config, error) {
	c := &Config{file: path, drain: DefaultDrain, maxClients: DefaultMaxClients}
	c.admin.value, c.audit.value = DefaultAdmin, "stdout"
	d := &decoder{file: path}
	if root := d.document(bytes.NewReader(b)); root != nil {
		d.mapping(root, c.keys())
		c.check(ctx, d)
	}
	if err := d.sorted(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Config) readRoles(d *decoder, n *yaml.Node) {
	d.each(n, func(name, value *yaml.Node) {
		r := &role{name: name.Value, line: name.Line}
		// Zero means the default of a run, which is one read's: a role has
		// no end, and no limits but those that it is given.
		r.run = egress.RunConfig{Tenant: name.Value, MaxConns: DefaultMaxConns, MaxRequests: -1, MaxBytes: -1, MaxHosts: -1, Window: DefaultWindow}
		d.mapping(value, r.keys())
		c.roles = append(c.roles, r)
	})
}

// check looks at everything that more than one key decides.
func (c *Config) check(ctx context.Context, d *decoder) {
	if len(c.roles) == 0 {
		d.wrong(0, "no roles; nobody could reach anything")
	}
	listeners := map[string]int{} // line by address
	listener := func(t text) {
		if t.line == 0 || !checkListen(d, t) {
			return
		}
		if line, again := listeners[t.value]; again {
			d.wrong(t.line, "%s is listened on by line %d already", t.value, line)
		}
		listeners[t.value] = t.line
	}
	if c.admin.value != "none" {
		listener(c.admin)
	}
	listener(c.mtls.listen)
	identities := map[string]string{} // role by identity
	for _, r := range c.roles {
		listener(r.listen)
		r.check(d, c.mtls.at != 0, identities)
	}
	for _, r := range c.roles {
		r.checkUnsafe(d, listeners, c.admin)
	}
	c.checkMTLS(d)
	c.checkDNS(d)
	c.checkUpstream(ctx, d)
}

func checkListen(d *decoder, t text) bool {
	ap, err := netip.ParseAddrPort(t.value)
	if err != nil || ap.Port() == 0 {
		d.wrong(t.line, "%q is no address with port, such as 127.0.0.1:3128 or [::]:3128", t.value)
		return false
	}
	return true
}

func (r *role) check(d *decoder, mtls bool, identities map[string]string) {
	if r.name == "" || strings.Trim(r.name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		d.wrong(r.line, "role %q: a name is of letters, digits, -, _ and .", r.name)
	}
	switch {
	case r.listen.line == 0 && len(r.clients) == 0:
		d.wrong(r.line, "role %s has neither listen nor clients: nobody can have it", r.name)
	case r.run.TrustIdentity && (r.listen.line != 0 || len(r.clients) == 0):
		d.wrong(r.line, "role %s: trust_identity is for clients that show a certificate, and for no listen", r.name)
	}
	for _, t := range r.clients {
		kind, name, ok := strings.Cut(t.value, ":")
		if !ok || name == "" || !slices.Contains([]string{"cn", "dns", "uri"}, kind) {
			d.wrong(t.line, "%q is none of cn:NAME, dns:NAME, uri:URI", t.value)
		}
		if !mtls {
			d.wrong(t.line, "clients take an mtls listener, and there is none")
		}
		if other, again := identities[t.value]; again {
			d.wrong(t.line, "%s has role %s already", t.value, other)
		}
		identities[t.value] = r.name
	}
	r.compile(d)
}

// compile makes the rules.
func (r *role) compile(d *decoder) {
	lists := map[string][]text{"allow": r.allow, "resources": r.resources, "unsafe_allow": r.unsafeAllow, "allowed_private_cidrs": r.cidrs}
	mode := policy.Mode(r.mode.value)
	if r.mode.line == 0 {
		mode = policy.ModeAllowlist
	}
	rules, err := policy.Compile(policy.Config{
		Mode: mode, AllowInsecureHTTP: r.insecure, Observe: r.observe,
		Allow: values(r.allow), Resources: values(r.resources), UnsafeAllow: values(r.unsafeAllow), AllowedPrivateCIDRs: values(r.cidrs),
		Where: func(list string, i int) string { return fmt.Sprint(lists[list][i].line) },
	})
	r.run.Rules = rules
	for _, err := range each(err) {
		var entry *policy.EntryError
		if errors.As(err, &entry) {
			d.wrong(lists[entry.List][entry.Index].line, "role %s: %s: %q %s", r.name, entry.List, entry.Entry, entry.What)
			continue
		}
		d.wrong(r.mode.line, "role %s: %s", r.name, strings.TrimPrefix(err.Error(), "policy: "))
	}
}

// checkUnsafe refuses to open what would let a client speak to the proxy itself
// as if it were somebody else.
func (r *role) checkUnsafe(d *decoder, listeners map[string]int, admin text) {
	own := map[uint16]bool{}
	for at := range listeners {
		if ap, err := netip.ParseAddrPort(at); err == nil {
			own[ap.Port()] = true
		}
	}
	if ap, err := netip.ParseAddrPort(admin.value); err == nil {
		own[ap.Port()] = true
	}
	for _, t := range r.unsafeAllow {
		if ap, err := netip.ParseAddrPort(t.value); err == nil && own[ap.Port()] {
			d.wrong(t.line, "role %s: unsafe_allow: %s has the port of a listener of this proxy, which nobody reaches through it", r.name, t.value)
		}
	}
}

func (c *Config) checkMTLS(d *decoder) {
	m := &c.mtls
	if m.at == 0 {
		return
	}
	for _, k := range c.mtlsKeys() {
		var missing bool
		switch k.name {
		case "listen":
			missing = m.listen.value == ""
		case "cert_file":
			missing = m.cert.value == ""
		case "key_file":
			missing = m.key.value == ""
		case "client_ca_file":
			missing = m.clientCAs.value == ""
		}
		if missing {
			d.wrong(m.at, "mtls: %s is missing", k.name)
		}
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"http/1.1"}}
	if m.cert.value != "" && m.key.value != "" {
		pair, err := tls.LoadX509KeyPair(m.cert.value, m.key.value)
		if err != nil {
			d.wrong(m.cert.line, "mtls: certificate: %v", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	if m.clientCAs.value != "" {
		pem, err := os.ReadFile(m.clientCAs.value)
		cfg.ClientCAs = x509.NewCertPool()
		if err != nil {
			d.wrong(m.clientCAs.line, "mtls: authorities: %v", err)
		} else if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
			d.wrong(m.clientCAs.line, "mtls: %s holds no certificate in PEM", m.clientCAs.value)
		}
	}
	c.tlsConfig = cfg
}

func (c *Config) checkDNS(d *decoder) {
	for _, t := range c.dns.servers {
		ap, err := netip.ParseAddrPort(t.value)
		if err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(t.value); err == nil {
				ap = netip.AddrPortFrom(a, 53)
			}
		}
		if err != nil || ap.Port() == 0 {
			d.wrong(t.line, "%q is no address of a DNS server, such as 10.0.0.53 or [fd00::53]:5353", t.value)
			continue
		}
		c.servers = append(c.servers, ap)
	}
}

func (c *Config) checkUpstream(ctx context.Context, d *decoder) {
	u := &c.upstream
	if u.at == 0 {
		return
	}
	if u.url.value == "" {
		d.wrong(u.at, "upstream: url is missing")
		return
	}
	login := ""
	if u.logins.value != "" {
		if login = os.Getenv(u.logins.value); login == "" {
			d.wrong(u.logins.line, "upstream: the environment has no %s", u.logins.value)
		}
	}
	gateway, foreign, err := egress.UpstreamConfig{
		URL: u.url.value, ServerName: u.serverName.value, CAFile: u.ca.value,
		CertFile: u.cert.value, KeyFile: u.key.value, CredentialsFile: u.loginFile.value, Credentials: egress.Secret(login),
	}.Open(ctx)
	for _, err := range each(err) {
		d.wrong(u.at, "%s", strings.TrimPrefix(err.Error(), "egress: "))
	}
	c.gateway, c.foreign = gateway, foreign
}

// each returns the parts of a joined error.
func each(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func values(list []text) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.value
	}
	return out
}

// fixed is what only a restart can change.
func (c *Config) fixed() map[string]any {
	u := c.upstream
	return map[string]any{
		"admin":        c.admin.value,
		"mtls.listen":  c.mtls.listen.value,
		"max_clients":  c.maxClients,
		"dial_timeout": c.dialTimeout,
		"dns":          fmt.Sprint(c.servers, c.dns.timeout),
		"upstream":     fmt.Sprint(u.url.value, u.serverName.value, u.ca.value, u.cert.value, u.key.value, u.loginFile.value, u.logins.value),
	}
}

// loopback reports whether an address to listen on is this machine's alone.
func loopback(at string) bool {
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// inWords writes a duration as a person would: 5m, not 5m0s.
func inWords(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
