package extract

import (
	"cmp"
	"slices"
)

// The main part of a page is found from what is on it and where it stands, not
// from the names that its author gave to boxes: each unit of text gets an
// estimate of how likely it belongs to the main text (see features and model),
// and those are taken that together promise to be closest to it.

const (
	// smallPage is the number of visible characters up to which a page is not
	// worth taking apart.
	smallPage = 500
	// hugePage is the number of units from which on the rules alone must do.
	hugePage = 20_000
	// leastText is the number of characters that a main part must have.
	leastText = 100
	// unsure is the promise below which a choice is no better than the rules.
	unsure = 0.25
	// alikeShare is how much of an estimate is that of all units in boxes of the
	// same names: of the parts of cards, all are taken or none, as a rule.
	alikeShare = 0.5
	// tight is what a word taken costs beside one that is wanted: text that does
	// not belong misleads more than some that is missing.
	tight = 1.2
)

// selection says what of a page is rendered: what is below top, without skip.
type selection struct {
	top  *node
	skip marks
}

// marks is a set of nodes that have their places.
type marks []bool

func (m marks) has(n *node) bool { return n.at < len(m) && m[n.at] }
func (m marks) add(n *node)      { m[n.at] = true }

// focus chooses the main part of the page. It never chooses nothing.
func (d *Doc) focus() selection {
	region := selection{top: d.region()}
	if d.root.size <= smallPage {
		return region
	}
	o := outlineOf(d)
	v := judge(o, region.top, d.root)
	in := v.kept
	if len(o.units) <= hugePage {
		f := newFeatures(o, d, v)
		likely := f.evened(learned().estimate(f))
		if chosen, promise := o.choose(likely, f.words); promise >= unsure {
			in = chosen
			o.siblings(in)
		}
	}
	o.headings(in)
	o.holes(in)
	return o.selected(d, in, region)
}

// selected renders the units that are in, each once, and what stands between
// them; all of the region if that would leave hardly anything.
func (o *outline) selected(d *Doc, in []bool, region selection) selection {
	f := focus{outline: o, all: d.root}
	f.top, f.skip = d.root, make(marks, len(o.nodes))
	kept := make([]int, len(in)+1) // before each unit
	for i, u := range o.units {
		kept[i+1] = kept[i]
		if in[i] {
			kept[i+1]++
		} else {
			f.skipUnit(u)
		}
	}
	f.skipEmpty(d.root, kept)
	f.dropRepeated()
	if f.live()[d.root.at].size < leastText {
		return region
	}
	return f.selection
}

// mostTaken is the share of the text of one box from which on the rest belongs
// to it: a last, short paragraph is easily taken for something else.
const mostTaken = 0.8

// siblings takes what stands in one box with text of which nearly all is
// taken, unless it is links.
func (o *outline) siblings(in []bool) {
	type box struct{ size, taken int }
	boxes := map[*node]*box{}
	for i, u := range o.units {
		b := boxes[u.box.parent]
		if b == nil {
			b = &box{}
			boxes[u.box.parent] = b
		}
		b.size += u.size
		if in[i] {
			b.taken += u.size
		}
	}
	for i, u := range o.units {
		b := boxes[u.box.parent]
		if float64(b.taken) >= mostTaken*float64(b.size) && 2*u.links < u.size {
			in[i] = true
		}
	}
}

// holes takes a single text without links between two that are taken, such as
// the line between a heading and its list.
func (o *outline) holes(in []bool) {
	for i := 1; i+1 < len(in); i++ {
		if u := o.units[i]; !in[i] && in[i-1] && in[i+1] && u.links == 0 && u.heading() == 0 {
			in[i] = true
			i++ // what follows is no hole because of this one
		}
	}
}

