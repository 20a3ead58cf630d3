package extract

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"sync"
)

// model estimates from a unit's features how likely a person would count it to
// the main text: a sum of small decision trees, pressed into 0 … 1. The trees
// were learned by bench/extract on pages whose main text people had marked;
// see docs/decisions.md.
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
func learned() *model {
	if trial != nil {
		return trial
	}
	return builtIn()
}

var builtIn = sync.OnceValue(func() *model {
	m, err := parseModel(modelJSON)
	if err != nil {
		panic(fmt.Sprintf("extract: model.json: %v", err))
	}
	return m
})

// trial replaces the built-in model, if not nil.
var trial *model

// Try replaces the model until the program ends, for measuring what another
// one is worth. It must not be called while pages are read.
func Try(modelJSON []byte) error {
	m, err := parseModel(modelJSON)
	if err == nil {
		trial = m
	}
	return err
}

func parseModel(b []byte) (*model, error) {
	m := &model{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	m.flatten()
	return m, nil
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

func (m *model) check() error {
	if m.Features != numFeatures {
		return fmt.Errorf("made for %d features, there are %d: learn it anew", m.Features, numFeatures)
	}
	for _, t := range m.Trees {
		for i, b := range t {
			if b.Left == 0 && b.Right == 0 {
				continue
			}
			if b.Left <= i || b.Right <= i || b.Left >= len(t) || b.Right >= len(t) || b.Feature < 0 || b.Feature >= numFeatures {
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
