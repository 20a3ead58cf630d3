package extract

import (
	"slices"
	"strings"
)

// Rules of thumb about what is no part of the main text. Alone they are not
// good enough; what they say of a unit is among its features.

// verdicts are what the rules say of each unit of a page.
type verdicts struct {
	content []bool    // it is no furniture of the site
	within  []bool    // it is in the block that holds most of the running text
	kept    []bool    // it survives all rules
	steps   []float32 // from the block that scores best to the one around both
	score   []float32 // of the blocks around it, as a part of the best
	article bool      // the page is for the most part text to read on
}

// of returns the verdicts on unit i as features.
func (v *verdicts) of(i int) []float32 {
	bit := func(b bool) float32 {
		if b {
			return 1
		}
		return 0
	}
	return []float32{bit(v.content[i]), bit(v.within[i]), bit(v.kept[i]), bit(v.article), v.steps[i], v.score[i]}
}

// judge applies the rules to the part of the page that the page itself points
// out.
func judge(o *outline, all, root *node) verdicts {
	f := focus{outline: o, all: all, inMain: all != root}
	f.top, f.skip = all, make(marks, len(o.nodes))
	var v verdicts
	f.dropFurniture(f.all)
	v.content = f.chosen()
	f.narrow(f.live())
	v.within = f.chosen()
	f.trim(f.live())
	f.dropLinkSections(f.top, f.live())
	f.dropRepeated()
	v.kept = f.chosen()
	v.article = isArticle(&f.live()[f.top.at])
	v.steps, v.score = o.scores()
	return v
}

// chosen reports of each unit whether it is still in.
func (f *focus) chosen() []bool {
	in := make([]bool, len(f.units))
	gone := f.gone()
	for i, u := range f.units {
		in[i] = inside(u.box, f.top) && !gone.unit(u)
	}
	return in
}

// scores gives points to the blocks that paragraphs stand in, fewer to those
// further out and to those full of links, as many readers do. It returns for
// each unit how far it is from the best block, and the best score around it.
func (o *outline) scores() (steps, score []float32) {
	points := make([]float64, len(o.nodes))
	for _, u := range o.units {
		if u.size < 25 || u.links*2 > u.size {
			continue
		}
		p := 1 + float64(strings.Count(u.text(), ",")) + min(float64(u.size)/100, 3)
		n := u.box.parent
		for _, divide := range []float64{1, 2, 6} {
			if n == nil {
				break
			}
			points[n.at] += p / divide
			n = n.parent
		}
	}
	for i, s := range o.sums {
		if s != nil {
			points[i] *= 1 - float64(ratio(s.links, s.size))
		}
	}
	var best *node
	for _, u := range o.units { // in order, so that a tie has one winner
		n := u.box.parent
		for range 3 {
			if n == nil {
				break
			}
			if best == nil && points[n.at] > 0 || best != nil && points[n.at] > points[best.at] {
				best = n
			}
			n = n.parent
		}
	}
	return o.distances(best, points)
}

// maxSteps stands for everything further away.
const maxSteps = 9

func (o *outline) distances(best *node, points []float64) (steps, score []float32) {
	steps, score = make([]float32, len(o.units)), make([]float32, len(o.units))
	away, top := make([]float32, len(o.nodes)), slices.Clone(points) // of each node, and of those around it
	for i := range away {
		away[i] = maxSteps
	}
	for n, k := best, float32(0); n != nil && k < maxSteps-1; n, k = n.parent, k+1 {
		away[n.at] = k
	}
	for i, n := range o.nodes[1:] {
		p := n.parent.at
		if away[i+1] == maxSteps {
			away[i+1] = away[p]
		}
		top[i+1] = max(top[i+1], top[p])
	}
	for i, u := range o.units {
		steps[i] = away[u.box.at]
		if best != nil {
			score[i] = float32(top[u.box.at] / points[best.at])
		}
	}
	return steps, score
}

type focus struct {
	*outline
	selection
	all    *node // the part that the page itself points out
	inMain bool  // all is a main or article element

	sizes []left // see live
	lost  marks  // see gone
}

// dropFurniture leaves out what helps to get about on the site. Whatever holds
// more than half of the text is no furniture.
func (f *focus) dropFurniture(n *node) {
	for _, k := range n.kids {
		s := f.sums[k.at]
		if s == nil || s.size == 0 {
			continue
		}
		if s.size*2 <= f.sums[f.all.at].size && f.furniture(k, s) {
			f.skip.add(k)
			continue
		}
		f.dropFurniture(k)
	}
}

func (f *focus) furniture(n *node, s *sums) bool {
	role := n.attr("role")
	switch {
	case n.is("nav", "footer", "aside", "dialog"):
		return true
	case role == "navigation", role == "contentinfo", role == "complementary", role == "dialog", role == "alertdialog":
		return true
	case n.is("header"), role == "banner":
		return !f.inMain && s.headings == 0
	case n.is("form"), role == "search":
		return s.running == 0
	}
	return f.linkList(n, s)
}

