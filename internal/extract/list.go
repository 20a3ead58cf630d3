package extract

import (
	"strconv"
	"strings"
)

// list renders a list; what is in it besides items keeps its place.
func (f *flow) list(n *node) string {
	l := list{nest: f.nest, step: 1, next: 1, style: n.attr("style"), ordered: n.tag == "ol", skip: f.skip}
	if l.ordered {
		if n.attr("reversed") != "" {
			l.step = -1
			l.next = countItems(n)
		}
		if v, err := strconv.Atoi(n.attr("start")); err == nil {
			l.next = v
		}
	}
	l.items(n)
	l.loose.flush(false)
	l.addLoose()
	return strings.Join(l.lines, "\n")
}

type list struct {
	lines   []string
	loose   flow // what is being collected between items
	nest    int
	next    int
	step    int
	style   string
	ordered bool
	skip    marks
}

func (l *list) items(n *node) {
	for _, k := range n.kids {
		switch {
		case l.skip.has(k):
		case k.is("li"):
			l.addLoose()
			l.item(k)
		case k.kind == blockNode && !k.is("ul", "ol", "menu", "dl", "table") && hasItem(k):
			l.addLoose()
			l.items(k)
		case k.is("ul", "ol", "menu"):
			l.addLoose()
			f := flow{nest: l.nest + 1, skip: l.skip}
			l.add(prefix(f.list(k), "  ", "  ", l.nest))
		default:
			l.loose.nest, l.loose.skip = l.nest, l.skip
			l.loose.node(k)
		}
	}
}

func (l *list) addLoose() {
	l.add(l.loose.String())
	l.loose = flow{}
}

func (l *list) add(s string) {
	if s != "" {
		l.lines = append(l.lines, s)
	}
}

func (l *list) item(n *node) {
	marker := "- "
	if l.ordered && l.style != "none" {
		if v, err := strconv.Atoi(n.attr("value")); err == nil {
			l.next = v
		}
		marker = ordinal(l.next, l.style) + ". "
		l.next += l.step
	}
	f := flow{nest: l.nest + 1, skip: l.skip}
	f.children(n)
	l.add(prefix(f.String(), marker, strings.Repeat(" ", len(marker)), l.nest))
}

// hasItem reports whether there is an item below n that belongs to the list
// around n.
func hasItem(n *node) bool {
	for _, k := range n.kids {
		if k.is("li") || k.kind == blockNode && !k.is("ul", "ol", "menu") && hasItem(k) {
			return true
		}
	}
	return false
}

func countItems(n *node) int {
	count := 0
	for _, k := range n.kids {
		if k.is("li") {
			count++
		}
	}
	return count
}

// ordinal writes the number of an item in a CSS list style.
func ordinal(n int, style string) string {
	s := ""
	switch style {
	case "lower-alpha", "lower-latin":
		s = alphabetic(n)
	case "upper-alpha", "upper-latin":
		s = strings.ToUpper(alphabetic(n))
	case "lower-roman":
		s = roman(n)
	case "upper-roman":
		s = strings.ToUpper(roman(n))
	}
	if s == "" {
		return strconv.Itoa(n)
	}
	return s
}

func alphabetic(n int) string {
	s := ""
	for ; n > 0; n = (n - 1) / 26 {
		s = string(rune('a'+(n-1)%26)) + s
	}
	return s
}

func roman(n int) string {
	if n < 1 || n > 3999 {
		return ""
	}
	var b strings.Builder
	for _, d := range []struct {
		value int
		sign  string
	}{{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"}, {50, "l"}, {40, "xl"}, {10, "x"}, {9, "ix"}, {5, "v"}, {4, "iv"}, {1, "i"}} {
		for ; n >= d.value; n -= d.value {
			b.WriteString(d.sign)
		}
	}
	return b.String()
}
