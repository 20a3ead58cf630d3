package digest

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark is the sign that only this package prints: protected fields carry it.
const mark = '⚠'

// cut returns at most limit code points of s, the last of them … when
// something was cut.
func cut(s string, limit int) string {
	if limit <= 0 {
		return ""
	}
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit-1 {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// oneLine makes s one line of printable text: white space of all kinds and
// what does not print become single spaces, and the mark is written as a
// sequence of ASCII.
func oneLine(s string) string {
	if plainLine(s) {
		return s
	}
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			space = b.Len() > 0
			continue
		case !unicode.IsPrint(r) && r != '\u200d' && r != '\u200c' && r != '\ufe0f':
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		if r == mark {
			b.WriteString(`\u26a0`)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func plainLine(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f || s[i] == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' ') {
			return false
		}
	}
	return true
}

// quote writes s as a string in quotes, of at most limit code points. Inside,
// quotes and backslashes are escaped, so the string ends where we end it.
func quote(s string, limit int) string {
	s = cut(oneLine(s), limit)
	return `"` + quoted.Replace(s) + `"`
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// bare writes s without quotes: with nothing in it that has a meaning in a
// line of a digest. It is percent-encoded, as URLs are.
func bare(s string, limit int) string {
	s = oneLine(s)
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(" \"\\[]()<>", r) || r == mark {
			for _, c := range []byte(string(r)) {
				b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)|0x100, 16)[1:]))
			}
			continue
		}
		b.WriteRune(r)
	}
	return cut(b.String(), limit)
}

// option writes one choice of a select, in quotes if it has something in it
// that the list around it uses.
func option(s string) string {
	s = oneLine(s)
	if s == "" || strings.ContainsAny(s, `,;:[]()"\=`) || strings.HasPrefix(s, "…") || strings.HasPrefix(s, "+") {
		return quote(s, MaxOption)
	}
	return cut(s, MaxOption)
}

// header writes the value of a header line: one line, and nothing at its
// beginning or in it that starts another kind of line.
func header(s string, limit int) string { return cut(oneLine(s), limit) }

// textLine writes a line of page text. A line that looks like one of the
// digest's own gets a backslash before it; the text is fenced, too, but a
// model may read carelessly.
func textLine(s string) string {
	s = oneLine(s)
	if looksOurs(s) {
		return `\` + s
	}
	return s
}

var ours = []string{"page:", "url:", "generation:", "events:", "interactive elements", "untrusted_page_text", "untrusted_links", "(elements ", "new:", "changed:", "gone:", "status:", "reason:", "hint:"}

func looksOurs(s string) bool {
	s = strings.TrimLeftFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\\' })
	if s == "" {
		return false
	}
	if s[0] == '[' {
		i := 1
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > 1 && i < len(s) && s[i] == ']'
	}
	low := strings.ToLower(s[:min(len(s), 24)])
	for _, p := range ours {
		if strings.HasPrefix(low, p) {
			return true
		}
	}
	rest, is := strings.CutPrefix(low, "end ")
	return is && len(rest) >= 4 && strings.IndexFunc(rest, func(r rune) bool { return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'f') }) < 0
}
