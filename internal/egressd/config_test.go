package egressd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEveryProblemIsTold at once, with its line. Each "want" is the start of a
// line of the error.
func TestEveryProblemIsTold(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"empty", "", "x.yaml: is empty"},
		{"comment", "# nothing\n", "x.yaml: is empty"},
		{"no roles", "drain: 1s\n", "x.yaml: no roles"},
		{"not YAML", "roles: [a\nb", "x.yaml:2: did not find"},
		{"tab", "roles:\n\ta: 1\n", "x.yaml:2: found character"},
		{"list", "- a\n", "x.yaml: no roles\nx.yaml:1: must be a mapping"},
		{"two documents", "roles: {a: {listen: 127.0.0.1:1}}\n---\nroles: {}\n", "x.yaml:2: a second document"},
		{"second document is broken", "roles: {a: {listen: 127.0.0.1:1}}\n---\n[\n", "x.yaml:3: did not find"},
		{"unknown keys", `
role: {}
roles:
  a: {listen: 127.0.0.1:1, alow: [b.com]}
dns: {server: 10.0.0.1}
mtls: {ca: x}
upstream: {uri: x}
`, `x.yaml:2: unknown key "role"
x.yaml:4: unknown key "alow"
x.yaml:5: unknown key "server"
x.yaml:6: unknown key "ca"
x.yaml:6: mtls: listen is missing
x.yaml:6: mtls: cert_file is missing
x.yaml:6: mtls: key_file is missing
x.yaml:6: mtls: client_ca_file is missing
x.yaml:7: unknown key "uri"
x.yaml:7: upstream: url is missing`},
		{"twice", "roles:\n  a: {listen: 127.0.0.1:1}\n  a: {listen: 127.0.0.1:2}\n", "x.yaml:3: a stands in line 2 already"},
		{"values of the wrong kind", `
roles:
  a:
    listen: [127.0.0.1:1]
    allow: b.com
    observe: yes
    allow_insecure_http: 1
    resources: [~, {c: d}]
    budgets: {connections: 0, bytes: 1PB, idle: 5, tunnel_time: 99999h, window: 1ms}
  b: ~
max_clients: -1
`, `x.yaml:3: role a has neither
x.yaml:4: a value is missing
x.yaml:5: must be a list
x.yaml:6: "yes" is neither
x.yaml:7: "1" is neither
x.yaml:8: a value is missing
x.yaml:8: a value is missing
x.yaml:9: "0" is no number
x.yaml:9: "1PB" is no size
x.yaml:9: "5" is no duration
x.yaml:9: 99999h is not between
x.yaml:9: 1ms is not between
x.yaml:10: must be a mapping
x.yaml:10: role b has neither
x.yaml:11: "-1" is no number`},
		{"entries", `
roles:
  a:
    listen: 127.0.0.1:1
    mode: everything
    allow:
      - good.com
      - "*"
      - "*.com"
    resources: ["https://x.com/"]
    unsafe_allow: ["localhost:80", "169.254.169.254:80"]
    allowed_private_cidrs: [10.0.0.1/8, 127.0.0.0/8]
`, `x.yaml:5: role a: mode: must be
x.yaml:8: role a: allow: "*" has
x.yaml:9: role a: allow: "*.com" is a wildcard
x.yaml:10: role a: resources: "https://x.com/" is a URL
x.yaml:11: role a: unsafe_allow: "localhost:80" is no
x.yaml:11: role a: unsafe_allow: "169.254.169.254:80" is a
x.yaml:12: role a: allowed_private_cidrs: "10.0.0.1/8" is not canonical
x.yaml:12: role a: allowed_private_cidrs: "127.0.0.0/8" is loopback`},
		{"listeners", `
roles:
  a: {listen: 127.0.0.1:9128}
  b: {listen: "127.0.0.1"}
  c: {listen: localhost:3128}
  d: {listen: "127.0.0.1:3128", unsafe_allow: ["127.0.0.1:3128", "127.0.0.1:9128", "127.0.0.1:80"]}
  e: {listen: "127.0.0.1:3128"}
  "a b": {listen: "127.0.0.1:4"}
`, `x.yaml:4: "127.0.0.1" is no address
x.yaml:5: "localhost:3128" is no address
x.yaml:6: role d: unsafe_allow: 127.0.0.1:3128 has the port of a listener
x.yaml:6: role d: unsafe_allow: 127.0.0.1:9128 has the port of a listener
x.yaml:7: 127.0.0.1:3128 is listened on by line 6
x.yaml:8: role "a b": a name is`},
		{"admin at a listener", `
roles:
  a: {listen: "127.0.0.1:3128"}
admin: 127.0.0.1:3128
`, `x.yaml:3: 127.0.0.1:3128 is listened on by line 4`},
		{"clients", `
roles:
  a: {clients: ["cn:one", worker, "ip:1", "cn:"]}
  b: {clients: ["cn:one"], listen: "127.0.0.1:1", trust_identity: true}
  c: {trust_identity: true, listen: "127.0.0.1:2"}
`, `x.yaml:3: clients take an mtls listener
x.yaml:3: "worker" is none of
x.yaml:3: clients take an mtls listener
x.yaml:3: "ip:1" is none of
x.yaml:3: clients take an mtls listener
x.yaml:3: "cn:" is none of
x.yaml:3: clients take an mtls listener
x.yaml:4: role b: trust_identity is
x.yaml:4: clients take an mtls listener
x.yaml:4: cn:one has role a already
x.yaml:5: role c: trust_identity is`},
		{"files", `
roles: {a: {clients: ["cn:one"]}}
mtls:
  listen: 127.0.0.1:1
  cert_file: /nowhere/cert
  key_file: /nowhere/key
  client_ca_file: /nowhere/ca
upstream:
  url: gateway://127.0.0.1:1
  credentials_env: BELLGLASS_NO_SUCH_VARIABLE
`, `x.yaml:5: mtls: certificate: open /nowhere/cert
x.yaml:7: mtls: authorities: open /nowhere/ca
x.yaml:9: upstream: a gateway needs a CA file
x.yaml:9: upstream: a gateway needs a certificate
x.yaml:10: upstream: the environment has no BELLGLASS_NO_SUCH_VARIABLE`},
		{"DNS servers", `
roles: {a: {listen: "127.0.0.1:1"}}
dns: {servers: [10.0.0.53, "[fd00::53]:5353", dns.example.com, "10.0.0.1:0"], timeout: 2m}
`, `x.yaml:3: 2m is not between
x.yaml:3: "dns.example.com" is no address
x.yaml:3: "10.0.0.1:0" is no address`},
	} {
		_, err := parse(t.Context(), "x.yaml", []byte(tt.file))
		if err == nil {
			t.Errorf("%s: no error", tt.name)
			continue
		}
		got, want := strings.Split(err.Error(), "\n"), strings.Split(tt.want, "\n")
		for i := range got {
			if i < len(want) && strings.HasPrefix(got[i], want[i]) {
				got[i] = want[i]
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDefaultsOfARole(t *testing.T) {
	c, err := parse(t.Context(), "x.yaml", []byte("roles: {a: {listen: '127.0.0.1:1'}}"))
	if err != nil {
		t.Fatal(err)
	}
	r := c.roles[0].run
	if r.MaxConns != DefaultMaxConns || r.MaxRequests != -1 || r.MaxBytes != -1 || r.MaxHosts != -1 || r.MaxNames != 0 || r.Window != time.Hour || r.ReadOnly || r.TrustIdentity {
		t.Errorf("%+v", r)
	}
	if c.admin.value != DefaultAdmin || c.audit.value != "stdout" || c.drain != DefaultDrain {
		t.Errorf("%+v", c)
	}
}

func TestBudgetsAreRead(t *testing.T) {
	_, err := parse(t.Context(), "x.yaml", []byte(`
common: &b {connections: 1, requests: 2_000, bytes: 3 GiB, hosts: 4, window: 5m, names_per_minute: 6, idle: 7s, tunnel_time: 8h}
roles: {a: {listen: '127.0.0.1:1', budgets: *b}}
`))
	if want := `x.yaml:2: unknown key "common"`; err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("got %v, want only %s", err, want) // an alias itself is fine
	}
	c, err := parse(t.Context(), "x.yaml", []byte(`
roles: {a: {listen: '127.0.0.1:1', budgets: {connections: 1, requests: 2_000, bytes: 3 GiB, hosts: 4, window: 5m, names_per_minute: 6, idle: 7s, tunnel_time: 8h}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	r := c.roles[0].run
	got := []int64{int64(r.MaxConns), r.MaxRequests, r.MaxBytes, int64(r.MaxHosts), int64(r.Window), int64(r.MaxNames), int64(r.IdleTimeout), int64(r.MaxDuration)}
	want := []int64{1, 2000, 3 << 30, 4, int64(5 * time.Minute), 6, int64(7 * time.Second), int64(8 * time.Hour)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var offer = regexp.MustCompile(`(?m)^#( *[a-z_]+:)`)

// TestTheExampleIsGood: as it is, and with all that it offers switched on, less
// the files and hosts that it then names.
func TestTheExampleIsGood(t *testing.T) {
	path := filepath.Join("..", "..", "deploy", "egress.yaml")
	if _, err := Load(t.Context(), path); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = parse(t.Context(), "x", offer.ReplaceAll(b, []byte("$1")))
	for _, p := range each(err) {
		for line := range strings.SplitSeq(p.Error(), "\n") {
			if !strings.Contains(line, "no such file") && !strings.Contains(line, "no such host") {
				t.Error(line)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("roles: {a: {listen: 127.0.0.1:1, allow: [b.com]}}"))
	f.Add([]byte("roles: &a\n  b: *a\n"))
	f.Add([]byte("a: !!binary x\n? [b]\n: c\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if strings.Contains(string(b), "_file") || strings.Contains(string(b), "url") {
			t.Skip("would read files or ask for names")
		}
		c, err := parse(t.Context(), "x", b)
		if (c == nil) == (err == nil) {
			t.Fatal(c, err)
		}
		if c == nil {
			return
		}
		for _, r := range c.roles {
			if r.run.Rules == nil || r.run.Tenant == "" {
				t.Errorf("role %+v", r)
			}
		}
	})
}
