package sealtest

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/netns"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
)

// TestSearchListOfTheSystemIsNotUsed: DNS-032. A name that does not exist must
// not be looked up below the domain of the company's network, which would tell
// its name server what is read. The control is the resolver as programs use it.
func TestSearchListOfTheSystemIsNotUsed(t *testing.T) {
	lab := netlab.Need(t)
	dns, err := lab.ServeDNS(func(string) []netip.Addr { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer dns.Close()
	names := func() []string {
		var out []string
		for _, q := range dns.Queries() {
			out = append(out, strings.ToLower(q.Name))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	b := newBrowser(t, func(o *bellglass.Options) { o.Resolve, o.UnsafeDial = nil, nil })
	for _, url := range []string{"http://foo.test/", "https://www.foo.test/"} {
		if res := browse(t, b, url); res.Reason != bellglass.ReasonDNS {
			t.Errorf("%s: got %s %s", url, res.Status, res.Reason)
		}
	}
	if got, want := names(), []string{"foo.test", "www.foo.test"}; !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	net.DefaultResolver.LookupHost(ctx, "foo.test")
	if below := "foo.test." + netns.SearchDomain; !slices.Contains(names(), below) {
		t.Errorf("the control did not ask for %s: the test above proves nothing", below)
	}
}
