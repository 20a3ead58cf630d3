package plain

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// openLine is the line that opens n, or "" when n needs none.
func (w *walker) openLine(n *html.Node, tag string, block bool) string {
	if w.formulas && !block {
		if tex := formula(n, tag); tex != "" {
			return "(math" + field("tex", clip(tex, 2*maxAlt))
		}
	}
	keep := inlineTags[tag]
	if block {
		keep = blockTags[tag]
	}
	if !keep && !block {
		return ""
	}
	line := "("
	if block {
		line = "<"
	}
	if keep {
		line += tag
	} else {
		line += "div"
	}
	if role := attr(n, "role"); roles[role] {
		line += field("role", role)
	}
	if attr(n, "aria-expanded") == "false" {
		line += field("closed", "1")
	}
	if keep {
		line += particulars(n, tag)
	}
	return line
}

// particulars are the fields that only some elements have.
func particulars(n *html.Node, tag string) string {
	switch tag {
	case "a":
		return field("href", clip(attr(n, "href"), maxHref))
	case "ol":
		line := field("start", attr(n, "start"))
		if _, ok := lookup(n, "reversed"); ok {
			line += field("reversed", "1")
		}
		return line + field("style", listStyles[attr(n, "type")])
	case "li":
		return field("value", attr(n, "value"))
	case "td", "th":
		return field("cols", attr(n, "colspan")) + field("rows", attr(n, "rowspan"))
	case "pre", "code":
		return field("lang", language(n))
	case "details":
		if _, open := lookup(n, "open"); !open {
			return field("closed", "1")
		}
	}
	return ""
}

var listStyles = map[string]string{"a": "lower-alpha", "A": "upper-alpha", "i": "lower-roman", "I": "upper-roman"}

func field(key, value string) string {
	if value == "" {
		return ""
	}
	return "\t" + key + "=" + escape(value)
}

var languages = regexp.MustCompile(`(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|brush:\s*)([\w+#.-]+)`)

// language is the programming language that n, or the box around a pre, names.
func language(n *html.Node) string {
	for _, e := range []*html.Node{n, parentElement(n)} {
		if e == nil {
			continue
		}
		name := ""
		if m := languages.FindStringSubmatch(attr(e, "class")); m != nil {
			name = m[1]
		} else if name = attr(e, "data-lang"); name == "" {
			name = attr(e, "data-language")
		}
		if name != "" || e.Data != "pre" {
			return name
		}
	}
	return ""
}

const tex = "application/x-tex"

// formula is the TeX that a formula names as its source: a math element, or the
// span around a hidden one and what is shown for it.
func formula(n *html.Node, tag string) string {
	var m *html.Node
	switch tag {
	case "math":
		m = n
	case "span":
		if a := firstElement(n); a != nil {
			if b := firstElement(a); b != nil && b.Data == "math" {
				m = b
			}
		}
	}
	if m == nil {
		return ""
	}
	a := find(m, func(n *html.Node) bool { return n.Data == "annotation" && attr(n, "encoding") == tex })
	if a == nil || a.FirstChild == nil || a.FirstChild.Type != html.TextNode {
		return ""
	}
	return strings.TrimSpace(squeeze(a.FirstChild.Data))
}

// firstElement is n's first child, if that is an element.
func firstElement(n *html.Node) *html.Node {
	if k := n.FirstChild; k != nil && k.Type == html.ElementNode {
		return k
	}
	return nil
}

// find returns the first element in n, in document order, that is what.
func find(n *html.Node, what func(*html.Node) bool) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && what(d) {
			return d
		}
	}
	return nil
}
