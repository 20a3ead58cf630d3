// Package egress is the only way out: every byte between a browser and the
// world passes it, and nothing else can be trusted to say no.
//
// [Gate] turns a judged name into a connection: it resolves once, judges every
// answer and dials the very address it judged. [Proxy] serves HTTP proxy
// requests in front of a Gate, one [Endpoint] per browser context; who asks is
// known from the listener alone, never from anything sent. [Run] holds the
// rules and budgets of one run and what became of its connections.
//
// The order of decisions is fixed: strict parse, run, name, port, budget, and
// only then DNS; every address, dial, and for CONNECT the server name of the
// TLS ClientHello.
//
// The package does not decrypt TLS. Inside a tunnel it sees server name and
// byte counts only, so that a site hosted together with an allowed one can be
// reached by whoever controls the client's TLS and HTTP (domain fronting).
package egress

import (
	"github.com/bellglass/bellglass/policy"
)

// Reasons that this package adds to those of package policy. Some are
// refusals, others failures of the network; [IsRefusal] tells them apart.
const (
	ReasonMalformed  policy.Reason = "invalid_argument"  // not a proxy request, or one that two parsers could read differently
	ReasonReadOnly   policy.Reason = "act_not_allowed"   // a method that is not GET, HEAD or OPTIONS, of a read-only run
	ReasonServerName policy.Reason = "sni_mismatch"      // the tunnel's first bytes are not TLS for the CONNECT host
	ReasonBudget     policy.Reason = "budget_exceeded"   // a limit of the run; What names it
	ReasonDNS        policy.Reason = "dns_failure"       //
	ReasonConnection policy.Reason = "connection_failed" // refused, unreachable, timed out or broken off
	ReasonUpstream   policy.Reason = "proxy_unavailable" // the proxy that is to make the connections does not
)

// IsRefusal reports whether reason is a verdict on what was asked, rather than a
// failure or an exhausted budget.
func IsRefusal(reason policy.Reason) bool {
	switch reason {
	case "", ReasonDNS, ReasonConnection, ReasonBudget, ReasonUpstream:
		return false
	}
	return true
}

// Error is a failure that is not a verdict.
type Error struct {
	Reason policy.Reason // ReasonDNS, ReasonConnection, ReasonUpstream or ReasonBudget
	What   string        // a few words without addresses, or ""
	Err    error         // may hold addresses: for logs only; may be nil
}

func (e *Error) Error() string {
	s := "egress: " + string(e.Reason)
	if e.What != "" {
		s += ": " + e.What
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }
