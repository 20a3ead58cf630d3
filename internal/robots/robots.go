// Package robots reads robots.txt files as RFC 9309 has them: [Parse] makes
// rules of a file, [Rules.Check] judges a path, [Cache] keeps the rules of
// origins for a while.
//
// It fetches nothing and knows no crawler: who asks, and how a file is got, is
// the caller's to say. What the RFC leaves to others, such as Crawl-delay and
// Sitemap, it does not read.
package robots

import (
	"bytes"
	"slices"
	"strings"
)

// MaxBytes is how much of a file is read: the 500 kibibytes that a crawler must
// be able to read (RFC 9309 section 2.5).
const MaxBytes = 500 << 10

// maxPattern is the most bytes of a pattern; a longer one could match no URL
// that is ever asked about.
const maxPattern = 4 << 10

// Rules is what a file says. The zero value, as nil, allows everything. It is
// immutable and safe for concurrent use.
type Rules struct {
	groups []group
}

// group is rules and whom they are for.
type group struct {
	agents []string // product tokens in lower case; "*" for everybody else
	rules  []rule
}

type rule struct {
	allow   bool
	pattern string   // as compared, without the dollar sign at its end
	parts   []string // between asterisks
	end     bool     // the pattern ends in a dollar sign
	line    int
}

// Verdict is the answer about one path.
type Verdict struct {
	Allowed bool
	Line    int // of the rule that decided, from 1; zero if none did
}

// Parse reads a file. It never fails: lines that make no sense are skipped, and
// what comes after MaxBytes.
func Parse(file []byte) *Rules {
	file = bytes.TrimPrefix(file[:min(len(file), MaxBytes)], []byte("\xef\xbb\xbf"))
	r := &Rules{}
	open := false // the last group takes further agents
	for n, line := range lines(string(file)) {
		key, value, ok := split(line)
		if !ok {
			continue
		}
		switch key {
		case "user-agent":
			if !open {
				r.groups = append(r.groups, group{})
				open = true
			}
			g := &r.groups[len(r.groups)-1]
			if token := agent(value); token != "" {
				g.agents = append(g.agents, token)
			}
		case "allow", "disallow":
			open = false
			if len(r.groups) == 0 || value == "" || len(value) > maxPattern {
				continue // rules of nobody; an empty one disallows nothing
			}
			g := &r.groups[len(r.groups)-1]
			g.rules = append(g.rules, newRule(key == "allow", value, n+1))
		}
	}
	return r
}

// lines yields the lines of a file; they end in CR, LF, or both.
func lines(s string) func(func(int, string) bool) {
	return func(yield func(int, string) bool) {
		for n := 0; s != ""; n++ {
			line, rest := s, ""
			if i := strings.IndexAny(s, "\r\n"); i >= 0 {
				line, rest = s[:i], s[i+1:]
				if s[i] == '\r' && strings.HasPrefix(rest, "\n") {
					rest = rest[1:]
				}
			}
			if s = rest; !yield(n, line) {
				return
			}
		}
	}
}

// split parts a line into its key, in lower case, and its value.
func split(line string) (key, value string, ok bool) {
	line, _, _ = strings.Cut(line, "#")
	key, value, ok = strings.Cut(line, ":")
	return strings.ToLower(strings.Trim(key, " \t")), strings.Trim(value, " \t"), ok
}

// agent is the product token at the start of a value, in lower case, or "*".
func agent(value string) string {
	if strings.HasPrefix(value, "*") && (len(value) == 1 || value[1] == ' ' || value[1] == '\t') {
		return "*"
	}
	end := 0
	for end < len(value) && isToken(value[end]) {
		end++
	}
	return strings.ToLower(value[:end])
}

func isToken(b byte) bool {
	return 'a' <= b|0x20 && b|0x20 <= 'z' || b == '_' || b == '-'
}

func newRule(allow bool, pattern string, line int) rule {
	r := rule{allow: allow, line: line}
	pattern, r.end = strings.CutSuffix(pattern, "$")
	r.pattern = normal(pattern)
	r.parts = strings.Split(r.pattern, "*")
	return r
}

// matches reports that the pattern matches from the start of path on.
func (r *rule) matches(path string) bool {
	first, rest := r.parts[0], r.parts[1:]
	if !strings.HasPrefix(path, first) {
		return false
	}
	path = path[len(first):]
	for i, part := range rest {
		if r.end && i == len(rest)-1 {
			return strings.HasSuffix(path, part)
		}
		at := strings.Index(path, part)
		if at < 0 {
			return false
		}
		path = path[at+len(part):]
	}
	return !r.end || path == ""
}

// Check judges a path with its query, as they stand in a URL, for a crawler of
// these product tokens. The rules of all groups for any of them count; if there
// are none, those for everybody else.
func (r *Rules) Check(tokens []string, path string) Verdict {
	if r == nil || path == "/robots.txt" {
		return Verdict{Allowed: true}
	}
	rules, named := r.of(tokens)
	if !named {
		rules, _ = r.of([]string{"*"})
	}
	path = normal(path)
	best, length := Verdict{Allowed: true}, -1
	for _, x := range rules {
		// The longest pattern decides; of equals, the one that allows.
		n := len(x.pattern)
		if x.end {
			n++
		}
		if n < length || n == length && (best.Allowed || !x.allow) || !x.matches(path) {
			continue
		}
		best, length = Verdict{Allowed: x.allow, Line: x.line}, n
	}
	return best
}

// of collects the rules for these tokens, and reports whether a group names one.
func (r *Rules) of(tokens []string) (rules []rule, named bool) {
	for _, g := range r.groups {
		if slices.ContainsFunc(g.agents, func(a string) bool {
			return slices.ContainsFunc(tokens, func(t string) bool { return strings.EqualFold(a, t) })
		}) {
			rules, named = append(rules, g.rules...), true
		}
	}
	return rules, named
}

const upperHex = "0123456789ABCDEF"

// normal writes a path so that spellings of the same can be compared (RFC 9309
// section 2.2.2): what is not ASCII is escaped, unreserved characters are not,
// and escapes are in capitals.
func normal(s string) string {
	clean := true
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] == '%' {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	b := make([]byte, 0, len(s)+16)
	escape := func(c byte) { b = append(b, '%', upperHex[c>>4], upperHex[c&15]) }
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 0x80:
			escape(c)
		case c == '%' && i+2 < len(s) && hex(s[i+1]) >= 0 && hex(s[i+2]) >= 0:
			c = byte(hex(s[i+1])<<4 | hex(s[i+2]))
			if i += 2; isUnreserved(c) {
				b = append(b, c)
			} else {
				escape(c)
			}
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

func hex(b byte) int {
	switch {
	case '0' <= b && b <= '9':
		return int(b - '0')
	case 'a' <= b|0x20 && b|0x20 <= 'f':
		return int(b|0x20-'a') + 10
	}
	return -1
}

// isUnreserved is RFC 3986 section 2.3.
func isUnreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
