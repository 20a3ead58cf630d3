package policy

import (
	"strings"
	"testing"
)

func TestParseHost(t *testing.T) {
	for _, tt := range []struct{ id, in, want string }{
		{"", "example.com", "example.com"},
		{"URL-026", "ALLOWED.TEST", "allowed.test"},
		{"URL-027", "blocked.test.", "blocked.test"},
		{"", "xn--mnchen-3ya.de", "xn--mnchen-3ya.de"},
		{"DNS-040", "_x.allowed.test", "_x.allowed.test"},
		{"", "r3---sn-4g5e.example", "r3---sn-4g5e.example"},
		{"", "1.2.3.4", "1.2.3.4"},
		{"", "[::1]", "[::1]"},
		{"", "[2606:4700:0:0::A]", "[2606:4700::a]"},
		{"", "0x7f.test", "0x7f.test"},
		{"DNS-041 longest label", strings.Repeat("a", 63) + ".test", strings.Repeat("a", 63) + ".test"},
	} {
		h, err := ParseHost(tt.in)
		if err != nil || h.String() != tt.want {
			t.Errorf("%s %q: got %q, %v, want %q", tt.id, tt.in, h, err, tt.want)
		}
	}
	for _, tt := range []struct{ id, in string }{
		{"empty", ""},
		{"dot", "."},
		{"URL-013", "evil.test%00.allowed.test"},
		{"URL-014", "evil.test\x00.allowed.test"},
		{"URL-022", ".wild.test"},
		{"URL-022", "a..wild.test"},
		{"URL-028", "[blocked.test]"},
		{"not ASCII", "münchen.de"},
		{"two dots", "example.com.."},
		{"hyphen first", "-a.test"},
		{"hyphen last", "a-.test"},
		{"wildcard", "*.test"},
		{"port", "a.test:80"},
		{"userinfo", "a@b"},
		{"space", "a b"},
		{"punycode", "xn--a.test"},
		{"IP-009", "0x7f.1"},
		{"IP-009 single", "0x7f000001"},
		{"IP-009 short", "127.1"},
		{"IP-010", "0177.0.0.1"},
		{"IP-010 zero", "127.0.0.01"},
		{"decimal", "2130706433"},
		{"overflow", "256.0.0.1"},
		{"trailing dot of an address", "127.0.0.1."},
		{"hex last label", "example.0x1"},
		{"IP-090", "[::1%25x.allowed.test]"},
		{"IP-090 decoded", "[fe80::1%x.allowed.test]"},
		{"IPv4 in brackets", "[1.2.3.4]"},
		{"IPv6 without brackets", "::1"},
		{"unclosed", "[::1"},
		{"DNS-041 label", strings.Repeat("a", 64) + ".test"},
		{"DNS-041 name", strings.Repeat("a.", 126) + "test"},
	} {
		if h, err := ParseHost(tt.in); reason(t, err) != ReasonInvalidURL {
			t.Errorf("%s %q: got %q, %v", tt.id, tt.in, h, err)
		}
	}
}

func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"example.com", "EXAMPLE.com.", "1.2.3.4", "[::1]", "[::1%25lo.allowed.test]", "0x7f.1", "xn--mnchen-3ya.de", "a_b", "-", "[::ffff:1.2.3.4]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHost(s)
		if err != nil {
			if reason(t, err) != ReasonInvalidURL {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		if again, err := ParseHost(h.String()); err != nil || again != h {
			t.Errorf("%q: canonical %q reads as %v, %v", s, h, again, err)
		}
		// Whatever the proxy takes for a name, a URL parser must not take
		// for an address.
		u, err := parseURLHost(s)
		if err != nil || u != h {
			t.Errorf("%q: in a URL it is %v, %v", s, u, err)
		}
		if strings.ContainsAny(h.Name, "\x00 %/:@[]") || len(h.Name) > maxNameLength {
			t.Errorf("%q: name %q", s, h.Name)
		}
	})
}