// linkList reports that a block is a list of short links, and not the bulk of
// what there is.
func (f *focus) linkList(n *node, s *sums) bool {
	return n.is("ul", "ol", "div", "section") && s.units >= 5 && s.links*20 > s.size*17 &&
		s.size*4 < f.sums[f.all.at].size && s.size < 30*s.units
}

// left is what a block holds of text that is not left out.
type left struct{ size, links, running int }

// live returns the sums over the tree without what is left out, by place. They
// are good until the next call.
func (f *focus) live() []left {
	if f.sizes == nil {
		f.sizes = make([]left, len(f.nodes))
	}
	live := f.sizes
	clear(live)
	gone := f.gone()
	for _, u := range f.units {
		if gone.unit(u) {
			continue
		}
		s := &live[u.box.at]
		s.size += u.size
		s.links += u.links
		if u.running() {
			s.running += u.size
		}
	}
	for i := len(f.nodes) - 1; i > 0; i-- { // what is below comes first
		s, p := live[i], &live[f.nodes[i].parent.at]
		p.size += s.size
		p.links += s.links
		p.running += s.running
	}
	return live
}

// gone returns what is left out, with all that is below. It is good until the
// next call.
func (f *focus) gone() marks {
	if f.lost == nil {
		f.lost = make(marks, len(f.nodes))
	}
	gone := f.lost
	for i, n := range f.nodes {
		gone[i] = f.skip[i] || i > 0 && gone[n.parent.at]
	}
	return gone
}

// unit reports that a unit, or something around it, is left out. Of its nodes
// the first stands for all.
func (gone marks) unit(u *unit) bool { return gone[u.kids[0].at] }

func (f *focus) skipUnit(u *unit) {
	if len(u.kids) == len(u.box.kids) {
		f.skip.add(u.box)
	}
	for _, k := range u.kids {
		f.skip.add(k)
	}
}

// narrow goes down to the block that holds most of the running text, when
// running text is what the page is about.
func (f *focus) narrow(live []left) {
	all := live[f.all.at]
	if all.running < 800 || all.running*20 < all.size*7 {
		return
	}
	for n := f.all; n != nil; {
		f.top = n
		n = nil
		for _, k := range f.top.kids {
			if live[k.at].running*10 >= all.running*7 && !k.is(undivided...) {
				n = k
			}
		}
	}
}

// undivided are the blocks that are not taken apart.
var undivided = []string{"table", "tbody", "tr", "td", "th", "ul", "ol", "dl", "blockquote", "pre"}

// trim leaves out short lines before the heading, and what trails behind the
// last running text of an article.
func (f *focus) trim(live []left) {
	first, last := -1, -1
	gone := f.gone()
	for i, u := range f.units {
		if u == f.heading {
			first = i
		}
		if u.running() && inside(u.box, f.top) && !gone.unit(u) {
			last = i
		}
	}
	article := isArticle(&live[f.top.at])
	for i, u := range f.units {
		if u.fixed || !inside(u.box, f.top) {
			continue
		}
		if i < first && u.size < 30 || article && i > last+3 {
			f.skipUnit(u)
		}
	}
}

// isArticle reports that what is left is for the most part text to read on.
func isArticle(s *left) bool { return s.running > 1300 && s.running*20 > s.size*7 }

// dropLinkSections leaves out those parts of an article that are mostly links
// and hold no running text: further reading, tags, shares.
func (f *focus) dropLinkSections(n *node, live []left) {
	all := live[f.top.at]
	if !isArticle(&all) {
		return
	}
	for _, k := range n.kids {
		s := live[k.at]
		if s.size == 0 || f.skip.has(k) || k.is("table", "pre") {
			continue
		}
		if s.size > 85 && s.size*3 < all.size && s.links*2 > s.size && s.running == 0 {
			f.skip.add(k)
			continue
		}
		f.dropLinkSections(k, live)
	}
}

// dropRepeated keeps one of several units that say the same at length, as the
// forms of a page for small and large screens do: the heading, else the one
// that is no link, else the first.
func (f *focus) dropRepeated() {
	rank := func(u *unit) int {
		switch {
		case u.heading() > 0:
			return 2
		case u.links*2 < u.size:
			return 1
		}
		return 0
	}
	first := map[string]int{}         // the unit that says it first
	next := make([]int, len(f.units)) // and those that say it again; 0 after the last
	gone := f.gone()
	for i, u := range slices.Backward(f.units) {
		if u.fixed || !inside(u.box, f.top) || gone.unit(u) {
			continue
		}
		if key := u.key(); long(key) {
			next[i] = first[key]
			first[key] = i
		}
	}
	var us []*unit
	for _, i := range first {
		us = append(us[:0], f.units[i])
		for i = next[i]; i > 0; i = next[i] {
			us = append(us, f.units[i])
		}
		if len(us) == 1 || len(us) > maxRepeats {
			continue
		}
		best := us[0]
		for _, u := range us {
			if rank(u) > rank(best) {
				best = u
			}
		}
		for _, u := range us {
			if u != best {
				f.skipUnit(u)
			}
		}
	}
}

// maxRepeats is how often the same text may stand on a page for one of them to
// be enough. More often, it belongs to each card of a listing.
const maxRepeats = 3
