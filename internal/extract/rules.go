package extract

import "strings"

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
	f.top, f.skip = all, map[*node]bool{}
	var v verdicts
	f.dropFurniture(f.all)
	v.content = f.chosen()
	f.narrow(f.live())
	v.within = f.chosen()
	f.trim(f.live())
	f.dropLinkSections(f.top, f.live())
	f.dropRepeated()
	v.kept = f.chosen()
	v.article = isArticle(f.live()[f.top])
	v.steps, v.score = o.scores()
	return v
}

// chosen reports of each unit whether it is still in.
func (f *focus) chosen() []bool {
	in := make([]bool, len(f.units))
	for i, u := range f.units {
		in[i] = inside(u.box, f.top) && !f.skipped(u)
	}
	return in
}

// scores gives points to the blocks that paragraphs stand in, fewer to those
// further out and to those full of links, as many readers do. It returns for
// each unit how far it is from the best block, and the best score around it.
func (o *outline) scores() (steps, score []float32) {
	points := map[*node]float64{}
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
			points[n] += p / divide
			n = n.parent
		}
	}
	for n := range points {
		s := o.sums[n]
		points[n] *= 1 - float64(ratio(s.links, s.size))
	}
	var best *node
	for _, u := range o.units { // in order, so that a tie has one winner
		n := u.box.parent
		for range 3 {
			if n == nil {
				break
			}
			if points[n] > points[best] {
				best = n
			}
			n = n.parent
		}
	}
	return o.distances(best, points)
}

// maxSteps stands for everything further away.
const maxSteps = 9

func (o *outline) distances(best *node, points map[*node]float64) (steps, score []float32) {
	steps, score = make([]float32, len(o.units)), make([]float32, len(o.units))
	away := map[*node]float32{}
	for n, k := best, float32(0); n != nil && k < maxSteps-1; n, k = n.parent, k+1 {
		away[n] = k
	}
	for i, u := range o.units {
		steps[i] = maxSteps
		top := 0.0
		for n := u.box; n != nil; n = n.parent {
			if k, ok := away[n]; ok && steps[i] == maxSteps {
				steps[i] = k
			}
			top = max(top, points[n])
		}
		if best != nil {
			score[i] = float32(top / points[best])
		}
	}
	return steps, score
}

type focus struct {
	*outline
	selection
	all    *node // the part that the page itself points out
	inMain bool  // all is a main or article element
}

// dropFurniture leaves out what helps to get about on the site. Whatever holds
// more than half of the text is no furniture.
func (f *focus) dropFurniture(n *node) {
	for _, k := range n.kids {
		s := f.sums[k]
		if s == nil || s.size == 0 {
			continue
		}
		if s.size*2 <= f.sums[f.all].size && f.furniture(k, s) {
			f.skip[k] = true
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
		s.size*4 < f.sums[f.all].size && s.size < 30*s.units
}

// live returns the sums over the tree without what is left out.
func (f *focus) live() map[*node]*sums {
	live := map[*node]*sums{}
	for _, u := range f.units {
		if f.skipped(u) {
			continue
		}
		for n := u.box; n != nil; n = n.parent {
			s := live[n]
			if s == nil {
				s = &sums{}
				live[n] = s
			}
			s.size += u.size
			s.links += u.links
			if u.running() {
				s.running += u.size
			}
		}
	}
	return live
}

// skipped reports that a unit, or something around it, is left out.
func (f *focus) skipped(u *unit) bool {
	if f.skip[u.kids[0]] {
		return true
	}
	for n := u.box; n != nil; n = n.parent {
		if f.skip[n] {
			return true
		}
	}
	return false
}

func (f *focus) skipUnit(u *unit) {
	if len(u.kids) == len(u.box.kids) {
		f.skip[u.box] = true
	}
	for _, k := range u.kids {
		f.skip[k] = true
	}
}

// narrow goes down to the block that holds most of the running text, when
// running text is what the page is about.
func (f *focus) narrow(live map[*node]*sums) {
	all := live[f.all]
	if all == nil || all.running < 800 || all.running*20 < all.size*7 {
		return
	}
	for n := f.all; n != nil; {
		f.top = n
		n = nil
		for _, k := range f.top.kids {
			if s := live[k]; s != nil && s.running*10 >= all.running*7 && !k.is(undivided...) {
				n = k
			}
		}
	}
}

// undivided are the blocks that are not taken apart.
var undivided = []string{"table", "tbody", "tr", "td", "th", "ul", "ol", "dl", "blockquote", "pre"}

// trim leaves out short lines before the heading, and what trails behind the
// last running text of an article.
func (f *focus) trim(live map[*node]*sums) {
	first, last := -1, -1
	for i, u := range f.units {
		if u == f.heading {
			first = i
		}
		if u.running() && inside(u.box, f.top) && !f.skipped(u) {
			last = i
		}
	}
	article := isArticle(live[f.top])
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
func isArticle(s *sums) bool { return s != nil && s.running > 1300 && s.running*20 > s.size*7 }

// dropLinkSections leaves out those parts of an article that are mostly links
// and hold no running text: further reading, tags, shares.
func (f *focus) dropLinkSections(n *node, live map[*node]*sums) {
	all := live[f.top]
	if !isArticle(all) {
		return
	}
	for _, k := range n.kids {
		s := live[k]
		if s == nil || f.skip[k] || k.is("table", "pre") {
			continue
		}
		if s.size > 85 && s.size*3 < all.size && s.links*2 > s.size && s.running == 0 {
			f.skip[k] = true
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
	same := map[string][]*unit{}
	for _, u := range f.units {
		if u.fixed || !inside(u.box, f.top) || f.skipped(u) {
			continue
		}
		if key := u.key(); long(key) {
			same[key] = append(same[key], u)
		}
	}
	for _, us := range same {
		if len(us) > maxRepeats {
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
