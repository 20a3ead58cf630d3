// Package netns makes a network from which nothing leaves this machine: the
// program runs again in a network namespace whose only way out ends in a second
// one, where every address of the internet, IPv4 and IPv6, is ours.
//
//	the program, its browsers         the far side
//	lo, eth0 192.168.77.2  ── veth ── any address at all
//	resolv.conf 10.53.0.53            listeners, DNS server, sniffer
//
// A packet to 169.254.169.254, to 8.8.8.8 or to a neighbour of this machine
// arrives at the far side, where [Lab.Listen] and [Lab.ListenPacket] may answer
// it and [Lab.Sniff] sees it even if nobody does. Neither namespace has another
// interface.
//
// A program enters the lab with [Enter]. This needs Linux, and either root or
// unprivileged user namespaces; in the lab it keeps the user id it had. The
// capabilities that building the lab takes stay with a helper process: the
// program, and the browsers that it starts, get none that they did not have.
//
// It fakes no protocol above IP except DNS, and hides neither files nor
// processes, unless [Options.Prepare] does: a service behind a unix socket is
// still there.
package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// The network as seen from within.
var (
	// Addr4 and Addr6 are the addresses of the only interface, eth0.
	Addr4 = netip.MustParseAddr("192.168.77.2")
	Addr6 = netip.MustParseAddr("fd77:6c61:62::2")
	// DNSServer is the name server in resolv.conf.
	DNSServer = netip.MustParseAddr("10.53.0.53")

	far4 = netip.MustParseAddr("192.168.77.1")
	far6 = netip.MustParseAddr("fd77:6c61:62::1")
)

// SearchDomain is the search list in resolv.conf: whoever does not make a name
// absolute asks for it below this domain, too.
const SearchDomain = "search.test"

// Options of a lab.
type Options struct {
	// Prepare, if not nil, runs in the helper before the program starts, and
	// may mount: its mount namespace is that of the program, and of nobody
	// else.
	Prepare func() error
}

// Refused is why there is no lab: a call that the system refused.
type Refused struct {
	Call string        // such as "clone(CLONE_NEWUSER|CLONE_NEWNET|CLONE_NEWNS)"
	User bool          // whether it was tried in a user namespace of its own
	Err  syscall.Errno // 0 if Text says it all
	Text string        // the whole story, if the errno does not tell it
}

func (e *Refused) Error() string {
	s := e.Text
	if s == "" {
		s = e.Call + ": " + e.Err.Error()
	}
	if e.Err != 0 {
		s += fmt.Sprintf(" (errno %d)", int(e.Err))
	}
	if e.User {
		s += " (in a user namespace)"
	}
	return s
}

func (e *Refused) Unwrap() error {
	if e.Err == 0 {
		return nil
	}
	return e.Err
}

// ErrSystem is the reason on systems other than Linux.
var ErrSystem = errors.New("netns: network namespaces exist on Linux only")

// called names the system call that an error comes from.
func called(call string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", call, err)
}
