package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEntryGrammar(t *testing.T) {
	for _, tt := range []struct {
		id, entry, url string
		want           Reason
	}{
		{"", "example.com", "https://example.com/", ""},
		{"URL-018", "allowed.test", "https://evilallowed.test/", ReasonHost},
		{"URL-019", "allowed.test", "https://allowed.test.evil.test/", ReasonHost},
		{"URL-004", "allowed.test", "https://evil.test/#@allowed.test", ReasonHost},
		{"URL-005", "allowed.test", "https://evil.test/?@allowed.test", ReasonHost},
		{"URL-020", "*.wild.test", "https://wild.test/", ReasonHost},
		{"URL-021", "*.wild.test", "https://a.b.wild.test/", ""},
		{"", "*.wild.test", "https://a.wild.test/", ""},
		{"", "*.wild.test", "https://evilwild.test/", ReasonHost},
		{"", ".wild.test", "https://wild.test/", ""},
		{"", ".wild.test", "https://a.b.wild.test/", ""},
		{"", ".wild.test", "https://evilwild.test/", ReasonHost},
		{"URL-024 unicode", "münchen.example", "https://xn--mnchen-3ya.example/", ""},
		{"URL-024 punycode", "xn--mnchen-3ya.example", "https://münchen.example/", ""},
		{"URL-024 case", "EXAMPLE.test", "https://example.test/", ""},
		{"URL-024 dot", "example.test.", "https://example.test/", ""},
		{"URL-026", "allowed.test", "https://ALLOWED.TEST/", ""},
		{"URL-027", "allowed.test", "https://blocked.test./", ReasonHost},
		{"", "allowed.test", "https://allowed.test./", ""},
		{"URL-029", "allowed.test", "https://ⓐⓛⓛⓞⓦⓔⓓ.test/", ""},
		{"URL-032", "example.test", "https://ex\u0430mple.test/", ReasonHost},
		{"", "example.com:8443", "https://example.com:8443/", ""},
		{"", "example.com:8443", "https://example.com/", ReasonPort},
		{"RED-021", "allowed.test", "https://allowed.test:8443/", ReasonPort},
		{"", "*.example.com:8443", "https://a.example.com:8443/", ""},
		{"IP-092", "allowed.test", "https://93.184.216.34/", ReasonHost},
		{"", "93.184.216.34", "https://93.184.216.34/", ""},
		{"", "93.184.216.34", "https://0x5db8d822/", ""},
		{"", "[2606:4700::1111]:8443", "https://[2606:4700::1111]:8443/", ""},
		{"DNS-040", ".allowed.test", "https://_x.allowed.test/", ""},
	} {
		r := mustCompile(t, Config{Mode: ModeAllowlist, Allow: []string{tt.entry}})
		if got := reason(t, r.CheckURL(mustURL(t, tt.url))); got != tt.want {
			t.Errorf("%s entry %s, %s: got %q, want %q", tt.id, tt.entry, tt.url, got, tt.want)
		}
	}
}

