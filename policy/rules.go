package policy

import (
	"errors"
	"net/netip"
)

// Mode says which hosts are reachable at all.
type Mode string

const (
	// ModeDeny reaches nothing, whatever the lists say. The empty Mode
	// means the same.
	ModeDeny Mode = "deny"
	// ModeAllowlist reaches what the lists name. Empty lists deny all.
	ModeAllowlist Mode = "allowlist"
	// ModePublic reaches every public name at the default ports. Lists add
	// ports, literal addresses and names of private name spaces.
	ModePublic Mode = "public"
)

// Config is what an operator may decide. The zero Config denies everything.
type Config struct {
	Mode Mode

	// Allow lists the hosts that may be navigated to, and Resources further
	// ones that pages may load from. The grammar is:
	//
	//	example.com        that name
	//	*.example.com      any name below it, at any depth, but not itself
	//	.example.com       both
	//	93.184.216.34      that address; an IPv6 address stands in brackets
	//	ENTRY:8443         that port instead of the default one
	//
	// An entry without port opens the default port only: 443, and 80 for
	// plain http. An entry with port 80 also opens WebSockets without TLS.
	Allow, Resources []string

	// AllowInsecureHTTP permits http URLs. Without it only https is.
	AllowInsecureHTTP bool

	// UnsafeAllow lists exact addresses with ports, such as
	// "127.0.0.1:8080" or "[::1]:8080", that are reached over http and
	// https alike when a URL holds that very address. It is the only way to
	// loopback, and meant for tests and local development.
	UnsafeAllow []string

	// AllowedPrivateCIDRs lists ranges of private addresses that hosts
	// named in Allow or Resources may have. It opens nothing to a host that
	// is merely public, and never loopback, link-local or metadata.
	AllowedPrivateCIDRs []string

	// Observe lets pages load from any public name, as ModePublic would, so
	// that an operator can learn which hosts a page needs. Navigation is
	// still restricted, and so is everything in ModeDeny.
	Observe bool

	// Where, if not nil, returns where an entry was written ("file:line"),
	// for error messages. List is "allow", "resources", "unsafe_allow" or
	// "allowed_private_cidrs"; index counts from 0.
	Where func(list string, index int) string
}

// Rules is a compiled [Config]. It is immutable and safe for concurrent use. A
// nil *Rules denies everything.
type Rules struct {
	mode     Mode
	insecure bool
	observe  bool
	allow    hostList // what may be navigated to
	all      hostList // allow and resources
	unsafe   map[netip.AddrPort]bool
	private  []netip.Prefix
}

// Compile checks a configuration. Its error joins every problem found, an
// [*EntryError] for each bad entry.
func Compile(c Config) (*Rules, error) {
	r := &Rules{mode: c.Mode, insecure: c.AllowInsecureHTTP, observe: c.Observe}
	var problems []error
	switch c.Mode {
	case "":
		r.mode = ModeDeny
	case ModeDeny, ModeAllowlist, ModePublic:
	default:
		problems = append(problems, errors.New("policy: mode: must be deny, allowlist or public"))
	}
	// each hands every entry of a list to parse, which says what is wrong.
	each := func(list string, entries []string, parse func(s string) string) {
		for i, s := range entries {
			what := parse(s)
			if what == "" {
				continue
			}
			e := &EntryError{List: list, Index: i, Entry: s, What: what}
			if c.Where != nil {
				e.Where = c.Where(list, i)
			}
			problems = append(problems, e)
		}
	}
	each("allowed_private_cidrs", c.AllowedPrivateCIDRs, func(s string) string {
		p, what := parsePrivateCIDR(s)
		r.private = append(r.private, p)
		return what
	})
	each("unsafe_allow", c.UnsafeAllow, func(s string) string {
		ap, what := parseUnsafe(s)
		if r.unsafe == nil {
			r.unsafe = make(map[netip.AddrPort]bool)
		}
		r.unsafe[ap] = true
		return what
	})
	each("allow", c.Allow, func(s string) string { return r.addEntry(s, &r.allow, &r.all) })
	each("resources", c.Resources, func(s string) string { return r.addEntry(s, &r.all) })
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Rules) addEntry(s string, lists ...*hostList) string {
	e, what := parseEntry(s)
	if what != "" {
		return what
	}
	if a := e.host.Addr; a.IsValid() && Classify(a) != ClassPublic && !r.inPrivate(a) {
		return "is a " + string(Classify(a)) + " address outside allowed_private_cidrs"
	}
	for _, l := range lists {
		l.add(e)
	}
	return ""
}

