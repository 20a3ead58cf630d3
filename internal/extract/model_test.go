package extract

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestModelFitsTheFeatures(t *testing.T) {
	if err := learned().check(); err != nil {
		t.Fatal(err)
	}
	d := parse(t, strings.Split("=title The heading\n<h1\nTThe heading\n>\n"+strings.TrimSuffix(paras(0, 3), "\n"), "\n")...)
	units := d.Units()
	for i, u := range units {
		if len(u.Features) != numFeatures {
			t.Errorf("unit %d has %d features, want %d", i, len(u.Features), numFeatures)
		}
	}
	for i, row := range d.Context(make([]float64, len(units))) {
		if len(row) != numContext {
			t.Errorf("unit %d has %d numbers of its context, want %d", i, len(row), numContext)
		}
	}
}

// TestEstimateFollowsTheTrees compares the laid out trees with the branches that
// they were made of.
func TestEstimateFollowsTheTrees(t *testing.T) {
	m := &learned().First
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		r := newRow()
		for i := range numFeatures {
			r[i] = float32(rng.NormFloat64() * 3)
		}
		want := m.Base
		for _, tree := range m.Trees {
			b := tree[0]
			for b.Left != 0 {
				if r[b.Feature] <= b.Cut {
					b = tree[b.Left]
				} else {
					b = tree[b.Right]
				}
			}
			want += float64(b.Value)
		}
		if want = 1 / (1 + math.Exp(-want)); math.Abs(m.estimate(&r)-want) > 1e-9 {
			t.Fatalf("got %v, want %v", m.estimate(&r), want)
		}
	}
}

func TestBrokenModelsAreRefused(t *testing.T) {
	for name, m := range map[string]model{
		"other features":  {Features: numFeatures + 1},
		"an empty tree":   {Features: numFeatures, Trees: [][]branch{{}}},
		"a loop":          {Features: numFeatures, Trees: [][]branch{{{Left: 1, Right: 2}, {Left: 0, Right: 1}, {}}}},
		"beyond the tree": {Features: numFeatures, Trees: [][]branch{{{Left: 1, Right: 7}, {}}}},
		"no such feature": {Features: numFeatures, Trees: [][]branch{{{Feature: numFeatures, Left: 1, Right: 2}, {}, {}}}},
	} {
		if m.check(numFeatures) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestChoosePromisesMost: what is taken is decided for the page as a whole.
// Text that is likely enough beside nothing better is left out beside better.
func TestChoosePromisesMost(t *testing.T) {
	for _, tt := range []struct {
		name   string
		likely []float64
		words  []int
		want   string
	}{
		{"clear", []float64{.1, .9, .9, .1}, []int{10, 50, 50, 10}, "-++-"},
		{"all doubtful", []float64{.3, .3, .3, .3}, []int{10, 10, 10, 10}, "++++"},
		{"doubtful beside clear", []float64{.3, .95, .95, .3}, []int{10, 50, 50, 10}, "-++-"},
		{"little doubtful beside much clear", []float64{.6, .95, .95}, []int{10, 50, 50}, "+++"},
	} {
		o := &outline{}
		words := []int{0}
		for i := range tt.likely {
			o.units = append(o.units, &unit{})
			words = append(words, words[i]+tt.words[i])
		}
		in, _ := o.choose(tt.likely, words)
		got := ""
		for _, b := range in {
			if b {
				got += "+"
			} else {
				got += "-"
			}
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// A table is taken or left as a whole, whatever is thought of its cells; one
// that lays the page out is not.
func TestTablesAreTakenWhole(t *testing.T) {
	data := "<table\n<tr\n<th\nTA\n>\n<th\nTB\n>\n>\n<tr\n<td\nT1\n>\n<td\nT2\n>\n>\n>"
	layout := "<table\n<tr\n<td\n" + strings.TrimSuffix(paras(0, 2), "\n") + "\n>\n<td\n" + data + "\n>\n>\n>"
	for name, tt := range map[string]struct {
		stream string
		groups int
	}{"data": {data, 1}, "layout": {layout, 3}} {
		o := outlineOf(parse(t, strings.Split(tt.stream, "\n")...))
		words := make([]int, len(o.units)+1)
		for i := range o.units {
			words[i+1] = i + 1
		}
		if got := len(o.groups(make([]float64, len(o.units)), words)); got != tt.groups {
			t.Errorf("%s: %d groups, want %d", name, got, tt.groups)
		}
	}
}
