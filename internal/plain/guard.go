package plain

import (
	"bytes"

	"golang.org/x/net/html"
)

// The parser follows the HTML Standard to the letter, which lets a document of
// a few kilobytes grow without bound: elements for formatting that were never
// closed are opened anew in every paragraph. So the tags are counted first,
// and those that would do harm are left out.

// maxGrowth is how many nodes a document may become, more than the walk takes:
// what is hidden does not count there. They take some 200 bytes each.
const maxGrowth = 4 * maxNodes

// depths at which a document is flattened until the parser takes it: it gives
// up at 512 elements in each other, and adds some of its own.
var depths = []int{400, 200, 60}

var (
	// formatting elements are opened anew where they were left open (HTML
	// Standard, 13.2.4.3); of links only one is.
	formatting = words("b big code em font i nobr s small strike strong tt u")
	// scopes keep an end tag within from closing what is around.
	scopes    = words("applet caption html marquee object table td template th select svg math button frameset")
	voidTags  = words("area base br col embed hr img input link meta param source track wbr")
	unnoticed = words("html head body") // taken once, wherever they stand
)

// parseHTML parses a document without letting it grow. It reports whether that
// cost the document its end.
func parseHTML(text []byte, scripting bool) (root *html.Node, cut bool, err error) {
	option := html.ParseOptionEnableScripting(scripting)
	if end := growth(text); end < len(text) {
		text = rewrite(text, depths[0], true)
		end = growth(text)
		cut = end < len(text)
		text = text[:end]
	}
	root, err = html.ParseWithOptions(bytes.NewReader(text), option)
	for _, depth := range depths {
		if err == nil {
			break
		}
		root, err = html.ParseWithOptions(bytes.NewReader(rewrite(text, depth, true)), option)
	}
	return root, cut, err
}

// growth estimates, from above, how many nodes the parser makes, and returns
// where they become more than maxGrowth, or the length of the text.
func growth(text []byte) int {
	if bounded(text) {
		return len(text)
	}
	var (
		open []string
		left int // formatting elements that may be open where they are not in open any more
		live int // those in open
		sum  int
		at   int
	)
	z := html.NewTokenizer(bytes.NewReader(text))
	for {
		kind := z.Next()
		if at += len(z.Raw()); sum > maxGrowth {
			return at
		}
		switch kind {
		case html.ErrorToken:
			return len(text)
		case html.TextToken:
			sum++
		case html.StartTagToken:
			name, _ := z.TagName()
			tag := string(name)
			sum += 1 + left + live
			if voidTags[tag] || unnoticed[tag] {
				continue
			}
			if formatting[tag] {
				live++
			}
			open = append(open, tag)
		case html.EndTagToken:
			name, _ := z.TagName()
			top := opened(open, string(name), formatting[string(name)])
			if top < 0 {
				sum++ // </p> and </br> make one
				continue
			}
			for _, tag := range open[top+1:] {
				if formatting[tag] { // closed by what is around it: opened anew
					live--
					left++
				}
			}
			if formatting[open[top]] {
				live--
			}
			open = open[:top]
		}
	}
}

// bounded reports that a document cannot grow beyond maxGrowth even if each of
// its formatting elements is opened anew at each tag. That is so of nearly all,
// and much quicker told than what they become.
func bounded(text []byte) bool {
	tags, format := 0, 0
	for {
		i := bytes.IndexByte(text, '<')
		if i < 0 {
			break
		}
		text = text[i+1:]
		tags++
		if formats(text) {
			format++
		}
	}
	return 2*(tags+1)+tags*format <= maxGrowth
}

// formats reports that text begins with the name of a formatting element.
func formats(text []byte) bool {
	var name [6]byte // none is longer
	for i, c := range text {
		switch {
		case c == ' ', c == '\n', c == '\r', c == '\t', c == '\f', c == '/', c == '>':
			return formatting[string(name[:i])]
		case i == len(name):
			return false
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		name[i] = c
	}
	return false // no tag: it has no end
}

// maxBack is how many elements an end tag can close at once.
const maxBack = 1000

// opened finds the element that an end tag closes, or -1. That of a formatting
// element closes none outside of a scope.
func opened(open []string, name string, scoped bool) int {
	for at := len(open) - 1; at >= max(0, len(open)-maxBack); at-- {
		if open[at] == name {
			return at
		}
		if scoped && scopes[open[at]] {
			return -1
		}
	}
	return -1
}

// rewrite leaves out the tags of elements that lie deeper than depth, and of
// all formatting if bare.
func rewrite(text []byte, depth int, bare bool) []byte {
	var (
		out  bytes.Buffer
		open []string
	)
	z := html.NewTokenizer(bytes.NewReader(text))
	for {
		kind := z.Next()
		raw := z.Raw()
		switch kind {
		case html.ErrorToken:
			return out.Bytes()
		case html.StartTagToken:
			name, _ := z.TagName()
			tag := string(name)
			if bare && formatting[tag] {
				continue
			}
			if !voidTags[tag] {
				if open = append(open, tag); len(open) > depth {
					continue
				}
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if bare && formatting[string(name)] {
				continue
			}
			if at := opened(open, string(name), false); at >= 0 {
				open = open[:at]
				if at >= depth {
					continue
				}
			}
		}
		out.Write(raw)
	}
}
