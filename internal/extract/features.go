package extract

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// features are what is known of each unit of a page, as numbers: the unit
// itself, what it stands in and beside, where, and what the rules and the page
// say of it. The model was learned on rows of exactly this form. Sums over the
// whole page are not among them: few hundred pages are told apart by such, and
// what is learned from them holds for those pages only.
type features struct {
	*outline
	doc     *Doc
	rules   verdicts
	chars   []int // visible code points before each unit, and in all
	links   []int // the same of links
	runs    []int // and of running text
	lexical []lexical
	telling []telling
	words   []int     // words before each unit, and in all
	ui      []float64 // those of interfaces
	same    map[string]int
	cues    cues
	near    []*kin // of each unit, by the three nearest boxes
	alike   []*kin // and by all
	row     row
	n       int // how much of row is filled in
}

// layout is what has to be known of the whole page before rows are made.
type layout struct {
	sections      []section
	at            []int // of each unit, which section it is in
	before, after []int // how far it is to running text
	first, last   int   // running text
	sorts         []float32
}

func (f *features) layOut() *layout {
	f.count()
	f.findCues()
	f.findKin()
	l := &layout{sorts: f.doc.sorts()}
	l.sections, l.at = f.sections()
	l.before, l.after = f.toRunning()
	l.first, l.last = f.running()
	return l
}

// each calls use with the row of each unit from one up to another; the row is
// only good until it returns. Several copies of f may do so at once.
func (f *features) each(l *layout, from, to int, use func(i int, r *row)) {
	f.lastCues(from)
	for i := from; i < to; i++ {
		u, s := f.units[i], &l.sections[l.at[i]]
		f.n = 0
		f.own(u, i)
		f.beside(i)
		f.position(u, i)
		f.add(lg(l.before[i]), lg(l.after[i]), clamp(i-l.first), clamp(l.last-i))
		f.section(s, i)
		f.blocks(u)
		f.repetition(u)
		f.add(share(f.title, u.key()))
		f.add(f.lexical[i][:]...)
		f.add(f.uiAround(u)...)
		if s.head >= 0 {
			f.add(f.lexical[s.head][:]...)
		} else {
			f.add(none[:]...)
		}
		f.add(f.rules.of(i)...)
		f.add(share(f.doc.description, u.key()))
		f.add(f.doc.said.repeats(u.key()))
		f.add(f.doc.about...)
		f.kinship(f.near[i], i)
		f.kinship(f.alike[i], i)
		f.nth(u)
		f.introduced(u, i)
		f.dated(u, i)
		f.add(l.sorts...)
		use(i, &f.row)
	}
}

// none is what a text without a heading has of one.
var none lexical

// add panics where there are more than [numFeatures].
func (f *features) add(x ...float32) {
	to := f.row[f.n : f.n+len(x)]
	for i := range to {
		to[i] = x[i]
	}
	f.n += len(x)
}

func (f *features) flag(b bool) {
	f.row[f.n] = 0
	if b {
		f.row[f.n] = 1
	}
	f.n++
}

// logs are the logarithms that are asked for most.
var logs = func() (l [1 << 12]float32) {
	for n := range l {
		l[n] = log(n)
	}
	return l
}()

func log(n int) float32 { return float32(math.Log1p(float64(n))) }

func lg(n int) float32 {
	if uint(n) < uint(len(logs)) {
		return logs[n]
	}
	return log(n)
}

func clamp(n int) float32 { return float32(max(min(n, 100), -100)) }

// count adds up what is before each unit.
func (f *features) count() {
	n := len(f.units)
	f.chars, f.links, f.runs = make([]int, n+1), make([]int, n+1), make([]int, n+1)
	f.words, f.ui = make([]int, n+1), make([]float64, n+1)
	f.lexical, f.telling, f.same = make([]lexical, n), make([]telling, n), map[string]int{}
	for i, u := range f.units {
		f.chars[i+1], f.links[i+1], f.runs[i+1] = f.chars[i]+u.size, f.links[i]+u.links, f.runs[i]
		if u.running() {
			f.runs[i+1] += u.size
		}
		f.lexical[i], f.telling[i] = lexicalOf(u.key())
		w := strings.Count(u.key(), " ") + 1
		f.words[i+1] = f.words[i] + w
		f.ui[i+1] = f.ui[i] + float64(f.lexical[i][numSorts])*float64(w)
		f.same[u.key()]++
	}
}

