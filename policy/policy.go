// Package policy answers one question: may this URL, this host, this address
// be reached? Its verdicts are pure: the same input gives the same answer, and
// each refusal carries one [Reason] word.
//
// It does not resolve names, dial, read files or know about browsers. The
// egress proxy asks it for every connection; the tools ask it before any
// browser work, to refuse early and with a good reason. Only the former is a
// security boundary.
package policy

// Reason is the one word that says why something was refused. The words are
// part of the public contract: the same word stands in tool results, logs and
// metrics. The constants below are those this package yields; other packages
// add theirs.
type Reason string

const (
	ReasonInvalidURL  Reason = "invalid_url"        // does not parse, or parsers disagree about it
	ReasonScheme      Reason = "scheme_not_allowed" // neither http nor https, or http where only https may
	ReasonURLTooLong  Reason = "url_too_long"
	ReasonCredentials Reason = "credentials_in_url"
	ReasonHost        Reason = "host_not_allowed"   // by name, before any DNS query
	ReasonPort        Reason = "port_not_allowed"   // by port, before any DNS query
	ReasonAddress     Reason = "address_not_public" // loopback, private, link-local, metadata, reserved …
)

// Refusal is the error of every negative verdict.
type Refusal struct {
	Reason Reason
	// What says in a few words what was wrong ("loopback address", "port
	// 8443"). It never holds a resolved address, so that a refusal is no
	// oracle for internal names.
	What string
}

func (r *Refusal) Error() string {
	if r.What == "" {
		return "policy: " + string(r.Reason)
	}
	return "policy: " + string(r.Reason) + ": " + r.What
}
