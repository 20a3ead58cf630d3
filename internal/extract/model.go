package extract

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
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

	roots []int32 // of the trees, in steps
	steps []step
}

// step is a branch as estimate reads it: small, so that the whole model stays
// in the processor's cache.
type step struct {
	cut         float32 // of a leaf, the value
	left, right int32   // zero at a leaf: no step leads back to the first
	feature     uint16
}

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
	n := len(f.units)
	likely, kept := make([]float64, n), make([]float32, 0, n*len(c.Kept))
	f.each(func(i int, row []float32) {
		likely[i] = c.First.estimate(row)
		for _, k := range c.Kept {
			kept = append(kept, row[k])
		}
	})
	out := make([]float64, n)
	f.inContext(likely).each(func(i int, row []float32) {
		out[i] = c.Second.estimate(append(row, kept[i*len(c.Kept):][:len(c.Kept)]...))
	})
	return out
}

// flatten lays the trees out for estimate.
func (m *model) flatten() {
	for _, t := range m.Trees {
		root := int32(len(m.steps))
		m.roots = append(m.roots, root)
		for _, b := range t {
			s := step{cut: b.Value}
			if b.Left != 0 {
				s = step{cut: b.Cut, left: root + int32(b.Left), right: root + int32(b.Right), feature: uint16(b.Feature)}
			}
			m.steps = append(m.steps, s)
		}
	}
}

func (m *model) check(features int) error {
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

func (m *model) estimate(row []float32) float64 {
	sum := m.Base
	for _, root := range m.roots {
		s := &m.steps[root]
		for s.left != 0 {
			if row[s.feature] <= s.cut {
				s = &m.steps[s.left]
			} else {
				s = &m.steps[s.right]
			}
		}
		sum += float64(s.cut)
	}
	return 1 / (1 + math.Exp(-sum))
}
