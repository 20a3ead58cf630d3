package extract

import (
	"strings"
	"unicode/utf8"
)

// outline is what the choice of the main part knows about a page: its text in
// units, and sums over the tree.
type outline struct {
	units   []*unit
	sums    map[*node]*sums
	heading *unit // the page's own heading, if there is one
}

// unit is a run of text without a block edge in it: a paragraph, a heading,
// an item's line.
type unit struct {
	box   *node   // the block it is in
	kids  []*node // its nodes, children of box
	size  int     // visible code points
	links int     // those of size that are links
	fixed bool    // in a table or in code, which are kept or left whole
}

// running reports that the unit is text to read on: long, and hardly linked.
func (u *unit) running() bool { return u.size >= 70 && u.links*3 < u.size }

func (u *unit) heading() int { return headingLevel(u.box) }

// text is the unit's text on one line, without marks.
func (u *unit) text() string {
	var b strings.Builder
	for _, k := range u.kids {
		b.WriteString(plainText(k))
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

type sums struct {
	size, links, running, units, headings int
}

func headingLevel(n *node) int {
	if n.kind == blockNode && len(n.tag) == 2 && n.tag[0] == 'h' && n.tag[1] >= '1' && n.tag[1] <= '6' {
		return int(n.tag[1] - '0')
	}
	return 0
}

func outlineOf(d *Doc) *outline {
	o := &outline{sums: map[*node]*sums{}}
	o.collect(d.root, false, false)
	o.heading = o.mainHeading(d.Title)
	return o
}

// collect gathers the units below n and returns their sums.
func (o *outline) collect(n *node, linked, fixed bool) *sums {
	s := &sums{}
	o.sums[n] = s
	linked = linked || n.is("a")
	fixed = fixed || n.is("table", "pre")
	var run []*node
	end := func() {
		if u := newUnit(n, run, linked, fixed); u != nil {
			o.units = append(o.units, u)
			s.size += u.size
			s.links += u.links
			s.units++
			if u.running() {
				s.running += u.size
			}
		}
		run = nil
	}
	for _, k := range n.kids {
		switch {
		case k.kind == blockNode, k.kind == frameNode, k.kind == inlineNode && k.hasBlock():
			end()
			c := o.collect(k, linked, fixed)
			s.size += c.size
			s.links += c.links
			s.running += c.running
			s.units += c.units
			s.headings += c.headings
		case k.kind == edgeNode, k.kind == ruleNode, k.kind == breakNode:
			end()
		default:
			run = append(run, k)
		}
	}
	end()
	if headingLevel(n) > 0 {
		s.headings++
	}
	return s
}

// newUnit makes a unit of a run of nodes, or nil if there is no text in it.
func newUnit(box *node, kids []*node, linked, fixed bool) *unit {
	u := &unit{box: box, kids: kids, fixed: fixed}
	for _, k := range kids {
		u.size += k.size
		u.links += k.linkSize()
	}
	if u.size == 0 {
		return nil
	}
	if linked {
		u.links = u.size
	}
	return u
}

// linkSize is the number of visible code points in links in n and below.
func (n *node) linkSize() int {
	if n.is("a") {
		return n.size
	}
	size := 0
	for _, k := range n.kids {
		size += k.linkSize()
	}
	return size
}

// mainHeading is the heading that says what the title says, or failing that
// the highest one.
func (o *outline) mainHeading(title string) *unit {
	words := map[string]bool{}
	for _, w := range strings.Fields(fold(title).text) {
		words[w] = true
	}
	var best *unit
	score := 0.0
	for _, u := range o.units {
		level := u.heading()
		if level == 0 || u.size > 250 {
			continue
		}
		s := 2*share(words, u.text()) + .35*float64(4-level)
		if level == 1 {
			s += .5
		}
		if s > score+.01 {
			best, score = u, s
		}
	}
	return best
}

// share is the part of s's words that are among words.
func share(words map[string]bool, s string) float64 {
	all, hits := 0, 0
	for _, w := range strings.Fields(fold(s).text) {
		all++
		if words[w] {
			hits++
		}
	}
	if all == 0 {
		return 0
	}
	return float64(hits) / float64(all)
}

// inside reports that n is anc or below it.
func inside(n, anc *node) bool {
	for ; n != nil; n = n.parent {
		if n == anc {
			return true
		}
	}
	return false
}

// key is what two units have in common that say the same.
func (u *unit) key() string { return strings.TrimSpace(fold(u.text()).text) }

// long reports that a text is too long to be the same by chance.
func long(key string) bool { return utf8.RuneCountInString(key) > 24 }
