package extract

import (
	"math"
	"slices"
)

// context is what the first forest thinks of a page's units, as numbers for the
// second one, which so sees each unit among the others: a line between two
// paragraphs that are taken, one post of many, a page on which hardly anything
// is sure.
type context struct {
	*features
	likely        []float64
	taken         []float64    // words of the main text, as the first forest has it, before each unit, and in all
	before, after []int        // units to the nearest one that is likely
	above         [101]float64 // words of units that are at least that likely, in hundredths
	row           row
	n             int        // how much of row is filled in
	logs          [2]float32 // of the words of the main text, and of all

	expected                       float64 // units of the main text
	links, running, headings, sure float64 // words of it in links, in running text, in headings and in units that are likely
}

// likelyEnough is from where on a unit counts as a landmark for others.
const likelyEnough = .6

func (f *features) inContext(likely []float64) *context {
	n := len(f.units)
	c := &context{features: f, likely: likely, row: newRow(), taken: make([]float64, n+1), before: make([]int, n), after: make([]int, n)}
	for _, g := range f.near {
		g.likely = 0
	}
	for _, g := range f.alike {
		g.likely = 0
	}
	last := -1000
	for i, u := range f.units {
		p, w := likely[i], float64(f.words[i+1]-f.words[i])
		c.taken[i+1] = c.taken[i] + w*p
		f.near[i].likely += w * p
		f.alike[i].likely += w * p
		c.above[int(p*100)] += w
		c.sum(u, p, w*p)
		c.before[i] = i - last
		if p > likelyEnough {
			last = i
		}
	}
	next := n + 1000
	for i := n - 1; i >= 0; i-- {
		c.after[i] = next - i
		if likely[i] > likelyEnough {
			next = i
		}
	}
	c.logs = [2]float32{log1p(max(c.taken[n], 1e-9)), log1p(float64(f.words[n]))}
	for k := 99; k >= 0; k-- {
		c.above[k] += c.above[k+1]
	}
	return c
}

func (c *context) sum(u *unit, p, words float64) {
	c.links += words * float64(ratio(u.links, u.size))
	if u.running() {
		c.running += words
	}
	if u.heading() > 0 {
		c.headings += words
	}
	if p > .5 {
		c.sure += words
	}
	c.expected += p
}

// mean is how likely the words of the units from i up to j are; -1 of none.
func (c *context) mean(i, j int) float32 {
	i, j = max(i, 0), min(j, len(c.likely))
	if j <= i {
		return -1
	}
	return float32((c.taken[j] - c.taken[i]) / float64(c.words[j]-c.words[i]))
}

func (c *context) at(i int) float32 {
	if i < 0 || i >= len(c.likely) {
		return -1
	}
	return float32(c.likely[i])
}

func (c *context) add(x ...float32) {
	to := c.row[c.n : c.n+len(x)]
	for i := range to {
		to[i] = x[i]
	}
	c.n += len(x)
}

// numContext is the length of a row of a context.
const numContext = 36

// each is as that of features.
func (c *context) each(l *layout, from, to int, use func(i int, r *row)) {
	for i := from; i < to; i++ {
		u := c.units[i]
		c.n = 0
		p := c.likely[i]
		c.add(float32(math.Log((p+1e-3)/(1-p+1e-3))), c.at(i-2), c.at(i-1), c.at(i+1), c.at(i+2))
		c.add(c.mean(i-3, i+4), c.mean(i-8, i+9), c.mean(i-20, i+21), c.mean(i-5, i), c.mean(i+1, i+6))
		n := u.box
		for k := range levels + 1 {
			if k > 0 {
				n = c.sums[n.at].around
			}
			s := c.sums[n.at]
			c.add(c.mean(s.first, s.end))
		}
		s := &l.sections[l.at[i]]
		c.add(c.mean(s.first, s.end), c.at(s.head))
		for _, g := range []*kin{c.near[i], c.alike[i]} {
			c.add(float32(g.likely/float64(g.words)), lg(g.n))
		}
		c.page(i)
		use(i, &c.row)
	}
}

// page is what there is on the page in all, and how much of it before unit i,
// and likelier than it.
func (c *context) page(i int) {
	n := len(c.likely)
	words, taken := float64(c.words[n]), max(c.taken[n], 1e-9)
	c.add(float32(taken/words), c.logs[0], c.logs[1], float32(c.links/taken), float32(c.running/taken), float32(c.headings/taken),
		float32(taken/max(c.expected, 1e-9)), float32(c.sure/taken))
	c.add(float32(c.taken[i]/taken), log1p(taken-c.taken[i]), log1p(c.taken[i]), lg(c.before[i]), lg(c.after[i]))
	above := c.above[int(c.likely[i]*100)]
	c.add(float32(above/words), float32(above/taken))
}

func log1p(x float64) float32 { return float32(math.Log1p(x)) }

// Context returns what the second forest is told of the units of the page,
// after what the first one thinks of each.
func (d *Doc) Context(likely []float64) [][]float32 {
	f := d.features()
	l := f.layOut()
	rows := make([][]float32, len(f.units))
	f.inContext(likely).each(l, 0, len(f.units), func(i int, r *row) { rows[i] = slices.Clone(r[:numContext]) })
	return rows
}
