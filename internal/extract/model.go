package extract

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
)

// cascade estimates how likely a person would count each unit of a page to the
// main text, in two steps: the first model looks at each unit's features, the
// second at what the first one thinks of the unit, of those around it and of
// the page. Both were learned by bench/extract on pages whose main text people
// had marked; see docs/decisions.md.
type cascade struct {
	First  model
	Kept   []int // features of the first that the second sees, too, after the context
	Second model
}

// model is a sum of small decision trees, pressed into 0 … 1.
type model struct {
	Features int
	Base     float64
	Trees    [][]branch

	fours []four
}

// four is four trees that are walked at once, so that one goes on while another
// waits for memory: their roots, and how many steps lead to the lowest leaf of
// any.
type four struct {
	roots [4]*step
	depth int
}

// step is a branch as estimate reads it: small, so that the whole model stays
// in the processor's cache, and with nothing that would have to be checked.
type step struct {
	next    *[2]step // where what is at most cut leads, and what is more. Of a leaf, a pair of itself
	cut     float32  // of a leaf, the value
	feature uint16
}

// row is the numbers that a model looks at. What follows them is [ending], up
// to a power of two, so that a place in it needs no check.
type row [rowSize]float32

const rowSize = 512

// branch is a node of a tree: the first is the root. A leaf has no way on and
// only a value.
type branch struct {
	Feature     int     `json:"f,omitempty"`
	Cut         float32 `json:"c,omitempty"` // at most that: left
	Left, Right int     `json:",omitempty"`
	Value       float32 `json:"v,omitempty"`
}

//go:embed model.json
var modelJSON []byte

// learned returns the model. One that does not fit the features is a broken
// build.
func learned() *cascade {
	if trial != nil {
		return trial
	}
	return builtIn()
}

var builtIn = sync.OnceValue(func() *cascade {
	m, err := parseModel(modelJSON)
	if err != nil {
		panic(fmt.Sprintf("extract: model.json: %v", err))
	}
	return m
})

// trial replaces the built-in model, if not nil.
var trial *cascade

// Try replaces the model until the program ends, for measuring what another
// one is worth. It must not be called while pages are read.
func Try(modelJSON []byte) error {
	m, err := parseModel(modelJSON)
	if err == nil {
		trial = m
	}
	return err
}

func parseModel(b []byte) (*cascade, error) {
	c := &cascade{}
	if err := json.Unmarshal(b, c); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	c.First.flatten()
	c.Second.flatten()
	return c, nil
}

func (c *cascade) check() error {
	if err := c.First.check(numFeatures); err != nil {
		return err
	}
	for _, k := range c.Kept {
		if k < 0 || k >= numFeatures {
			return fmt.Errorf("no feature %d", k)
		}
	}
	return c.Second.check(numContext + len(c.Kept))
}

// estimate says of each unit of a page how likely it belongs to the main text.
func (c *cascade) estimate(f *features) []float64 {
	n, also := len(f.units), len(c.Kept)
	likely, kept, l := make([]float64, n), make([]float32, n*also), f.layOut()
	inParts(n, func(from, to int) {
		g := *f // with a row of its own
		g.each(l, from, to, func(i int, r *row) {
			likely[i] = c.First.estimate(r)
			for j, k := range c.Kept {
				kept[i*also+j] = r[k]
			}
		})
	})
	out, around := make([]float64, n), f.inContext(likely)
	inParts(n, func(from, to int) {
		g := *around
		g.each(l, from, to, func(i int, r *row) {
			copy(r[numContext:], kept[i*also:][:also])
			out[i] = c.Second.estimate(r)
		})
	})
	return out
}

// newRow returns one without numbers.
func newRow() row {
	var r row
	for i := range r {
		r[i] = ending
	}
	return r
}

// flatten lays the trees out for estimate, those of like depth together: both
// ways on from a branch stand beside each other. A leaf leads back to itself by
// a feature that is less than anything, so that trees are walked without asking
// where they end: the processor could not foresee that.
func (m *model) flatten() {
	type flat struct {
		root  *step
		depth int
	}
	var trees []flat
	grow := func(t []branch) {
		root := &[2]step{} // the second of the pair is not used
		trees = append(trees, flat{&root[0], m.lay(t, 0, root, 0)})
	}
	for _, t := range m.Trees {
		grow(t)
	}
	for len(trees)%4 != 0 {
		grow([]branch{{}}) // adds nothing
	}
	slices.SortStableFunc(trees, func(a, b flat) int { return cmp.Compare(a.depth, b.depth) })
	for g := range slices.Chunk(trees, 4) {
		m.fours = append(m.fours, four{[4]*step{g[0].root, g[1].root, g[2].root, g[3].root}, g[3].depth})
	}
}

// lay writes branch b of a tree into a pair of steps, and what is below it into
// others, and returns how many steps there are below.
func (m *model) lay(t []branch, b int, to *[2]step, at int) (depth int) {
	from := t[b]
	if from.Left == 0 {
		to[at] = step{cut: from.Value, feature: uint16(m.Features)}
		if at == 0 {
			to[at].next = to
			return 0
		}
		to[at].next = &[2]step{to[at], to[at]}
		to[at].next[0].next = to[at].next
		return 0
	}
	next := &[2]step{}
	to[at] = step{cut: from.Cut, next: next, feature: uint16(from.Feature)}
	return 1 + max(m.lay(t, from.Left, next, 0), m.lay(t, from.Right, next, 1))
}

func (m *model) check(features int) error {
	if m.Features >= rowSize {
		return fmt.Errorf("%d features are too many", m.Features)
	}
	if m.Features != features {
		return fmt.Errorf("made for %d features, there are %d: learn it anew", m.Features, features)
	}
	for _, t := range m.Trees {
		for i, b := range t {
			if b.Left == 0 && b.Right == 0 {
				continue
			}
			if b.Left <= i || b.Right <= i || b.Left >= len(t) || b.Right >= len(t) || b.Feature < 0 || b.Feature >= features {
				return fmt.Errorf("a tree leads nowhere")
			}
		}
		if len(t) == 0 {
			return fmt.Errorf("an empty tree")
		}
	}
	return nil
}

// ending is what comes after the numbers of a row: the feature of leaves.
var ending = float32(math.Inf(-1))

func (m *model) estimate(r *row) float64 {
	sum := m.Base
	for i := range m.fours {
		g := &m.fours[i]
		a, b, c, d := g.roots[0], g.roots[1], g.roots[2], g.roots[3]
		for range g.depth {
			a, b, c, d = a.way(r), b.way(r), c.way(r), d.way(r)
		}
		sum += float64(a.cut) + float64(b.cut) + float64(c.cut) + float64(d.cut)
	}
	return 1 / (1 + math.Exp(-sum))
}

// way is the next step, worked out without a branch.
func (s *step) way(r *row) *step {
	more := 0
	if !(r[s.feature%rowSize] <= s.cut) {
		more = 1
	}
	return &s.next[more&1]
}
