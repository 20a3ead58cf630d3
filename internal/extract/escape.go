package extract

import "strings"

// Text on a page is data, and what is written here is Markdown: a page that
// spells out a heading, a picture or an element of HTML must not have made one,
// for whoever shows the result to a person, or takes its structure for the
// page's. A backslash before a character keeps it from meaning anything
// (CommonMark §2.4). Numbers at the start of a line are left alone: they lead
// to nothing and hide nothing.

// Escape makes text that is no Markdown safe to stand in it, line by line.
func Escape(s string) string {
	lines := strings.Split(escapeInline(s, 0), "\n")
	for i, l := range lines {
		if l = strings.TrimLeft(l, " \t"); structural(l) {
			lines[i] = `\` + l
		}
	}
	return strings.Join(lines, "\n")
}

// escapeInline escapes what would begin a link, a picture or an element of
// HTML in text that follows on a byte prev.
func escapeInline(s string, prev byte) string {
	if strings.IndexByte(s, '<') < 0 && strings.IndexByte(s, '(') < 0 {
		return s
	}
	var b strings.Builder
	from := 0
	for i := range len(s) {
		if i > 0 {
			prev = s[i-1]
		}
		if s[i] == '(' && prev == ']' || s[i] == '<' && opensTag(s[i+1:]) {
			b.WriteString(s[from:i])
			b.WriteByte('\\')
			from = i
		}
	}
	if from == 0 && b.Len() == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// opensTag reports that "<" before s may begin an element, a comment or a link
// that shows its address; the end of s may be followed by anything.
func opensTag(s string) bool {
	return s == "" || s[0] == '/' || s[0] == '!' || s[0] == '?' || s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z'
}

// structural reports that a line of text would be a heading, an item, a
// quotation, a row, a rule, a fence or the definition of a link.
func structural(l string) bool {
	if l == "" {
		return false
	}
	switch c := l[0]; c {
	case '#':
		rest := strings.TrimLeft(l, "#")
		return len(l)-len(rest) <= 6 && (rest == "" || blank1(rest))
	case '>', '|':
		return true
	case '-', '*', '+', '=', '_':
		if len(l) == 1 { // below a line, these two make it a heading
			return c == '-' || c == '='
		}
		if blank1(l[1:]) && c != '=' && c != '_' {
			return true
		}
		return strings.Trim(l, string(c)+" ") == "" && (strings.Count(l, string(c)) >= 3 || c == '=')
	case '`':
		return strings.HasPrefix(l, "```") && !isSpan(l)
	case '~':
		return strings.HasPrefix(l, "~~~")
	case '[':
		i := strings.Index(l, "]:")
		return i > 0 && !strings.ContainsAny(l[1:i], "[]")
	}
	return false
}

func blank1(s string) bool { return s != "" && (s[0] == ' ' || s[0] == '\t' || s[0] == '\n') }