func TestBadEntriesAreRefusedAtLoad(t *testing.T) {
	for _, tt := range []struct{ id, entry, what string }{
		{"", "", "empty"},
		{"URL-023", "*", "misplaced"},
		{"URL-023", "*.", "no host"},
		{"URL-023", "*.com", "public suffix"},
		{"URL-023", "foo*.test", "misplaced"},
		{"URL-023", "a.*.test", "misplaced"},
		{"URL-023", "*bar.test", "misplaced"},
		{"", ".com", "public suffix"},
		{"", "*.co.uk", "public suffix"},
		{"", "*.github.io", "public suffix"},
		{"", "*.test", "public suffix"},
		{"", "*.*.example.com", "misplaced"},
		{"", "**.example.com", "misplaced"},
		{"", "..example.com", "no host"},
		{"", "https://example.com", "URL"},
		{"", "example.com/path", "no host"},
		{"", " example.com", "no host"},
		{"", "example.com ", "no host"},
		{"", "exa mple.com", "no host"},
		{"", "user@example.com", "no host"},
		{"", "example.com:", "port"},
		{"", "example.com:0", "port"},
		{"", "example.com:080", "port"},
		{"", "example.com:65536", "port"},
		{"", "example.com:http", "port"},
		{"", "::1", "brackets"},
		{"", "2606:4700::1111", "brackets"},
		{"", "[fe80::1%eth0]", "no host"},
		{"", "0x7f.1", "no host"},
		{"", "127.1", "no host"},
		{"", "*.1.2.3.4", "wildcard over an address"},
		{"", "127.0.0.1", "loopback"},
		{"", "[::1]:8080", "loopback"},
		{"", "169.254.169.254", "metadata"},
		{"", "[::ffff:8.8.8.8]", "ipv4-mapped"},
		{"", "10.0.0.1", "outside allowed_private_cidrs"},
		{"", "localhost", "no entry opens it"},
		{"", "*.localhost", "no entry opens it"},
		{"", "metadata.google.internal", "no entry opens it"},
		{"", "x.onion", "no entry opens it"},
		{"", "xn--ü-.test", "internationalised"},
	} {
		for _, list := range []string{"allow", "resources"} {
			c := Config{Mode: ModeAllowlist}
			if list == "allow" {
				c.Allow = []string{tt.entry}
			} else {
				c.Resources = []string{tt.entry}
			}
			_, err := Compile(c)
			var e *EntryError
			if !errors.As(err, &e) || e.Entry != tt.entry || e.List != list || !strings.Contains(e.What, tt.what) {
				t.Errorf("%s %s %q: got %v, want one that says %q", tt.id, list, tt.entry, err, tt.what)
			}
		}
	}
}

func TestCompileReportsEveryProblemWithItsPlace(t *testing.T) {
	_, err := Compile(Config{
		Mode:                "open",
		Allow:               []string{"good.test", "*"},
		Resources:           []string{"bad entry"},
		UnsafeAllow:         []string{"localhost:80"},
		AllowedPrivateCIDRs: []string{"10.1.2.3/8"},
		Where:               func(list string, i int) string { return "bellglass.yaml:" + list },
	})
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, err := range joined.Unwrap() {
		text, _, _ := strings.Cut(err.Error(), `": `)
		got = append(got, text)
	}
	want := []string{
		"policy: mode: must be deny, allowlist or public",
		`policy: bellglass.yaml:allowed_private_cidrs: allowed_private_cidrs[0]: "10.1.2.3/8`,
		`policy: bellglass.yaml:unsafe_allow: unsafe_allow[0]: "localhost:80`,
		`policy: bellglass.yaml:allow: allow[1]: "*`,
		`policy: bellglass.yaml:resources: resources[0]: "bad entry`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestUnsafeAllowEntries(t *testing.T) {
	for _, s := range []string{"127.0.0.1:8080", "[::1]:8080", "127.9.9.9:1", "10.0.0.1:80", "192.168.1.5:8443"} {
		if _, err := Compile(Config{UnsafeAllow: []string{s}}); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{
		"", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:080", "127.0.0.1:99999", "localhost:8080", "127.1:80", "0177.0.0.1:80",
		"*:80", "127.0.0.0/8", "[::1%lo]:80", "::1:80", "[0::1]:80", "[::ffff:127.0.0.1]:80", " 127.0.0.1:80",
		"0.0.0.0:80", "169.254.169.254:80", "169.254.1.1:80", "168.63.129.16:80", "[fe80::1]:80", "[fd00:ec2::254]:80", "[::]:80",
	} {
		if _, err := Compile(Config{UnsafeAllow: []string{s}}); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

func TestAllowedPrivateCIDRs(t *testing.T) {
	for _, s := range []string{"10.0.0.0/8", "10.1.0.0/16", "192.168.1.5/32", "100.64.0.0/10", "fc00::/7", "fd12:3456::/32"} {
		if _, err := Compile(Config{AllowedPrivateCIDRs: []string{s}}); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{
		"", "10.0.0.0", "10.0.0.1/8", "0.0.0.0/0", "::/0", "8.8.8.0/24", "127.0.0.0/8", "127.0.0.1/32", "169.254.0.0/16",
		"169.254.169.254/32", "168.63.129.16/32", "100.100.100.200/32", "172.0.0.0/8", "2000::/3", "fe80::/10", "fd00:ec2::/32",
		"::ffff:10.0.0.0/104", "64:ff9b::/96", "fd00::/7", "FD00::/8",
	} {
		if _, err := Compile(Config{AllowedPrivateCIDRs: []string{s}}); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}
