package egress

import (
	"strings"

	"github.com/bellglass/bellglass/policy"
)

// parseAuthority parses host:port. A standard of 0 makes the port mandatory,
// as in CONNECT; otherwise it is the port to assume. The error is a
// [*policy.Refusal].
func parseAuthority(s string, standard uint16) (policy.Host, uint16, error) {
	host, port := s, standard
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		p, err := policy.ParsePort(s[i+1:])
		if err != nil {
			return policy.Host{}, 0, err
		}
		host, port = s[:i], p
	}
	if port == 0 {
		return policy.Host{}, 0, &policy.Refusal{Reason: policy.ReasonInvalidURL, What: "no port"}
	}
	h, err := policy.ParseHost(host)
	return h, port, err
}

// absoluteTarget is the target of a plain http request to a proxy.
type absoluteTarget struct {
	host   policy.Host
	port   uint16
	origin string // what the origin server is asked for: path and query
}

// parseAbsolute parses a request target in absolute form. The error is a
// [*policy.Refusal].
func parseAbsolute(s string) (absoluteTarget, error) {
	var t absoluteTarget
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return t, &policy.Refusal{Reason: policy.ReasonInvalidURL, What: "not an absolute URL"}
	}
	if !strings.EqualFold(scheme, "http") {
		return t, &policy.Refusal{Reason: policy.ReasonScheme, What: "only http is forwarded; https takes CONNECT"}
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, t.origin = rest[:i], rest[i:]
	}
	if strings.Contains(t.origin, "#") {
		return t, &policy.Refusal{Reason: policy.ReasonInvalidURL, What: "fragment in a request"}
	}
	if strings.Contains(authority, "@") {
		return t, &policy.Refusal{Reason: policy.ReasonCredentials, What: "user name or password before the host"}
	}
	if !strings.HasPrefix(t.origin, "/") {
		t.origin = "/" + t.origin
	}
	var err error
	t.host, t.port, err = parseAuthority(authority, 80)
	return t, err
}

// sameAuthority reports whether the value of a Host field names host and port.
// A port may be left out where it is the standard one; 0 means that it may
// always be left out.
func sameAuthority(field string, host policy.Host, port, standard uint16) bool {
	if standard == 0 {
		standard = port
	}
	h, p, err := parseAuthority(field, standard)
	return err == nil && h == host && p == port
}
