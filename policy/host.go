package policy

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Lengths of RFC 1035 section 2.3.4, in their presentation form.
const (
	maxNameLength  = 253
	maxLabelLength = 63
)

// Host is a host in its one canonical form: either a name or a literal
// address. Hosts are comparable with ==; the zero Host is none.
type Host struct {
	Name string     // lower-case ASCII (punycode), no trailing dot; "" for a literal
	Addr netip.Addr // without zone; invalid for a name
}

// String returns the host as it stands in a URL; an IPv6 address has its
// brackets and the spelling of the URL Standard, which never uses dotted
// decimals.
func (h Host) String() string {
	switch {
	case h.Name != "":
		return h.Name
	case h.Addr.Is4In6():
		b := h.Addr.As16()
		return fmt.Sprintf("[::ffff:%x:%x]", uint16(b[12])<<8|uint16(b[13]), uint16(b[14])<<8|uint16(b[15]))
	case h.Addr.Is6():
		return "[" + h.Addr.String() + "]"
	case h.Addr.IsValid():
		return h.Addr.String()
	}
	return ""
}

// ParseHost parses what may stand for a host in a CONNECT authority or in an
// absolute-form request target: a name of letters, digits, hyphens and
// underscores, a canonical dotted IPv4 address, or an IPv6 address in brackets.
// Letters are lowered and one trailing dot of a name is removed. Zones, numeric
// last labels that are no canonical IPv4 address (a C library would read
// "0x7f.1" as 127.0.0.1), invalid punycode and anything else are refused.
//
// The error is always a [*Refusal] with [ReasonInvalidURL].
func ParseHost(s string) (Host, error) {
	if strings.HasPrefix(s, "[") {
		return parseBracketed(s)
	}
	name, err := parseName(strings.ToLower(s))
	if err != nil {
		return Host{}, err
	}
	if !numericLastLabel(name) {
		return Host{Name: name}, nil
	}
	a, perr := netip.ParseAddr(s)
	if perr != nil || !a.Is4() {
		return Host{}, invalid("numeric host that is no canonical IPv4 address")
	}
	return Host{Addr: a}, nil
}

// parseURLHost parses the host of a URL: in addition to what [ParseHost]
// accepts, Unicode names and every spelling of an IPv4 address that the URL
// Standard knows.
func parseURLHost(s string) (Host, error) {
	if strings.HasPrefix(s, "[") {
		return parseBracketed(s)
	}
	if strings.Contains(s, "%") {
		return Host{}, invalid("percent sign in the host")
	}
	ascii, err := toASCII(s)
	if err != nil {
		return Host{}, err
	}
	name, err := parseName(ascii)
	if err != nil {
		return Host{}, err
	}
	if !numericLastLabel(name) {
		return Host{Name: name}, nil
	}
	a, ok := parseLooseIPv4(name)
	if !ok {
		return Host{}, invalid("numeric host that is no IPv4 address")
	}
	return Host{Addr: a}, nil
}

func parseBracketed(s string) (Host, error) {
	inner, closed := strings.CutSuffix(s[1:], "]")
	if !closed {
		return Host{}, invalid("unclosed bracket")
	}
	a, err := netip.ParseAddr(inner)
	if err != nil || !a.Is6() || a.Zone() != "" {
		return Host{}, invalid("no IPv6 address in the brackets")
	}
	return Host{Addr: a}, nil
}

// idnaProfile maps as the URL Standard does: UTS #46, non-transitional, with
// all validity checks on.
var idnaProfile = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.BidiRule(),
	idna.CheckJoiners(true),
	idna.CheckHyphens(false),
	idna.VerifyDNSLength(false), // parseName does
)

// capitalSharpS is mapped to "ss" by UTS #46 before revision 33, as here, and
// to U+00DF since, as in Chromium. Of all code points it is the only one of
// which Chromium 156 makes another host than this package.
const capitalSharpS = 'ẞ'

// dots puts a digit behind everything that UTS #46 takes for a dot.
var dots = strings.NewReplacer(".", ".0", "\u3002", ".0", "\uff0e", ".0", "\uff61", ".0")

// toASCII returns a host in lower-case ASCII. Hosts that mix Unicode with
// punycode are refused: golang.org/x/net/idna decodes a label such as
// "xn--ü-", which is not even ASCII and which Chromium refuses.
func toASCII(s string) (string, error) {
	// Unicode hosts longer than this cannot fit; the limit keeps the
	// quadratic parts of punycode short.
	if len(s) > 4*maxNameLength {
		return "", invalid("host too long")
	}
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < 0x80
	}
	if ascii {
		return strings.ToLower(s), nil
	}
	if strings.ContainsRune(s, capitalSharpS) {
		return "", invalid("host with a letter that implementations map differently")
	}
	// With a digit in front no label is punycode any more, so that what the
	// mapping makes of the label shows. The error, if any, comes below.
	shown, _ := idnaProfile.ToUnicode("0" + dots.Replace(s))
	if strings.Contains(shown, "0xn--") {
		return "", invalid("host that is partly punycode and partly not")
	}
	out, err := idnaProfile.ToASCII(s)
	if err != nil {
		return "", invalid("host is no valid internationalised name")
	}
	return out, nil
}

// parseName checks a lower-case ASCII name, which may be numeric, and removes
// one trailing dot.
func parseName(s string) (string, error) {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > maxNameLength {
		return "", invalid("host empty or too long")
	}
	for label := range strings.SplitSeq(s, ".") {
		if err := checkLabel(label); err != nil {
			return "", err
		}
	}
	return s, nil
}

func checkLabel(label string) error {
	if label == "" || len(label) > maxLabelLength {
		return invalid("empty or overlong label in the host")
	}
	for i := range len(label) {
		switch c := label[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_':
		case c == '-' && i > 0 && i < len(label)-1:
		default:
			return invalid("character that no host name has")
		}
	}
	if strings.HasPrefix(label, "xn--") {
		// Chromium refuses these too; the round trip catches punycode
		// that decodes to something another spelling belongs to.
		if again, err := idnaProfile.ToASCII(label); err != nil || again != label {
			return invalid("invalid punycode in the host")
		}
	}
	return nil
}

// numericLastLabel reports whether the URL Standard's "ends in a number" holds
// for name, so that it is either an IPv4 address or nothing.
func numericLastLabel(name string) bool {
	label := name[strings.LastIndexByte(name, '.')+1:]
	digits := true
	for i := range len(label) {
		digits = digits && '0' <= label[i] && label[i] <= '9'
	}
	if digits {
		return true
	}
	hex, isHex := strings.CutPrefix(label, "0x")
	for i := range len(hex) {
		c := hex[i]
		isHex = isHex && ('0' <= c && c <= '9' || 'a' <= c && c <= 'f')
	}
	return isHex
}

// parseLooseIPv4 is the URL Standard's IPv4 parser: one to four parts in
// decimal, octal (0…) or hexadecimal (0x…), the last filling what remains.
func parseLooseIPv4(name string) (netip.Addr, bool) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var v uint64
	for i, part := range parts {
		n, ok := parseLooseNumber(part)
		if !ok {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			v |= n << (24 - 8*i)
			continue
		}
		if n >= 1<<(8*(5-len(parts))) {
			return netip.Addr{}, false
		}
		v |= n
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

func parseLooseNumber(s string) (uint64, bool) {
	base := 10
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		s, base = hex, 16
	} else if len(s) > 1 && s[0] == '0' {
		s, base = s[1:], 8
	}
	if s == "" { // "0x" is zero
		return 0, base == 16
	}
	// ParseUint takes neither sign nor, with a base given, underscores.
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}
