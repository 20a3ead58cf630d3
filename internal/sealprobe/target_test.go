package sealprobe

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// TestEveryTargetIsTracedToItsProbe: whatever reaches a target, by name, by
// address or by port, tells which probe of which run sent it.
func TestEveryTargetIsTracedToItsProbe(t *testing.T) {
	places := []place{
		byName, public4, public6, loopback4, loopback6, localhost, interface4, interface6,
		metadata4, metadata6, link4, link6, private4, private6, group4, loopnet4,
	}
	seen := map[string]bool{}
	for _, ph := range []phase{control, sealed} {
		for n := range maxProbes {
			for _, p := range places {
				target := probeTarget{p, n, ph}
				to := netip.AddrPortFrom(target.addr(), target.port(80))
				if gotPhase, got, ok := ofAddr(to); !ok || got != n || gotPhase != ph {
					t.Fatalf("%v of probe %d in phase %d is taken for %d in %d, %v", to, n, ph, got, gotPhase, ok)
				}
				at := string(p) + " " + to.String()
				if seen[at] {
					t.Fatalf("%s belongs to two probes", at)
				}
				seen[at] = true
			}
			name := probeTarget{byName, n, ph}.name()
			if gotPhase, got, ok := ofName("x." + name + "."); !ok || got != n || gotPhase != ph {
				t.Fatalf("%s is taken for %d in %d, %v", name, got, gotPhase, ok)
			}
		}
	}
}

func TestOthersBelongToNoProbe(t *testing.T) {
	for _, to := range []string{
		"93.184.99.1:443", "93.184.99.3:80", "10.53.0.53:53", "127.0.0.1:40000", "127.0.0.1:20001", "[::1]:33000", "224.0.0.22:0", "192.168.77.2:50000",
	} {
		if _, n, ok := ofAddr(netip.MustParseAddrPort(to)); ok {
			t.Errorf("%s is taken for probe %d", to, n)
		}
	}
	for _, name := range []string{"", "probe.test", "out.test", "c.out.test", "px.c.out.test", "p501.c.out.test", "p-1.c.out.test", "p1.c.out.test.evil.test"} {
		if _, n, ok := ofName(name); ok {
			t.Errorf("%q is taken for probe %d", name, n)
		}
	}
}

// TestPublicTargetsArePublic: else the proxy would refuse them for another
// reason than the one to be proved.
func TestPublicTargetsArePublic(t *testing.T) {
	for _, p := range []place{public4, public6} {
		for n := range maxProbes {
			for _, ph := range []phase{control, sealed} {
				if a := (probeTarget{p, n, ph}).addr(); policy.Classify(a) != policy.ClassPublic {
					t.Fatalf("%v is %s", a, policy.Classify(a))
				}
			}
		}
	}
}

func TestSlowMachinesGetMoreTime(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: 3 * time.Second, 1500 * time.Millisecond: 3 * time.Second, 4 * time.Second: 6 * time.Second, time.Minute: 15 * time.Second,
	} {
		if got := after(took); got != want {
			t.Errorf("after %v: %v, want %v", took, got, want)
		}
	}
}

func TestURLsOfTargets(t *testing.T) {
	for _, k := range []struct {
		target probeTarget
		scheme string
		want   string
	}{
		{probeTarget{byName, 3, control}, "http", "http://p3.c.out.test/"},
		{probeTarget{byName, 3, sealed}, "https", "https://p3.s.out.test/"},
		{probeTarget{public6, 0, sealed}, "http", "http://[2606:2800:220:2::1]/"},
		{probeTarget{metadata4, 7, control}, "http", "http://169.254.169.254:21007/"},
		{probeTarget{loopback6, 7, sealed}, "https", "https://[::1]:21507/"},
		{probeTarget{localhost, 9, sealed}, "http", "http://p9.localhost:21509/"},
	} {
		if got := k.target.url(k.scheme); got != k.want {
			t.Errorf("%+v: %s, want %s", k.target, got, k.want)
		}
	}
}

func TestProbesHaveNamesOfTheirOwn(t *testing.T) {
	ids := map[string]bool{}
	for i, p := range plan(true) {
		if ids[p.id()] {
			t.Errorf("two probes are called %q", p.id())
		}
		ids[p.id()] = true
		if p.tried() == "" || p.from != "native" && p.means == "" {
			t.Errorf("%s does not say what it tries or what should stop it", p.id())
		}
		if got := numbered(plan(true), p.id()); got != i {
			t.Errorf("%s is number %d, found as %d", p.id(), i, got)
		}
	}
	for _, p := range plan(false) {
		if fixed[p.place].Is6() || p.place == public6 {
			t.Errorf("%s needs IPv6", p.id())
		}
	}
}

// TestPagesKnowEveryAttempt: a vector that the page's script does not have
// would be a probe that is never made.
func TestPagesKnowEveryAttempt(t *testing.T) {
	s, err := newSite(plan(true))
	if err != nil {
		t.Fatal(err)
	}
	for _, ph := range []phase{control, sealed} {
		for _, secure := range []bool{false, true} {
			for _, a := range s.attempts(ph, secure) {
				if !known(a.How) {
					t.Errorf("no script makes the attempt %q", a.How)
				}
			}
		}
	}
	if got := len(s.attempts(control, true)) + len(s.attempts(control, false)); got < 80 {
		t.Errorf("only %s attempts", strconv.Itoa(got))
	}
}
