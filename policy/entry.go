package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// EntryError says what is wrong with one entry of a list. [Compile] joins
// them, so that a loader can report every problem of a file at once.
type EntryError struct {
	List  string // the list in snake case, as in a configuration file: "allow"
	Index int    // position in that list, from 0
	Entry string
	Where string // what Config.Where returned: "bellglass.yaml:12"
	What  string // what is wrong, and what to write instead
}

func (e *EntryError) Error() string {
	at := fmt.Sprintf("%s[%d]", e.List, e.Index)
	if e.Where != "" {
		at = e.Where + ": " + at
	}
	return fmt.Sprintf("policy: %s: %q: %s", at, e.Entry, e.What)
}

// ports are the ports that one or more entries open.
type ports struct {
	standard bool // an entry without port: the scheme's default port
	listed   []uint16
}

func (p *ports) open(port, standard uint16) bool {
	return p.standard && port == standard || slices.Contains(p.listed, port)
}

func (p *ports) add(port uint16) {
	switch {
	case port == 0:
		p.standard = true
	case !slices.Contains(p.listed, port):
		p.listed = append(p.listed, port)
	}
}

// hostList is a compiled list of host entries.
type hostList struct {
	exact map[Host]*ports   // names and literals
	below map[string]*ports // every name below the key, but not the key
}

// match reports whether any entry names h, and whether one of those that do
// opens the port.
func (l *hostList) match(h Host, port, standard uint16) (listed, open bool) {
	if p := l.exact[h]; p != nil {
		listed, open = true, p.open(port, standard)
	}
	for name := h.Name; !open; {
		_, parent, ok := strings.Cut(name, ".")
		if !ok {
			break
		}
		if p := l.below[parent]; p != nil {
			listed, open = true, p.open(port, standard)
		}
		name = parent
	}
	return listed, open
}

// entry is one parsed line of a host list.
type entry struct {
	host  Host // for a wildcard, the name below which it matches
	apex  bool
	below bool
	port  uint16 // 0: the default port
}

func (l *hostList) add(e entry) {
	if e.apex {
		if l.exact == nil {
			l.exact = make(map[Host]*ports)
		}
		if l.exact[e.host] == nil {
			l.exact[e.host] = new(ports)
		}
		l.exact[e.host].add(e.port)
	}
	if e.below {
		if l.below == nil {
			l.below = make(map[string]*ports)
		}
		if l.below[e.host.Name] == nil {
			l.below[e.host.Name] = new(ports)
		}
		l.below[e.host.Name].add(e.port)
	}
}

// parseEntry parses an entry of a host list. What it refuses it explains; what
// is "" if the entry is good. The grammar:
//
//	example.com        that name
//	*.example.com      any name below it, at any depth, but not itself
//	.example.com       both
//	93.184.216.34      that address; an IPv6 address stands in brackets
//	ENTRY:8443         that port instead of the default one
//
// Names may be written in Unicode, in any case and with a trailing dot.
func parseEntry(s string) (e entry, what string) {
	switch {
	case s == "":
		return e, "is empty"
	case strings.Contains(s, "://"):
		return e, "is a URL; write the host alone"
	case strings.ContainsAny(s, "/?#@\\% \t\r\n"):
		return e, "is no host; write a name, *.name, .name or an address, with an optional :port"
	}
	text := s
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		port, err := ParsePort(s[i+1:])
		if err != nil {
			return e, "has a bad port"
		}
		text, e.port = s[:i], port
	}
	if strings.Contains(text, ":") && !strings.HasPrefix(text, "[") {
		return e, "is ambiguous; write an IPv6 address in brackets"
	}
	e.apex = true
	if base, ok := strings.CutPrefix(text, "*."); ok {
		text, e.apex, e.below = base, false, true
	} else if base, ok := strings.CutPrefix(text, "."); ok {
		text, e.below = base, true
	}
	if strings.Contains(text, "*") {
		return e, "has a misplaced *; it may only stand for whole labels at the front, as in *.example.com"
	}
	if e.host, what = parseEntryHost(text); what != "" {
		return e, what
	}
	return e, e.problem()
}

func parseEntryHost(text string) (Host, string) {
	if !strings.HasPrefix(text, "[") {
		ascii, err := toASCII(text)
		if err != nil {
			return Host{}, "is no valid internationalised name"
		}
		text = ascii
	}
	h, err := ParseHost(text)
	if err != nil {
		return Host{}, "is no host: " + err.(*Refusal).What
	}
	return h, ""
}

// problem says why an entry that parses may not be used.
func (e entry) problem() string {
	if e.host.Name == "" {
		if e.below {
			return "is a wildcard over an address; use allowed_private_cidrs for private ranges"
		}
		if c := Classify(e.host.Addr); c.Hard() {
			return "is a " + string(c) + " address, which no entry opens"
		}
		return ""
	}
	if classifyName(e.host.Name) == nameHard || classifyName("x."+e.host.Name) == nameHard {
		return "names the machine itself, a metadata service or nothing in DNS; no entry opens it"
	}
	if e.below {
		if suffix, _ := publicsuffix.PublicSuffix(e.host.Name); suffix == e.host.Name {
			return "is a wildcard over a public suffix, below which anyone may register a name"
		}
	}
	return ""
}

// parseUnsafe parses an entry of Config.UnsafeAllow.
func parseUnsafe(s string) (netip.AddrPort, string) {
	ap, err := netip.ParseAddrPort(s)
	if err != nil || ap.String() != s || ap.Port() == 0 {
		return ap, "is no literal address with port, such as 127.0.0.1:8080 or [::1]:8080"
	}
	if c := Classify(ap.Addr()); c.Hard() && c != ClassLoopback {
		return ap, "is a " + string(c) + " address, which no entry opens"
	}
	return ap, ""
}

// parsePrivateCIDR parses an entry of Config.AllowedPrivateCIDRs.
func parsePrivateCIDR(s string) (netip.Prefix, string) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, "is no address range such as 10.1.0.0/16"
	}
	if p != p.Masked() || p.String() != s {
		return p, "is not canonical; write " + p.Masked().String()
	}
	table := blocks6
	if p.Addr().Is4() {
		table = blocks4
	}
	for _, row := range table {
		if row.prefix.Overlaps(p) && row.prefix.Bits() <= p.Bits() {
			switch {
			case row.class == ClassPublic:
				return p, "is public; it needs no opening"
			case row.class.Hard():
				return p, "is " + string(row.class) + ", which no entry opens"
			}
			return p, ""
		}
	}
	return p, "does not lie inside one private range"
}