// own is what the unit is by itself.
func (f *features) own(u *unit, i int) {
	w := countWords(u.text())
	f.add(lg(u.size), ratio(u.links, u.size), lg(w.words), ratio(w.letters, w.words), ratio(w.digits, u.size), ratio(w.capitals, w.words),
		ratio(w.upper, w.letters))
	f.flag(endsSentence(u.text()))
	f.add(ratio(w.commas, w.words), float32(u.heading()))
	f.flag(w.money)
	f.flag(w.rights)
	f.flag(w.question)
	f.flag(strings.HasSuffix(u.text(), ":"))
	f.flag(w.separator)
	f.flag(u.fixed)
	s := f.sums[u.box.at]
	for p := range numPlaces {
		f.flag(s.within&(1<<p) != 0)
	}
	f.add(float32(s.depth), lg(f.same[u.key()]))
}

// numFeatures is the length of a row.
const numFeatures = 279

func endsSentence(s string) bool {
	if s == "" {
		return false
	}
	switch s[len(s)-1] {
	case '.', '!', '?':
		return true
	}
	return strings.HasSuffix(s, "…") || strings.HasSuffix(s, "。")
}

type wordCount struct {
	words, capitals, letters, upper, digits, commas int

	money, rights, question, separator bool // a sign of currency; ©, ® or ™; a question mark; what stands between crumbs
}

func countWords(s string) wordCount {
	var w wordCount
	in := false
	for _, r := range s {
		var letter, number, upper bool
		if r < unicode.MaxASCII {
			small := r | 0x20
			letter, number, upper = 'a' <= small && small <= 'z', '0' <= r && r <= '9', 'A' <= r && r <= 'Z'
		} else {
			letter, number, upper = unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsUpper(r)
		}
		switch {
		case letter || number:
			if !in {
				w.words++
				if upper {
					w.capitals++
				}
			}
			in = true
			if letter {
				w.letters++
			} else {
				w.digits++
			}
			if upper {
				w.upper++
			}
			continue
		case r == '\'', r == '’':
			continue
		}
		in = false
		switch r {
		case ',':
			w.commas++
		case '$', '€', '£', '¥', '₹', '₽', '₩':
			w.money = true
		case '©', '®', '™':
			w.rights = true
		case '?':
			w.question = true
		case '|', '»', '›', '•', '·', '→':
			w.separator = true
		}
	}
	return w
}

// beside is what stands before and after it.
func (f *features) beside(i int) {
	n := len(f.units)
	for _, k := range []int{-2, -1, 1, 2} {
		if j := i + k; j >= 0 && j < n {
			u := f.units[j]
			f.add(lg(u.size), ratio(u.links, u.size), float32(u.heading()))
		} else {
			f.add(-1, -1, -1)
		}
	}
	for _, k := range []int{5, 15} {
		from, to := max(i-k, 0), min(i+k+1, n)
		size := f.chars[to] - f.chars[from]
		f.add(ratio(size, k*2+1), ratio(f.links[to]-f.links[from], size), ratio(f.runs[to]-f.runs[from], size))
	}
}

// position is where on the page it stands, and how far from the heading.
func (f *features) position(u *unit, i int) {
	n := len(f.units)
	total := f.chars[n]
	f.add(ratio(i, n), ratio(f.chars[i], total), ratio(total-f.chars[i], 1000), ratio(f.chars[i], 1000))
	if f.heading == nil {
		f.add(-20, 0, 0)
		return
	}
	if d := f.chars[i] - f.chars[f.headingAt()]; d >= 0 {
		f.add(lg(d))
	} else {
		f.add(-lg(-d))
	}
	f.add(float32(f.heading.heading()))
	f.flag(u == f.heading)
}

func (f *features) headingAt() int { return f.sums[f.heading.box.at].first }

// toRunning is how many units it is to the running text before and after.
func (f *features) toRunning() (before, after []int) {
	n := len(f.units)
	before, after = make([]int, n), make([]int, n)
	last := -1000
	for i, u := range f.units {
		if u.running() {
			last = i
		}
		before[i] = i - last
	}
	last = n + 1000
	for i := n - 1; i >= 0; i-- {
		if f.units[i].running() {
			last = i
		}
		after[i] = last - i
	}
	return before, after
}

