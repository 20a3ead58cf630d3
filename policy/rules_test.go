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
		t.Fatal(err)
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
		"https://example.com:8443/":      "",
		"https://example.com/":           "",
		"https://intranet.corp/":         "",
		"https://other.corp/":            ReasonHost,
		"https://printer/":               ReasonHost,
		"https://93.184.216.34/":         "",
		"https://93.184.216.35/":         ReasonHost,
		"http://2130706433/":             ReasonAddress,
		"http://127.0.0.1:8080/":         "",
		"https://127.0.0.1:8080/":        "",
		"http://127.0.0.1:8081/":         ReasonAddress,
		"http://[::1]:8080/":             ReasonAddress,
		"http://localhost:8080/":         ReasonHost,
	} {
		if got := reason(t, r.CheckURL(mustURL(t, url))); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
}

func TestPrivateRangesOpenOnlyToNamedHosts(t *testing.T) {
	r := mustCompile(t, Config{
		Mode:                ModePublic,
		Allow:               []string{"wiki.corp", "10.1.2.3"},
		AllowedPrivateCIDRs: []string{"10.1.0.0/16"},
	})
	named, other := Host{Name: "wiki.corp"}, Host{Name: "example.com"}
	inside, outside := netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("10.2.0.1")
	for _, tt := range []struct {
		h    Host
		a    netip.Addr
		want Reason
	}{
		{named, inside, ""},
		{named, outside, ReasonAddress},
		{other, inside, ReasonAddress},
		{Host{Addr: inside}, inside, ""},
		{named, netip.MustParseAddr("127.0.0.1"), ReasonAddress},
	} {
		if got := reason(t, r.CheckAddr(tt.h, tt.a, 443)); got != tt.want {
			t.Errorf("%v at %v: got %q, want %q", tt.h, tt.a, got, tt.want)
		}
	}
}
