package policy

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// MaxURLLength is the most characters (code points, not bytes) [ParseURL]
// accepts in a URL.
const MaxURLLength = 2048

// URL is an absolute http or https URL that this package and Chromium
// understand alike. Only [ParseURL] makes one.
type URL struct {
	Scheme string // "http" or "https"
	Host   Host
	Port   uint16 // effective: the scheme's default where the URL names none
	Path   string // percent-encoded, never empty: "/a%20b"
	Query  string // percent-encoded, without the question mark

	href string
}

// String returns the URL as Chromium would write it (the href of the WHATWG
// URL Standard), fragment included. A trailing dot of the host, which
// [Host.Name] never has, is kept.
func (u *URL) String() string { return u.href }

// HostPort returns the host and the effective port, joined by a colon.
func (u *URL) HostPort() string {
	return u.Host.String() + ":" + strconv.Itoa(int(u.Port))
}

// parser escapes two more characters in a path than its default: ^, as the URL
// Standard does since late 2023, and |, as only Chromium does.
var parser = whatwg.NewParser(
	whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^', '|')),
)

// ParseURL parses a URL that came from outside. It never repairs: what the URL
// Standard tolerates (missing or additional slashes, backslashes, tabs and
// newlines, surrounding spaces, empty ports) is refused, because the next
// parser in line may tolerate it differently. Numeric and Unicode spellings of
// a host are understood and made canonical.
//
// The host is worked out twice, by this package and by an independent
// implementation of the standard; when they disagree the URL is refused.
//
// The error is always a [*Refusal].
func ParseURL(raw string) (*URL, error) {
	// A code point takes at most four bytes: the first test keeps a
	// megabyte of input from being counted.
	if len(raw) > MaxURLLength*utf8.UTFMax || utf8.RuneCountInString(raw) > MaxURLLength {
		return nil, &Refusal{Reason: ReasonURLTooLong, What: "more than " + strconv.Itoa(MaxURLLength) + " characters"}
	}
	scheme, rest, ok := cutScheme(raw)
	if ok && scheme != "http" && scheme != "https" {
		return nil, &Refusal{Reason: ReasonScheme, What: "neither http nor https"}
	}
	if what := malformedText(raw); what != "" {
		return nil, invalid(what)
	}
	if !ok {
		return nil, invalid("not an absolute URL")
	}
	if !strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "///") {
		return nil, invalid("scheme not followed by exactly two slashes")
	}
	authority := rest[2:]
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	if strings.Contains(authority, "@") {
		return nil, &Refusal{Reason: ReasonCredentials, What: "user name or password before the host"}
	}
	host, port, err := parseURLAuthority(authority, scheme)
	if err != nil {
		return nil, err
	}
	return agree(raw, scheme, host, port)
}

// agree lets the second parser have its say and takes over its canonical
// spelling when the two agree on scheme, host and port.
func agree(raw, scheme string, host Host, port uint16) (*URL, error) {
	w, err := parser.Parse(raw)
	if err != nil {
		return nil, invalid("not a valid URL")
	}
	if w.Protocol() != scheme+":" ||
		strings.TrimSuffix(w.Hostname(), ".") != host.String() ||
		w.DecodedPort() != int(port) ||
		w.Username() != "" || w.Password() != "" {
		return nil, invalid("ambiguous host")
	}
	return &URL{
		Scheme: scheme,
		Host:   host,
		Port:   port,
		Path:   w.Pathname(),
		Query:  w.Query(),
		href:   w.Href(false),
	}, nil
}

// cutScheme splits off the scheme, in lower case, and the colon after it.
func cutScheme(s string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(s, ":")
	if !ok || scheme == "" {
		return "", s, false
	}
	for i := range len(scheme) {
		c := scheme[i] | 0x20 // lower case, if a letter
		switch {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= scheme[i] && scheme[i] <= '9' || strings.IndexByte("+-.", scheme[i]) >= 0):
		default:
			return "", s, false
		}
	}
	return strings.ToLower(scheme), rest, true
}

// malformedText says what makes s no text that two parsers would read alike,
// or "".
func malformedText(s string) string {
	if s == "" {
		return "empty"
	}
	if s[0] == ' ' || s[len(s)-1] == ' ' {
		return "leading or trailing space"
	}
	for i, r := range s {
		switch {
		case r == '\\':
			return "backslash"
		case unicode.IsControl(r):
			return "control character"
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return "not UTF-8"
			}
		}
	}
	return ""
}

// parseURLAuthority parses the host and the optional port of a URL.
func parseURLAuthority(s, scheme string) (Host, uint16, error) {
	hostText, portText, hasPort := s, "", false
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return Host{}, 0, invalid("unclosed bracket")
		}
		hostText, portText = s[:end+1], s[end+1:]
		if portText != "" {
			if portText[0] != ':' {
				return Host{}, 0, invalid("text after the bracket")
			}
			portText, hasPort = portText[1:], true
		}
	} else {
		hostText, portText, hasPort = strings.Cut(s, ":")
	}
	port := uint16(443)
	if scheme == "http" {
		port = 80
	}
	if hasPort {
		var err error
		if port, err = ParsePort(portText); err != nil {
			return Host{}, 0, err
		}
	}
	host, err := parseURLHost(hostText)
	return host, port, err
}

// ParsePort parses a port as it may stand after a host: 1 to 65535 in decimal
// digits, without sign or leading zero. The error is a [*Refusal].
func ParsePort(s string) (uint16, error) {
	if s == "" || s[0] == '0' || len(s) > 5 {
		return 0, invalid("bad port")
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, invalid("bad port")
		}
		n = n*10 + int(s[i]-'0')
	}
	if n > 65535 {
		return 0, invalid("bad port")
	}
	return uint16(n), nil
}

func invalid(what string) *Refusal {
	return &Refusal{Reason: ReasonInvalidURL, What: what}
}