// running returns the first and the last unit of running text.
func (f *features) running() (first, last int) {
	first, last = len(f.units), -1
	for i, u := range f.units {
		if u.running() {
			first, last = min(first, i), i
		}
	}
	return first, last
}

// section is the units from one heading to the next.
type section struct {
	head                 int // the heading's unit; -1 before the first
	first, end           int
	size, links, running int
}

// sections returns them, and for each unit which it is in.
func (f *features) sections() (all []section, at []int) {
	at = make([]int, len(f.units))
	all = append(all, section{head: -1})
	for i, u := range f.units {
		if u.heading() > 0 {
			all = append(all, section{head: i, first: i})
		}
		s := &all[len(all)-1]
		at[i] = len(all) - 1
		s.end = i + 1
		if s.head == i {
			continue
		}
		s.size += u.size
		s.links += u.links
		if u.running() {
			s.running += u.size
		}
	}
	return all, at
}

func (f *features) section(s *section, i int) {
	f.add(lg(s.size), ratio(s.links, s.size), ratio(s.running, s.size), lg(i-s.first), lg(s.end-i))
	if s.head < 0 {
		f.add(0, 0, 0)
		return
	}
	u := f.units[s.head]
	f.add(float32(u.heading()), ratio(u.links, u.size), lg(u.size))
}

// levels is how many blocks around a unit are looked at.
const levels = 4

// blocks is what the blocks around it hold.
func (f *features) blocks(u *unit) {
	s := f.sums[u.box.at]
	f.add(lg(s.size), ratio(s.links, s.size), ratio(u.size, s.size))
	total := f.chars[len(f.units)]
	n := u.box
	for range levels {
		n = f.sums[n.at].around
		s := f.sums[n.at]
		f.add(ratio(s.size, total), lg(s.size), ratio(s.links, s.size), ratio(s.running, s.size), ratio(s.size, s.units), lg(s.headings), lg(s.units))
		if f.heading == nil {
			f.add(-1)
		} else {
			h := f.headingAt()
			f.flag(s.first <= h && h < s.end)
		}
		f.add(float32(s.depth))
	}
}

// uiAround is how much of the blocks around it is words of interfaces.
func (f *features) uiAround(u *unit) []float32 {
	var out [levels - 1]float32
	n := u.box
	for i := range out {
		n = f.sums[n.at].around
		s := f.sums[n.at]
		out[i] = float32((f.ui[s.end] - f.ui[s.first]) / float64(max(f.words[s.end]-f.words[s.first], 1)))
	}
	return out[:]
}

// repetition is the largest group of like blocks that it is in: cards, posts,
// rows.
func (f *features) repetition(u *unit) {
	best, group := 2, (*sums)(nil)
	n := u.box
	for range 8 {
		if n == nil || n.parent == nil {
			break
		}
		if s := f.sums[n.at]; s != nil && s.same > best {
			best, group = s.same, f.sums[n.parent.at]
		}
		n = n.parent
	}
	if group == nil {
		f.add(0, 0, 0, 0, 0, 0, 0)
		return
	}
	f.add(lg(best), ratio(group.size, best), ratio(group.links, group.size), ratio(group.size, f.chars[len(f.units)]),
		ratio(group.running, group.size), ratio(group.headings, best), ratio(group.units, best))
}

// Units returns the runs of text of the page with their features, for the
// program that learns the model.
func (d *Doc) Units() []Unit {
	f := d.features()
	units := make([]Unit, len(f.units))
	f.each(f.layOut(), 0, len(f.units), func(i int, r *row) {
		u := f.units[i]
		var b strings.Builder
		for _, k := range u.kids {
			k.walk(func(n *node) bool {
				switch n.kind {
				case textNode, preNode:
					b.WriteString(n.text)
				case blockNode, breakNode:
					b.WriteByte(' ')
				}
				return true
			})
		}
		units[i] = Unit{Text: b.String(), Features: slices.Clone(r[:numFeatures])}
	})
	return units
}

func (d *Doc) features() *features {
	o := outlineOf(d)
	return newFeatures(o, d, judge(o, d.region(), d.root))
}

func newFeatures(o *outline, d *Doc, v verdicts) *features {
	return &features{outline: o, doc: d, rules: v, row: newRow()}
}

// Unit is a run of text without a block edge in it.
type Unit struct {
	Text     string
	Features []float32 // each row of a page has as many, in the same order
}
