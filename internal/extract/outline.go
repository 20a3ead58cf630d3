package extract

import (
	"strings"
	"unicode/utf8"
)

// outline is what the choice of the main part knows about a page: its text in
// units, and sums over the tree.
type outline struct {
	units   []*unit
	nodes   []*node         // each at its place
	sums    []*sums         // by place; nil of those that have no units of their own
	heading *unit           // the page's own heading, if there is one
	title   map[string]bool // words of the document's title
	spare   []unit
	blank   []sums // not used yet
}

// unit is a run of text without a block edge in it: a paragraph, a heading,
// an item's line.
type unit struct {
	box   *node   // the block it is in
	kids  []*node // its nodes, children of box
	size  int     // visible code points
	links int     // those of size that are links
	fixed bool    // in a table or in code, which are kept or left whole

	line, folded string // what text and key return, once asked for
}

// text is the unit's text on one line, without marks; of a long one, the
// beginning.
func (u *unit) text() string {
	if u.line == "" && len(u.kids) == 1 {
		u.line = plainText(u.kids[0])
	}
	if u.line == "" {
		var b strings.Builder
		for _, k := range u.kids {
			b.WriteString(plainText(k))
			b.WriteByte(' ')
		}
		u.line = strings.TrimSpace(b.String())
	}
	return u.line
}

// key is the text made comparable: what two units have in common that say the
// same.
func (u *unit) key() string {
	if u.folded == "" {
		u.folded = strings.TrimSpace(foldText(u.text()))
	}
	return u.folded
}

// running reports that the unit is text to read on: long, and hardly linked.
func (u *unit) running() bool { return u.size >= 70 && u.links*3 < u.size }

func (u *unit) heading() int { return headingLevel(u.box) }

// sums are what a block holds, and where its units are in the outline.
type sums struct {
	size, links, running, units, headings int

	first, end int // its units
	depth      int
	within     uint32 // what it stands in, see places
	same       int    // blocks of its name, with text, beside it and itself
	nth, of    int    // which of the blocks with text beside it it is, and how many they are
	around     *node  // the nearest block around it that holds more text

	names [3]uint64 // its name and those of the two blocks around it, as numbers
	path  uint64    // the names of all blocks around it, and its own
}

func headingLevel(n *node) int {
	if n.kind == blockNode && len(n.tag) == 2 && n.tag[0] == 'h' && n.tag[1] >= '1' && n.tag[1] <= '6' {
		return int(n.tag[1] - '0')
	}
	return 0
}

func outlineOf(d *Doc) *outline {
	n := d.root.number(0)
	o := &outline{nodes: make([]*node, 0, n), sums: make([]*sums, n), title: wordSet(d.Title)}
	d.root.walk(func(n *node) bool { o.nodes = append(o.nodes, n); return true })
	o.collect(d.root, false, false)
	o.place(d.root, nil, 1)
	o.heading = o.mainHeading()
	return o
}

// opens reports that a node has units of its own.
func (n *node) opens() bool {
	return n.kind == blockNode || n.kind == frameNode || n.kind == inlineNode && n.hasBlock()
}

// collect gathers the units below n and returns their sums.
func (o *outline) collect(n *node, linked, fixed bool) *sums {
	if len(o.blank) == 0 {
		o.blank = make([]sums, manyNodes)
	}
	s := &o.blank[0]
	o.blank = o.blank[1:]
	s.first = len(o.units)
	o.sums[n.at] = s
	linked = linked || n.is("a")
	fixed = fixed || n.is("table", "pre")
	from := 0 // of the run of nodes that may become a unit
	end := func(to int) {
		if u := o.newUnit(n, n.kids[from:to:to], linked, fixed); u != nil {
			o.units = append(o.units, u)
			s.size += u.size
			s.links += u.links
			s.units++
			if u.running() {
				s.running += u.size
			}
		}
		from = to + 1
	}
	for i, k := range n.kids {
		switch {
		case k.opens():
			end(i)
			c := o.collect(k, linked, fixed)
			s.size += c.size
			s.links += c.links
			s.running += c.running
			s.units += c.units
			s.headings += c.headings
		case k.kind == edgeNode, k.kind == ruleNode, k.kind == breakNode:
			end(i)
		}
	}
	end(len(n.kids))
	s.end = len(o.units)
	if headingLevel(n) > 0 {
		s.headings++
	}
	return s
}

// place fills in what a block's sums say about its surroundings.
func (o *outline) place(n, parent *node, same int) {
	s := o.sums[n.at]
	s.same, s.around, s.within = same, n, placeOf(n)
	s.names[0] = nameHash(n.tag)
	s.path = s.names[0]
	if parent != nil {
		p := o.sums[parent.at]
		s.names[1], s.names[2] = p.names[0], p.names[1]
		s.path ^= p.path * 1099511628211
		s.depth = p.depth + 1
		s.within |= p.within
		s.around = parent
		if p.size == s.size && p.around != parent {
			s.around = p.around
		}
	}
	var count tally
	of := 0
	for _, k := range n.kids {
		if o.sums[k.at] != nil && k.size > 0 {
			count.add(k.tag)
			of++
		}
	}
	nth := 0
	for _, k := range n.kids {
		if s := o.sums[k.at]; s != nil {
			s.nth, s.of = nth, of
			if k.size > 0 {
				nth++
			}
			o.place(k, n, count.of(k.tag))
		}
	}
}

// tally counts names, few of them different: a list is quicker than a map.
type tally []struct {
	name string
	n    int
}

func (t *tally) add(name string) {
	for i := range *t {
		if (*t)[i].name == name {
			(*t)[i].n++
			return
		}
	}
	*t = append(*t, struct {
		name string
		n    int
	}{name, 1})
}

func (t tally) of(name string) int {
	for _, c := range t {
		if c.name == name {
			return c.n
		}
	}
	return 0
}

// newUnit makes a unit of a run of nodes, or nil if there is no text in it.
func (o *outline) newUnit(box *node, kids []*node, linked, fixed bool) *unit {
	size, links := 0, 0
	for _, k := range kids {
		size += k.size
		links += k.linkSize()
	}
	if size == 0 {
		return nil
	}
	if linked {
		links = size
	}
	if len(o.spare) == 0 {
		o.spare = make([]unit, manyNodes)
	}
	u := &o.spare[0]
	o.spare = o.spare[1:]
	*u = unit{box: box, kids: kids, size: size, links: links, fixed: fixed}
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
func (o *outline) mainHeading() *unit {
	var best *unit
	score := 0.0
	for _, u := range o.units {
		level := u.heading()
		if level == 0 || u.size > 250 {
			continue
		}
		s := 2*float64(share(o.title, u.key())) + .35*float64(4-level)
		if level == 1 {
			s += .5
		}
		if s > score+.01 {
			best, score = u, s
		}
	}
	return best
}

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(fold(s).text) {
		set[w] = true
	}
	return set
}

// share is the part of the words of a folded text that are in the set.
func share(set map[string]bool, folded string) float32 {
	all, hits := 0, 0
	for w := range strings.FieldsSeq(folded) {
		all++
		if set[w] {
			hits++
		}
	}
	return ratio(hits, all)
}

// ratio is a/b, and 0 of nothing.
func ratio(a, b int) float32 {
	if b == 0 {
		return 0
	}
	return float32(a) / float32(b)
}

// inside reports that n is anc or below it; both have their places.
func inside(n, anc *node) bool {
	return anc.at <= n.at && n.at < anc.end
}

// long reports that a text is too long to be the same by chance.
func long(key string) bool { return utf8.RuneCountInString(key) > 24 }
