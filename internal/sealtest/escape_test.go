package sealtest

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
)

type dialer = func(context.Context, netip.AddrPort) (net.Conn, error)

// dialLoopback dials the canary for real, and the rest as before.
func dialLoopback(c *testweb.Canary, rest dialer) dialer {
	return func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		if a.String() == c.HostPort() {
			return (&net.Dialer{}).DialContext(ctx, "tcp", a.String())
		}
		return rest(ctx, a)
	}
}

var publicAddr = netip.MustParseAddr("93.184.216.34")

// far is a site on the far side of the lab, at a public address.
func far(t *testing.T, lab *netlab.Lab) *netlab.DNS {
	t.Helper()
	ln, err := lab.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: testweb.Site()}
	go srv.Serve(ln)
	dns, err := lab.ServeDNS(func(name string) []netip.Addr {
		if name == "site.test" {
			return []netip.Addr{publicAddr}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(); dns.Close() })
	return dns
}

func hostile(canary *testweb.Canary) testweb.Hostile {
	return testweb.Hostile{
		Targets: []string{
			"http://169.254.169.254/latest/", "http://[fd00:ec2::254]/", "http://10.0.0.1/",
			"http://127.0.0.1:" + port(canary) + "/", "http://x.localhost:" + port(canary) + "/", "http://[::1]:" + port(canary) + "/",
		},
		STUN: []string{"8.8.4.4:3478", "stun.elsewhere.test:3478", "127.0.0.1:" + port(canary)},
	}
}

func port(c *testweb.Canary) string { _, p, _ := net.SplitHostPort(c.HostPort()); return p }

// TestNothingGetsAroundTheProxy reads a page that tries every way out, through
// the real resolver, the real dialer and a real network: NET-001 and NET-002
// (STUN and TURN by address and by name), NET-004 (ICE over TCP), NET-008 (from
// a fresh frame), TEN-002 (loopback by a context's requests). Outside the browser a
// sniffer must see the proxy's connections to the site and nothing else; on
// loopback a canary must stay silent.
//
// It holds at each level of the seal, NNS-006 among it: with the host's name
// server in resolv.conf the browser asks nothing of it.
func TestNothingGetsAroundTheProxy(t *testing.T) {
	lab := netlab.Need(t)
	dns := far(t, lab)
	for _, level := range []bellglass.SealLevel{bellglass.SealKernel, bellglass.SealLandlock, bellglass.SealProxyOnly} {
		t.Run(string(level), func(t *testing.T) {
			canary := testweb.NewCanary(t)
			b, err := bellglass.New(bellglass.Options{Seal: level, CallTimeout: 40 * time.Second, NavigationTimeout: 30 * time.Second, TextLimit: 100_000})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			needSeal(t, b)
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			sniffer, err := lab.Sniff()
			if err != nil {
				t.Fatal(err)
			}
			defer sniffer.Close()
			res := browse(t, b, "http://site.test"+hostile(canary).Path())
			if res.Status != bellglass.StatusOK || !strings.Contains(res.Text, "probing finished") {
				t.Fatalf("the page did not come to its end: %s %s\n%s", res.Status, res.Reason, res.Text)
			}
			if len(res.Blocked) == 0 {
				t.Error("nothing was refused: the page did not try")
			}
			for _, p := range sniffer.Packets() {
				ours := p.Dst == netip.AddrPortFrom(publicAddr, 80) && p.Proto == "tcp" ||
					p.Dst == netip.AddrPortFrom(netlab.DNSServer, 53) && p.Proto == "udp" || p.Proto == "arp" ||
					// The browser's mDNS socket joins its group, which no switch
					// prevents. It carries nothing; a jail stops it.
					level == bellglass.SealProxyOnly && p.Proto == "igmp" && p.Dst.Addr() == netip.MustParseAddr("224.0.0.22")
				if !ours {
					t.Error("left the machine:", p)
				}
			}
			if n := sniffer.Dropped(); n > 0 {
				t.Errorf("the sniffer missed %d packets", n)
			}
			for _, q := range dns.Queries() {
				if !strings.HasPrefix(q.Name, "site.test") {
					t.Error("a page's name was looked up:", q)
				}
			}
			if hits := canary.Hits(); len(hits) > 0 {
				t.Error("loopback was reached:", hits)
			}
		})
	}
}

// needSeal skips a test where the seal that it asks for cannot be had, with the
// reason; where CI is "true" the test fails instead.
func needSeal(t *testing.T, b *bellglass.Browser) {
	t.Helper()
	if _, _, err := b.Seal(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("this test must not be skipped under CI:", err)
		}
		t.Skip(err)
	}
}

// TestTheUnsealedBrowserLeaks is the control of the test above: the same page
// in the same browser without the seal.
func TestTheUnsealedBrowserLeaks(t *testing.T) {
	lab := netlab.Need(t)
	far(t, lab)
	canary := testweb.NewCanary(t)
	bin, err := chrome.Find(chrome.FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sniffer, err := lab.Sniff()
	if err != nil {
		t.Fatal(err)
	}
	defer sniffer.Close()
	p, err := chrome.Start(t.Context(), chrome.Options{Binary: bin, UnsafeNoSeal: true, ProfileRoot: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = cdpt.Call(t.Context(), p.Browser, target.CreateTarget, target.CreateTargetParams{URL: "http://site.test" + hostile(canary).Path()})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]func() bool{
		"TCP to the metadata address": func() bool { return sent(sniffer, "tcp", "169.254.169.254") },
		"TCP to a private address":    func() bool { return sent(sniffer, "tcp", "10.0.0.1") },
		"STUN over UDP":               func() bool { return sent(sniffer, "udp", "8.8.4.4") },
		"loopback":                    func() bool { return len(canary.Hits()) > 0 },
	}
	for end := time.Now().Add(20 * time.Second); len(want) > 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for what, seen := range want {
			if seen() {
				delete(want, what)
			}
		}
	}
	for what := range want {
		t.Errorf("the control did not leak by %s: the sealed test proves nothing about it", what)
	}
}

func sent(s *netlab.Sniffer, proto, to string) bool {
	for _, p := range s.Packets() {
		if p.Proto == proto && p.Dst.Addr().String() == to {
			return true
		}
	}
	return false
}
