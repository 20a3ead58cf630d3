// Package netlab is a network in which tests may leak: the test binary runs
// again in a network namespace whose only way out ends in a second one, where
// every address of the internet, IPv4 and IPv6, belongs to the test.
//
//	the tests, the browser            the far side
//	lo, eth0 192.168.77.2  ── veth ── any address at all
//	resolv.conf 10.53.0.53            listeners, DNS server, sniffer
//
// A packet to 169.254.169.254, to 8.8.8.8 or to a neighbour of this machine
// arrives at the far side, where [Lab.Listen] and [Lab.ListenPacket] may answer
// it and [Lab.Sniff] sees it even if nobody does. Nothing leaves the machine:
// neither namespace has another interface.
//
// A test package enters the lab with
//
//	func TestMain(m *testing.M) { os.Exit(netlab.Main(m)) }
//
// and a test asks for it with [Need]. This needs Linux, and either root or
// unprivileged user namespaces; in the lab the tests keep the user id they had.
// The capabilities that building the lab takes stay with a helper process:
// tests, and the browsers they start, get none that they did not have.
//
// It fakes no protocol above IP except DNS, and hides neither files nor
// processes: a service behind a unix socket is still there.
package netlab

import (
	"errors"
	"net/netip"
	"os"
)

// The network as the tests see it.
var (
	// Addr4 and Addr6 are the addresses of the tests' own interface, eth0.
	Addr4 = netip.MustParseAddr("192.168.77.2")
	Addr6 = netip.MustParseAddr("fd77:6c61:62::2")
	// DNSServer is the name server in resolv.conf.
	DNSServer = netip.MustParseAddr("10.53.0.53")

	far4 = netip.MustParseAddr("192.168.77.1")
	far6 = netip.MustParseAddr("fd77:6c61:62::1")
)

// TB is the part of testing.TB that this package uses.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

var (
	here   *Lab  // the lab that this process is in
	absent error // why there is none
)

// Main runs the tests of m (a *testing.M) in a lab, and returns the exit code.
// Where no lab can be built it runs them outside; those that call [Need] are
// then skipped, or fail.
//
// In the lab, Main itself runs in three processes: the test binary as it was
// started, which waits; the helper that holds the namespaces; and the tests.
// Packages of the test binary are initialised in each.
func Main(m interface{ Run() int }) int {
	code, done := enter()
	if done {
		return code
	}
	return m.Run()
}

// Available returns nil in a lab, and otherwise the reason why this process is
// in none.
func Available() error {
	switch {
	case here != nil:
		return nil
	case absent != nil:
		return absent
	}
	return errors.New("netlab: TestMain does not call netlab.Main")
}

// Need returns the lab. Without one it skips the test with the reason; where
// the environment variable CI is "true" the test fails instead, so that no
// leak test is lost unseen.
func Need(tb TB) *Lab {
	tb.Helper()
	if err := Available(); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("this test must not be skipped under CI: %v", err)
		}
		tb.Skipf("%v", err)
	}
	return here
}