// headings takes the heading of each section that the first text after it is
// taken from, and leaves the others: a heading goes with what it is about. The
// page's own is always taken.
func (o *outline) headings(in []bool) {
	next := false // the next text is taken
	for i := len(o.units) - 1; i >= 0; i-- {
		u := o.units[i]
		switch {
		case u == o.heading:
			in[i] = true
		case u.heading() > 0:
			in[i] = in[i] || next
		default:
			next = in[i]
		}
	}
}

// skipEmpty leaves out the blocks from which no unit is kept, with their
// pictures and rules; one without any text stays between units that do.
func (f *focus) skipEmpty(n *node, kept []int) {
	for _, k := range n.kids {
		s := f.sums[k.at]
		switch {
		case s == nil:
		case s.first == s.end && s.first > 0 && s.end < len(f.units) && kept[s.end+1]-kept[s.first-1] == 2:
		case kept[s.end] == kept[s.first]:
			f.skip.add(k)
		default:
			f.skipEmpty(k, kept)
		}
	}
}

// whole is a group of units that are taken or left together.
type whole struct {
	units  []int
	words  int
	likely float64 // the mean
}

// evened moves each estimate towards those of the units like it.
func (f *features) evened(likely []float64) []float64 {
	for _, g := range f.alike {
		g.likely = 0
	}
	for i, p := range likely {
		f.alike[i].likely += p * float64(f.words[i+1]-f.words[i])
	}
	for i, g := range f.alike {
		likely[i] += alikeShare * (g.likely/float64(g.words) - likely[i])
	}
	return likely
}

// choose takes the units that promise the best harmony of precision and
// recall, and returns that promise. Of those that are likely p, a share p belongs
// to the main text; with hits the likely words taken, taken all of those, and
// expected the likely words of the page, that is 2·hits/(tight·taken+expected).
// Tables and code blocks are taken as a whole.
func (o *outline) choose(likely []float64, words []int) (in []bool, promise float64) {
	groups := o.groups(likely, words)
	slices.SortStableFunc(groups, func(a, b *whole) int { return cmp.Compare(b.likely, a.likely) })
	expected, hits, taken := 0.0, 0.0, 0.0
	for _, g := range groups {
		expected += g.likely * float64(g.words)
	}
	end := 0
	for i, g := range groups {
		hits += g.likely * float64(g.words)
		taken += float64(g.words)
		if f := 2 * hits / (tight*taken + expected); f > promise {
			promise, end = f, i+1
		}
	}
	in = make([]bool, len(likely))
	for _, g := range groups[:end] {
		for _, i := range g.units {
			in[i] = true
		}
	}
	return in, promise
}

func (o *outline) groups(likely []float64, words []int) []*whole {
	groups := make([]*whole, 0, len(o.units))
	spare, places := make([]whole, len(o.units)), make([]int, len(o.units)) // most are of one unit
	of := map[*node]*whole{}
	bound := map[*node]*node{}
	for i, u := range o.units {
		var g *whole
		if b := u.bound(bound); b != nil {
			g = of[b]
			if g == nil {
				g = &spare[i]
				of[b] = g
				groups = append(groups, g)
			}
		} else {
			g = &spare[i]
			g.units = places[i : i : i+1]
			groups = append(groups, g)
		}
		w := words[i+1] - words[i]
		g.units = append(g.units, i)
		g.likely = (g.likely*float64(g.words) + likely[i]*float64(w)) / float64(g.words+w)
		g.words += w
	}
	return groups
}

// bound returns the data table or code block that u is part of, or nil. What
// was found for a block is kept in known.
func (u *unit) bound(known map[*node]*node) *node {
	if !u.fixed {
		return nil
	}
	for n := u.box; n != nil; n = n.parent {
		if n.is("pre") {
			return n
		}
		if !n.is("table") {
			continue
		}
		b, ok := known[n]
		if !ok {
			if t := tableOf(n); !t.nested && !t.layout() {
				b = n
			}
			known[n] = b
		}
		if b != nil {
			return b
		}
	}
	return nil
}
