package policy

import (
	"errors"
	"net/netip"
	"testing"
)

func mustURL(t *testing.T, s string) *URL {
	t.Helper()
	u, err := ParseURL(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return u
}

func mustCompile(t *testing.T, c Config) *Rules {
	t.Helper()
	r, err := Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// reason returns the reason word of an error, "" for nil.
func reason(t *testing.T, err error) Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	var r *Refusal
	if !errors.As(err, &r) {
		t.Fatalf("error %v is no *Refusal", err)
	}
	return r.Reason
}

func TestCheckURLInPublicMode(t *testing.T) {
	r := mustCompile(t, Config{
		Mode:              ModePublic,
		AllowInsecureHTTP: true,
		Allow:             []string{"example.com:8443", "intranet.corp", "93.184.216.34"},
		UnsafeAllow:       []string{"127.0.0.1:8080"},
	})
	for url, want := range map[string]Reason{
		"https://anything.example/":      "",
		"http://anything.example/":       "",
		"https://anything.example:8443/": ReasonPort,
		"http://anything.example:443/":   ReasonPort,
		"https://anything.example:80/":   ReasonPort,
		"https://example.com:8443/":      "",
		"https://example.com/":           "",
		"https://intranet.corp/":         "",
		"https://other.corp/":            ReasonHost,
		"https://printer/":               ReasonHost,
		"https://93.184.216.34/":         "",
		"https://93.184.216.35/":         ReasonHost, // IP-092
		"http://2130706433/":             ReasonAddress,
		"http://127.0.0.1:8080/":         "",
		"https://127.0.0.1:8080/":        "",
		"http://0x7f.1:8080/":            "", // the same address
		"http://127.0.0.1:8081/":         ReasonAddress,
		"http://127.0.0.2:8080/":         ReasonAddress,
		"http://[::1]:8080/":             ReasonAddress,
		"http://localhost:8080/":         ReasonHost,
	} {
		if got := reason(t, r.CheckURL(mustURL(t, url))); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
}

// TestLoopbackInAnySpellingIsNamedByItsClass covers the spellings a browser
// understands. The reason says what the address is, however it was written.
func TestLoopbackInAnySpellingIsNamedByItsClass(t *testing.T) {
	for _, mode := range []Mode{ModeDeny, ModeAllowlist, ModePublic} {
		for _, insecure := range []bool{false, true} {
			r := mustCompile(t, Config{Mode: mode, AllowInsecureHTTP: insecure})
			for id, tt := range map[string]struct{ url, what string }{
				"IP-001":          {"http://2130706433/", "loopback address"},
				"IP-002":          {"http://0x7f.1/", "loopback address"},
				"IP-003":          {"http://0177.0.0.1/", "loopback address"},
				"IP-004":          {"http://127.1/", "loopback address"},
				"IP-006":          {"http://①②⑦.0.0.1/", "loopback address"},
				"IP-007":          {"http://127.0.0.1./", "loopback address"},
				"IP-008":          {"http://2852039166/", "metadata address"},
				"eg04 metadata":   {"http://169.254.169.254/latest/meta-data/", "metadata address"},
				"WS-005 loopback": {"http://[::1]:9222/", "loopback address"},
				"IP-050":          {"http://[::ffff:169.254.169.254]/", "ipv4-mapped address"},
				"private":         {"http://10.0.0.1/", "private address"},
			} {
				err := r.CheckURL(mustURL(t, tt.url))
				var refusal *Refusal
				if !errors.As(err, &refusal) || refusal.Reason != ReasonAddress || refusal.What != tt.what {
					t.Errorf("%s, mode %s: %s: got %v, want %s", id, mode, tt.url, err, tt.what)
				}
			}
		}
	}
}

func TestNamesRefusedBeforeDNS(t *testing.T) {
	public := mustCompile(t, Config{Mode: ModePublic, AllowInsecureHTTP: true})
	for _, tt := range []struct {
		id, name string
		hard     bool
	}{
		{"DNS-010", "localhost", true},
		{"DNS-011", "LOCALHOST.", true},
		{"", "a.localhost", true},
		{"DNS-013", "localhost.localdomain", true},
		{"DNS-014", "ip6-localhost", true},
		{"DNS-015", "metadata.google.internal", true},
		{"DNS-016", "metadata", true},
		{"DNS-017", "metadata.goog", true},
		{"DNS-018", "instance-data", true},
		{"DNS-019", "instance-data.ec2.internal", true},
		{"", "metadata.azure.internal", true},
		{"DNS-021", "metadata.tencentyun.com", true},
		{"DNS-022", "x.local", false},
		{"DNS-023", "x.internal", false},
		{"DNS-024", "x.home.arpa", false},
		{"DNS-025", "x.onion", true},
		{"DNS-026", "x.localdomain", true},
		{"DNS-027", "x.lan", false},
		{"DNS-028", "x.corp", false},
		{"DNS-029", "kubernetes.default.svc", false},
		{"DNS-030", "x.svc.cluster.local", false},
		{"DNS-031", "intranet", false},
		{"", "x.invalid", true},
		{"", "home.arpa", false},
	} {
		h, err := ParseHost(tt.name)
		if err != nil {
			t.Errorf("%s %s: %v", tt.id, tt.name, err)
			continue
		}
		if got := reason(t, public.CheckConnect(h, 443, true)); got != ReasonHost {
			t.Errorf("%s %s: got %q, want %q", tt.id, tt.name, got, ReasonHost)
		}
		// An entry opens the soft ones, by their own name only.
		r, err := Compile(Config{Mode: ModePublic, Allow: []string{tt.name}})
		if tt.hard != (err != nil) {
			t.Errorf("%s %s: as an entry: %v", tt.id, tt.name, err)
		}
		if err == nil && r.CheckConnect(h, 443, true) != nil {
			t.Errorf("%s %s: not opened by its entry", tt.id, tt.name)
		}
	}
}

// TestEmptyListsDenyAll: URL-025. No form of nothing means no restriction.
func TestEmptyListsDenyAll(t *testing.T) {
	var none *Rules
	for name, r := range map[string]*Rules{
		"nil":            none,
		"zero":           new(Rules),
		"zero config":    mustCompile(t, Config{}),
		"deny":           mustCompile(t, Config{Mode: ModeDeny, Allow: []string{"example.com"}, UnsafeAllow: []string{"127.0.0.1:80"}, Observe: true}),
		"allowlist":      mustCompile(t, Config{Mode: ModeAllowlist, AllowInsecureHTTP: true}),
		"allowlist, []":  mustCompile(t, Config{Mode: ModeAllowlist, Allow: []string{}}),
		"resources only": mustCompile(t, Config{Mode: ModeAllowlist, Resources: []string{"other.test"}}),
	} {
		u := mustURL(t, "https://example.com/")
		if r.CheckURL(u) == nil {
			t.Errorf("%s: navigation allowed", name)
		}
		if r.CheckConnect(u.Host, 443, true) == nil {
			t.Errorf("%s: connection allowed", name)
		}
		if loopback := mustURL(t, "http://127.0.0.1/"); r.CheckURL(loopback) == nil || r.CheckAddr(loopback.Host, loopback.Host.Addr, 80) == nil {
			t.Errorf("%s: loopback allowed", name)
		}
	}
	for name, r := range map[string]*Rules{"nil": none, "zero": new(Rules), "deny": mustCompile(t, Config{})} {
		if r.CheckAddr(Host{Name: "example.com"}, netip.MustParseAddr("93.184.216.34"), 443) == nil {
			t.Errorf("%s: public address allowed", name)
		}
	}
}

func TestInsecureHTTP(t *testing.T) {
	strict := Config{Mode: ModeAllowlist, Allow: []string{"allowed.test", "allowed.test:8080", "ws.test:80"}, UnsafeAllow: []string{"127.0.0.1:8080"}}
	loose := strict
	loose.AllowInsecureHTTP = true
	for _, tt := range []struct {
		id, url       string
		strict, loose Reason
	}{
		{"", "https://allowed.test/", "", ""},
		{"RED-020 TLS-010", "http://allowed.test/", ReasonScheme, ""},
		{"", "http://allowed.test:8080/", ReasonScheme, ""},
		{"", "https://allowed.test:8080/", "", ""},
		{"", "http://127.0.0.1:8080/", "", ""},
		{"", "http://other.test/", ReasonScheme, ReasonHost},
	} {
		if got := reason(t, mustCompile(t, strict).CheckURL(mustURL(t, tt.url))); got != tt.strict {
			t.Errorf("%s %s: got %q, want %q", tt.id, tt.url, got, tt.strict)
		}
		if got := reason(t, mustCompile(t, loose).CheckURL(mustURL(t, tt.url))); got != tt.loose {
			t.Errorf("%s %s, insecure http allowed: got %q, want %q", tt.id, tt.url, got, tt.loose)
		}
	}
}

func TestPlainTunnelNeedsPort80Listed(t *testing.T) {
	r := mustCompile(t, Config{Mode: ModePublic, AllowInsecureHTTP: true, Allow: []string{"ws.test:80", "plain.test"}, UnsafeAllow: []string{"127.0.0.1:8080"}})
	for _, tt := range []struct {
		host    string
		port    uint16
		connect Reason
		plain   bool
	}{
		{"ws.test", 80, "", true},
		{"ws.test", 443, "", false},           // public mode
		{"plain.test", 80, ReasonPort, false}, // WS-003
		{"plain.test", 443, "", false},
		{"other.test", 80, ReasonPort, false},
		{"127.0.0.1", 8080, "", true},
	} {
		h, err := ParseHost(tt.host)
		if err != nil {
			t.Fatal(err)
		}
		if got := reason(t, r.CheckConnect(h, tt.port, true)); got != tt.connect {
			t.Errorf("CONNECT %s:%d: got %q, want %q", tt.host, tt.port, got, tt.connect)
		}
		if got := r.PlainTunnel(h, tt.port); got != tt.plain {
			t.Errorf("plain tunnel to %s:%d: got %v, want %v", tt.host, tt.port, got, tt.plain)
		}
	}
}

func TestResourcesAreForConnectionsOnly(t *testing.T) {
	r := mustCompile(t, Config{Mode: ModeAllowlist, Allow: []string{"page.test"}, Resources: []string{"*.cdn.test"}})
	cdn := mustURL(t, "https://a.cdn.test/")
	if got := reason(t, r.CheckURL(cdn)); got != ReasonHost {
		t.Errorf("navigation: got %q", got)
	}
	if err := r.CheckConnect(cdn.Host, 443, true); err != nil {
		t.Errorf("connection: %v", err)
	}
}

func TestObserve(t *testing.T) {
	r := mustCompile(t, Config{Mode: ModeAllowlist, Allow: []string{"page.test"}, Observe: true})
	for _, tt := range []struct {
		url                  string
		navigation, resource Reason
		listed               bool
	}{
		{"https://page.test/", "", "", true},
		{"https://cdn.test/", ReasonHost, "", false},
		{"https://cdn.test:8443/", ReasonHost, ReasonPort, false},
		{"https://x.internal/", ReasonHost, ReasonHost, false},
		{"https://localhost/", ReasonHost, ReasonHost, false},
		{"https://127.0.0.1/", ReasonAddress, ReasonAddress, false},
		{"https://93.184.216.34/", ReasonHost, ReasonHost, false},
	} {
		u := mustURL(t, tt.url)
		if got := reason(t, r.CheckURL(u)); got != tt.navigation {
			t.Errorf("navigate %s: got %q, want %q", u, got, tt.navigation)
		}
		if got := reason(t, r.CheckConnect(u.Host, u.Port, true)); got != tt.resource {
			t.Errorf("load %s: got %q, want %q", u, got, tt.resource)
		}
		if got := r.Listed(u.Host, u.Port, true); got != tt.listed {
			t.Errorf("listed %s: got %v, want %v", u, got, tt.listed)
		}
	}
}

func TestPrivateRangesOpenOnlyToNamedHosts(t *testing.T) {
	r := mustCompile(t, Config{
		Mode:                ModePublic,
		Allow:               []string{"wiki.corp", "10.1.2.3", "odd.example:8443"},
		AllowedPrivateCIDRs: []string{"10.1.0.0/16", "100.64.0.0/10"},
		UnsafeAllow:         []string{"127.0.0.1:8080"},
	})
	named := Host{Name: "wiki.corp"}
	for _, tt := range []struct {
		h    Host
		a    string
		port uint16
		want Reason
	}{
		{named, "10.1.2.3", 443, ""},
		{named, "10.2.0.1", 443, ReasonAddress},
		{named, "100.64.0.1", 443, ""},
		{named, "100.100.100.200", 443, ReasonAddress}, // metadata inside the range
		{named, "127.0.0.1", 443, ReasonAddress},
		{named, "127.0.0.1", 8080, ReasonAddress}, // a name never uses unsafe_allow
		{Host{Name: "example.com"}, "10.1.2.3", 443, ReasonAddress},
		{Host{Name: "odd.example"}, "10.1.2.3", 8443, ""},
		{Host{Name: "odd.example"}, "10.1.2.3", 443, ReasonAddress},
		{Host{Addr: netip.MustParseAddr("10.1.2.3")}, "10.1.2.3", 443, ""},
		{Host{Addr: netip.MustParseAddr("10.1.2.4")}, "10.1.2.4", 443, ReasonAddress},
		{Host{Addr: netip.MustParseAddr("10.1.2.3")}, "93.184.216.34", 443, ReasonAddress},
	} {
		if got := reason(t, r.CheckAddr(tt.h, netip.MustParseAddr(tt.a), tt.port)); got != tt.want {
			t.Errorf("%v at %s, port %d: got %q, want %q", tt.h, tt.a, tt.port, got, tt.want)
		}
	}
	// Without a name to resolve, the verdict comes before any connection.
	if got := reason(t, r.CheckURL(mustURL(t, "https://10.1.2.3/"))); got != "" {
		t.Errorf("listed private literal: got %q", got)
	}
	if got := reason(t, r.CheckURL(mustURL(t, "https://10.1.2.4/"))); got != ReasonAddress {
		t.Errorf("private literal that is not listed: got %q", got)
	}
}

func BenchmarkCheckConnect(b *testing.B) {
	r, err := Compile(Config{Mode: ModeAllowlist, Allow: []string{"a.test", "*.b.test", ".c.test:8443"}})
	if err != nil {
		b.Fatal(err)
	}
	h := Host{Name: "www.shop.b.test"}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.CheckConnect(h, 443, true); err != nil {
			b.Fatal(err)
		}
	}
}
