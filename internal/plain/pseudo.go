package plain

import (
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// pseudoClasses are those that depend on the document alone. All others,
// :hover and :focus among them, describe a page that somebody is using.
var pseudoClasses = map[string]func(*matcher, *html.Node) bool{
	"root":          func(_ *matcher, n *html.Node) bool { return parentElement(n) == nil },
	"first-child":   func(_ *matcher, n *html.Node) bool { return beside(n, -1) == nil },
	"last-child":    func(_ *matcher, n *html.Node) bool { return beside(n, 1) == nil },
	"only-child":    func(_ *matcher, n *html.Node) bool { return beside(n, -1) == nil && beside(n, 1) == nil },
	"first-of-type": func(m *matcher, n *html.Node) bool { return position(m, n, -1, true) == 1 },
	"last-of-type":  func(m *matcher, n *html.Node) bool { return position(m, n, 1, true) == 1 },
	"empty": func(_ *matcher, n *html.Node) bool {
		for k := n.FirstChild; k != nil; k = k.NextSibling {
			if k.Type == html.ElementNode || k.Type == html.TextNode {
				return false
			}
		}
		return true
	},
	"link":     isLink,
	"any-link": isLink,
	"checked":  func(_ *matcher, n *html.Node) bool { _, ok := lookup(n, "checked"); return ok },
	"disabled": func(_ *matcher, n *html.Node) bool { _, ok := lookup(n, "disabled"); return ok },
	"enabled":  func(_ *matcher, n *html.Node) bool { _, off := lookup(n, "disabled"); return !off },
	"defined":  func(_ *matcher, n *html.Node) bool { return !strings.Contains(n.Data, "-") },
}

func isLink(_ *matcher, n *html.Node) bool {
	_, ok := lookup(n, "href")
	return ok && (n.Data == "a" || n.Data == "area")
}

// position counts n among its siblings, from the start (-1) or from the end
// (1), of its own type only or of all.
func position(m *matcher, n *html.Node, from int, sameType bool) int {
	at := 1
	for p := beside(n, from); p != nil; p = beside(p, from) {
		if m.steps++; m.steps > maxSteps {
			return 0
		}
		if !sameType || p.Data == n.Data {
			at++
		}
	}
	return at
}

// nth makes the test of :nth-child(An+B) and its kin; nil for an argument that
// is not understood.
func nth(name string, arg []css.Token) func(*matcher, *html.Node) bool {
	var text strings.Builder
	for _, t := range arg {
		text.Write(t.Data)
	}
	a, b, ok := parseNth(strings.ToLower(strings.ReplaceAll(text.String(), " ", "")))
	if !ok {
		return nil
	}
	from := -1
	if strings.Contains(name, "last") {
		from = 1
	}
	sameType := strings.Contains(name, "type")
	return func(m *matcher, n *html.Node) bool {
		d := position(m, n, from, sameType) - b
		if a == 0 {
			return d == 0
		}
		return d%a == 0 && d/a >= 0
	}
}

func parseNth(s string) (a, b int, ok bool) {
	switch s {
	case "odd":
		return 2, 1, true
	case "even":
		return 2, 0, true
	}
	before, after, hasN := strings.Cut(s, "n")
	if !hasN {
		b, err := strconv.Atoi(s)
		return 0, b, err == nil
	}
	switch before {
	case "", "+":
		a = 1
	case "-":
		a = -1
	default:
		var err error
		if a, err = strconv.Atoi(before); err != nil {
			return 0, 0, false
		}
	}
	if after != "" {
		var err error
		if b, err = strconv.Atoi(after); err != nil {
			return 0, 0, false
		}
	}
	return a, b, true
}