func (r *Rules) inPrivate(a netip.Addr) bool {
	for _, p := range r.private {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// CheckURL says whether u may be navigated to, as far as that can be told
// without a DNS query. The error is a [*Refusal].
func (r *Rules) CheckURL(u *URL) error {
	return r.check(u.Host, u.Port, u.Scheme == "https", false).orNil()
}

// CheckConnect says whether a connection to host and port may be attempted:
// the proxy's verdict, before any DNS query, on what may be navigated to or
// loaded. Tls is true for CONNECT, false for plain http. The error is a
// [*Refusal].
func (r *Rules) CheckConnect(h Host, port uint16, tls bool) error {
	return r.check(h, port, tls, true).orNil()
}

// CheckAddr says whether a connection to h, which [Rules.CheckConnect] let
// pass, may be made to address a, one of those that h resolved to or h itself.
// The error is a [*Refusal].
func (r *Rules) CheckAddr(h Host, a netip.Addr, port uint16) error {
	if h.Addr.IsValid() && h.Addr != a {
		return &Refusal{Reason: ReasonAddress, What: "not the address named"}
	}
	if r.Unsafe(h, port) {
		return nil
	}
	if r.deniesAll() {
		return &Refusal{Reason: ReasonHost, What: "nothing is allowed"}
	}
	class := Classify(a)
	if class == ClassPublic {
		return nil
	}
	if !class.Hard() && r.inPrivate(a) {
		// Whether the port is the default one CheckConnect has judged.
		if _, open := r.all.match(h, port, port); open {
			return nil
		}
	}
	return notPublic(class)
}

// Unsafe reports whether h is a literal address that Config.UnsafeAllow opens
// at this port.
func (r *Rules) Unsafe(h Host, port uint16) bool {
	return !r.deniesAll() && h.Addr.IsValid() && r.unsafe[netip.AddrPortFrom(h.Addr, port)]
}

// PlainTunnel reports whether a CONNECT tunnel to h may carry a WebSocket
// without TLS: at port 80 where an entry lists that port, and at what
// Config.UnsafeAllow opens.
func (r *Rules) PlainTunnel(h Host, port uint16) bool {
	if r.Unsafe(h, port) {
		return true
	}
	if r.deniesAll() || port != 80 {
		return false
	}
	_, open := r.all.match(h, port, 0) // 0: no default port opens it
	return open
}

// Listed reports whether CheckConnect would let the connection pass without
// Config.Observe. What is let through and not listed is what an operator who
// observes wants to know.
func (r *Rules) Listed(h Host, port uint16, tls bool) bool {
	if r == nil {
		return false
	}
	strict := *r
	strict.observe = false
	return strict.check(h, port, tls, true) == nil
}

// check is the verdict on host and port. What no configuration opens comes
// first, so that its reason does not depend on the configuration.
func (r *Rules) check(h Host, port uint16, tls, resource bool) *Refusal {
	if r.Unsafe(h, port) {
		return nil
	}
	list := &hostList{}
	if !r.deniesAll() {
		list = &r.allow
		if resource {
			list = &r.all
		}
	}
	standard := uint16(80)
	if tls {
		standard = 443
	}
	listed, open := list.match(h, port, standard)
	literal, private := h.Addr.IsValid(), false
	if literal {
		class := Classify(h.Addr)
		private = class != ClassPublic
		if private && (class.Hard() || !listed || !r.inPrivate(h.Addr)) {
			return notPublic(class)
		}
	}
	rule := nameOrdinary
	if !literal {
		rule = classifyName(h.Name)
	}
	switch {
	case rule == nameHard:
		return &Refusal{Reason: ReasonHost, What: "name of the machine itself, of a metadata service or outside DNS"}
	case r.deniesAll():
		return &Refusal{Reason: ReasonHost, What: "nothing is allowed"}
	case !tls && !r.insecure:
		return &Refusal{Reason: ReasonScheme, What: "http without TLS is not allowed"}
	case !listed && literal:
		return &Refusal{Reason: ReasonHost, What: "address literal that no entry names"}
	case !listed && rule == nameSoft:
		return &Refusal{Reason: ReasonHost, What: "name of a private name space that no entry names"}
	}
	anyName := r.mode == ModePublic || r.observe && resource
	switch {
	case !listed && !anyName:
		return &Refusal{Reason: ReasonHost, What: "not on the allowlist"}
	case !open && (literal || !anyName || port != standard):
		return &Refusal{Reason: ReasonPort, What: "port that no entry opens"}
	}
	return nil
}

func notPublic(c Class) *Refusal {
	return &Refusal{Reason: ReasonAddress, What: string(c) + " address"}
}

// deniesAll reports whether nothing is reachable: also of rules that Compile
// did not make.
func (r *Rules) deniesAll() bool {
	return r == nil || r.mode != ModeAllowlist && r.mode != ModePublic
}

// orNil turns a nil *Refusal into a nil error.
func (r *Refusal) orNil() error {
	if r == nil {
		return nil
	}
	return r
}

// Observes reports whether Config.Observe is set.
func (r *Rules) Observes() bool { return r != nil && r.observe }
