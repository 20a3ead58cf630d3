package extract

import (
	"strings"
	"unicode/utf8"
)

// The marks that this package writes. Page text cannot hold their brackets
// (see [Clean]), so no page can write one.
const (
	markCollapsed = "⟦collapsed⟧"
	markFrameEnd  = "⟦end of frame⟧"
)

func markFrame(origin string) string {
	if origin == "" {
		return "⟦frame⟧"
	}
	return "⟦frame " + Line(origin, 300) + "⟧"
}

// line collects the inline contents of one block: white space collapses,
// line breaks stay.
type line struct {
	b     strings.Builder
	last  byte // last byte written
	space bool // white space is due before the next text
	c     cleaner
}

// text adds page text. With keep, line feeds and white space stay.
func (l *line) text(s string, keep bool) {
	s = escapeInline(l.c.clean(s), l.last)
	for s != "" {
		i := strings.IndexAny(s, " \t\n\u00a0")
		if i < 0 {
			l.raw(s)
			return
		}
		if i > 0 {
			l.raw(s[:i])
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		s = s[i+size:]
		switch {
		case r == '\n':
			l.lineBreak()
		case keep && !l.atStart():
			l.raw(string(r))
		default:
			l.space = true
		}
	}
}

// raw adds s as it is.
func (l *line) raw(s string) {
	if s == "" {
		return
	}
	if l.space && !l.atStart() {
		l.b.WriteByte(' ')
	}
	l.space = false
	l.b.WriteString(s)
	l.last = s[len(s)-1]
}

func (l *line) atStart() bool { return l.last == 0 || l.last == '\n' }

func (l *line) lineBreak() {
	l.space = false
	if l.last != 0 {
		l.b.WriteByte('\n')
		l.last = '\n'
	}
}

// take returns the contents and starts anew.
func (l *line) take() string {
	s := l.b.String()
	*l = line{}
	return tidy(s)
}

// tidy trims the ends of every line, leaves at most one empty line in a row,
// and keeps page text from passing for a heading, a list or a code fence.
func tidy(s string) string {
	if !strings.ContainsAny(s, "\n") && !strings.HasSuffix(s, " ") && !strings.HasPrefix(s, " ") && !structural(s) {
		return s
	}
	lines := strings.Split(s, "\n")
	out := lines[:0]
	for _, l := range lines {
		l = strings.Trim(l, " \t")
		if l == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		if structural(l) {
			l = `\` + l
		}
		out = append(out, l)
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// isSpan reports that the line begins with an inline code span, not a fence:
// its run of backticks comes again.
func isSpan(l string) bool {
	n := len(l) - len(strings.TrimLeft(l, "`"))
	return strings.Contains(l[n:], l[:n])
}

// codeSpan marks inline code, with a fence that no backtick in it ends. A name
// or a number reads the same without marks, and costs less.
func codeSpan(s string) string {
	if s = strings.TrimSpace(s); !strings.ContainsAny(s, " *_<>[]|\\`~#$") {
		return s
	}
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	if s[0] == '`' || s[len(s)-1] == '`' {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// longestRun is the length of the longest run of c in s.
func longestRun(s string, c byte) int {
	best, n := 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] != c {
			n = 0
			continue
		}
		n++
		best = max(best, n)
	}
	return best
}

// inline adds an inline element or a leaf to l, and reports whether n was one.
// Blocks inside are set apart by white space.
func (l *line) inline(n *node) {
	switch n.kind {
	case textNode:
		l.text(n.text, false)
	case preNode:
		l.text(n.text, true)
	case breakNode:
		l.lineBreak()
	case imageNode:
		l.image(n)
	case collapsedNode:
		l.mark(markCollapsed)
	case edgeNode, ruleNode:
		l.space = true
	default:
		l.element(n)
	}
}

func (l *line) element(n *node) {
	if n.kind != inlineNode {
		l.space = true
	}
	switch n.tag {
	case "code", "tt", "samp":
		l.raw(codeSpan(flat(n.kids)))
	case "rt":
		if s := flat(n.kids); s != "" {
			l.space = false
			l.raw("(" + s + ")")
		}
	case "sup":
		l.superscript(n)
	case "math":
		visible := flat(n.kids)
		if s := tex(n.attr("tex"), visible); s != "" {
			l.raw(s)
		} else {
			l.raw(visible)
		}
	case "msup", "msub", "mfrac", "msqrt", "mrow", "msubsup":
		l.raw(formula(n))
	case "del", "s", "strike":
		if s := flat(n.kids); s != "" {
			l.raw("~~" + s + "~~")
		}
	default:
		for _, k := range n.kids {
			l.inline(k)
		}
	}
	if n.attr("closed") != "" && n.tag != "details" || n.tag == "summary" && n.parent.attr("closed") != "" {
		l.mark(markCollapsed)
	}
	if n.kind != inlineNode {
		l.space = true
	}
}

// superscript keeps 10⁶ from reading as 106.
func (l *line) superscript(n *node) {
	s := flat(n.kids)
	if s != "" && !l.space && isWord(l.last) && strings.Trim(s, "0123456789+-−") == "" {
		s = "^" + s
	}
	l.raw(s)
}

// formula writes presentation MathML as a line of text.
func formula(n *node) string {
	var kids []string
	for _, k := range n.kids {
		if s := flat([]*node{k}); s != "" {
			kids = append(kids, s)
		}
	}
	group := func(s string) string {
		if len([]rune(s)) > 1 {
			return "(" + s + ")"
		}
		return s
	}
	switch {
	case n.tag == "msup" && len(kids) == 2:
		return kids[0] + "^" + group(kids[1])
	case n.tag == "msub" && len(kids) == 2:
		return kids[0] + "_" + group(kids[1])
	case n.tag == "msubsup" && len(kids) == 3:
		return kids[0] + "_" + group(kids[1]) + "^" + group(kids[2])
	case n.tag == "mfrac" && len(kids) == 2:
		return group(kids[0]) + "/" + group(kids[1])
	case n.tag == "msqrt":
		return "√" + group(strings.Join(kids, ""))
	}
	return strings.Join(kids, "")
}

// isWord reports that b is, or ends, a letter or digit.
func isWord(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

func (l *line) mark(m string) {
	l.space = true
	l.raw(m)
	l.space = true
}

// image adds an image's alternative text, unless the text around says it.
func (l *line) image(n *node) {
	if s := texImage(n.text); s != "" {
		l.raw(s)
		return
	}
	if !n.shown {
		l.space = true
		return
	}
	for p, up := n.parent, 0; p != nil && up < 3; p, up = p.parent, up+1 {
		if p.size > 0 && p.is("a") { // the picture on a card whose link has words
			return
		}
		if p.size > 400 {
			break
		}
		if p.size > 0 && strings.Contains(strings.ToLower(plainText(p)), strings.ToLower(n.text)) {
			return
		}
	}
	l.space = true
	l.raw("![" + escapeInline(n.text, 0) + "]")
	l.space = true
}

// flat renders nodes as one line.
func flat(kids []*node) string {
	var l line
	for _, k := range kids {
		l.inline(k)
	}
	return strings.Join(strings.Fields(l.b.String()), " ")
}

// plainText is the text of the tree without any marks, on one line; of a
// large tree, its beginning.
func plainText(n *node) string {
	if n.kind == textNode {
		return Line(n.text, 1000)
	}
	var b strings.Builder
	nodes := 0
	n.walk(func(n *node) bool {
		switch n.kind {
		case textNode, preNode:
			b.WriteString(n.text)
		case blockNode, breakNode:
			b.WriteByte(' ')
		}
		nodes++
		return nodes < 500 && b.Len() < 4000
	})
	return Line(b.String(), 1000)
}
