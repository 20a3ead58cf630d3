// Package netlab is a network in which tests may leak: the test binary runs
// again in the namespaces of package netns, where every address of the
// internet, IPv4 and IPv6, belongs to the test.
//
// A test package enters the lab with
//
//	func TestMain(m *testing.M) { os.Exit(netlab.Main(m)) }
//
// and a test asks for it with [Need]. This needs Linux, and either root or
// unprivileged user namespaces; in the lab the tests keep the user id they had.
package netlab

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/bellglass/bellglass/internal/netns"
)

// The network as the tests see it.
var (
	Addr4, Addr6 = netns.Addr4, netns.Addr6 // of the tests' own interface, eth0
	DNSServer    = netns.DNSServer
)

// What a lab is made of.
type (
	Lab        = netns.Lab
	DNS        = netns.DNS
	Query      = netns.Query
	Sniffer    = netns.Sniffer
	Packet     = netns.Packet
	PacketConn = netns.PacketConn
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
	if slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.fuzzworker") }) {
		absent = errors.New("netlab: a fuzz worker is not in the lab")
		return m.Run()
	}
	code, done := 0, false
	if here, code, done, absent = netns.Enter(netns.Options{}); done {
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
