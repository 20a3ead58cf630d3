package extract

// The main part of a page is found from what is on it and where it stands, not
// from the names that its author gave to boxes. The rules and their numbers
// were settled on 350 pages of seven kinds and 93 articles; each rule that is
// here raised the mean over all of them.

// smallPage is the number of visible characters up to which a page is not
// worth taking apart.
const smallPage = 1500

// selection says what of a page is rendered: what is below top, without skip.
type selection struct {
	top  *node
	skip map[*node]bool
}

// focus chooses the main part of the page. It never chooses nothing.
func (d *Doc) focus() selection {
	s := selection{top: d.region(), skip: map[*node]bool{}}
	if d.root.size <= smallPage {
		return s
	}
	f := focus{outline: outlineOf(d), all: s.top, inMain: s.top != d.root}
	f.top, f.skip = s.top, map[*node]bool{}
	f.dropFurniture(f.all)
	f.narrow(f.live())
	f.trim(f.live())
	f.dropLinkSections(f.top, f.live())
	f.dropRepeated()
	f.keepHeading()
	if left := f.live()[f.top]; left == nil || left.size < 250 {
		return s
	}
	return f.selection
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
			if s := live[k]; s != nil && s.running*10 >= all.running*7 && !k.is(whole...) {
				n = k
			}
		}
	}
}

// whole are the blocks that are not taken apart.
var whole = []string{"table", "tbody", "tr", "td", "th", "ul", "ol", "dl", "blockquote", "pre"}

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

// keepHeading brings the page's heading back when the main part was narrowed
// past it.
func (f *focus) keepHeading() {
	if f.heading == nil || !inside(f.heading.box, f.all) || inside(f.heading.box, f.top) {
		return
	}
	// Render from the block around both, without anything else between.
	around := f.top
	for !inside(f.heading.box, around) {
		around = around.parent
	}
	f.skipExcept(around)
	f.top = around
}

// skipExcept leaves out of n what holds neither the top nor the heading.
func (f *focus) skipExcept(n *node) {
	for _, k := range n.kids {
		switch {
		case k == f.top || k == f.heading.box:
		case inside(f.top, k) || inside(f.heading.box, k):
			delete(f.skip, k)
			f.skipExcept(k)
		default:
			f.skip[k] = true
		}
	}
}
