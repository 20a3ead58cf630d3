package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// What is learned: gradient-boosted trees with logistic loss. The result hardly
// depends on these figures.
const (
	numLeaves = 12
	maxDepth  = 5   // of a tree: low ones are quicker to ask
	damping   = 2   // added to the curvature of a leaf
	leastMass = 3   // curvature of a leaf
	samplePer = 0.6 // share of the samples that a tree is grown on
	numBins   = 48
)

// plan is how many trees a forest has, how far each of them goes, and what share
// of the features it may use.
type plan struct {
	trees          int
	rate, features float64
}

var (
	firstTrees  = plan{trees: 110, rate: .1, features: .2}
	secondTrees = plan{trees: 120, rate: .08, features: .25}
)

type trainer struct {
	*samples
	plan
	rng        *rand.Rand
	base       float64
	cuts       [][]float32 // of each feature
	bins       [][]uint8   // of each feature, of each sample
	score      []float64
	grad, mass []float64
	gains      []float64 // by each feature, so far
}

func newTrainer(s *samples, p plan) *trainer {
	t := &trainer{samples: s, plan: p, rng: rand.New(rand.NewPCG(1, 2))}
	n := len(s.rows)
	hits, all := 0.0, 0.0
	for i := range n {
		hits += s.labels[i] * s.weight[i]
		all += s.weight[i]
	}
	t.base = float64(short(math.Log(hits / (all - hits))))
	t.score = slices.Repeat([]float64{t.base}, n)
	t.grad, t.mass = make([]float64, n), make([]float64, n)
	t.gains = make([]float64, len(s.rows[0]))
	for f := range s.rows[0] {
		cuts := t.quantiles(f)
		b := make([]uint8, n)
		for i, row := range s.rows {
			b[i] = uint8(sort.Search(len(cuts), func(k int) bool { return row[f] <= cuts[k] }))
		}
		t.cuts, t.bins = append(t.cuts, cuts), append(t.bins, b)
	}
	return t
}

// quantiles returns the values of a feature at which a tree may divide.
func (t *trainer) quantiles(f int) []float32 {
	var values []float32
	for i := 0; i < len(t.rows); i += len(t.rows)/20000 + 1 {
		values = append(values, t.rows[i][f])
	}
	slices.Sort(values)
	var cuts []float32
	for b := 1; b < numBins; b++ {
		v := short(float64(values[len(values)*b/numBins]))
		if v < values[len(values)-1] && (len(cuts) == 0 || v > cuts[len(cuts)-1]) {
			cuts = append(cuts, v)
		}
	}
	return cuts
}

func (t *trainer) forest() *forest {
	f := &forest{Features: len(t.cuts), Base: t.base}
	for range t.trees {
		for i := range t.rows {
			p := 1 / (1 + math.Exp(-t.score[i]))
			t.grad[i] = t.weight[i] * (p - t.labels[i])
			t.mass[i] = t.weight[i] * max(p*(1-p), 1e-4)
		}
		var some []int32
		for i := range t.rows {
			if t.rng.Float64() < samplePer {
				some = append(some, int32(i))
			}
		}
		var features []int
		for k := range t.cuts {
			if len(t.cuts[k]) > 0 && t.rng.Float64() < t.features {
				features = append(features, k)
			}
		}
		tree := t.grow(some, features)
		for i, row := range t.rows {
			t.score[i] += float64(value(tree, row))
		}
		f.Trees = append(f.Trees, tree)
	}
	return f
}

func value(tree []branch, row []float32) float32 {
	b := tree[0]
	for b.Left != 0 {
		if row[b.Feature] <= b.Cut {
			b = tree[b.Left]
		} else {
			b = tree[b.Right]
		}
	}
	return b.Value
}

// bin sums what falls into one bin of a feature.
type bin struct{ grad, mass float32 }

type leaf struct {
	at, depth    int // in the tree
	samples      []int32
	grad, mass   float64
	hist         [][numBins]bin
	gain         float64
	feature, cut int
}

// grow makes a tree by dividing, again and again, the leaf that gains most.
func (t *trainer) grow(some []int32, features []int) []branch {
	tree := make([]branch, 1)
	root := &leaf{samples: some}
	t.fill(root, features)
	t.divide(root, features)
	leaves := []*leaf{root}
	for len(leaves) < numLeaves {
		best := slices.MaxFunc(leaves, func(a, b *leaf) int { return compareGain(a, b) })
		if best.gain <= 1e-9 {
			break
		}
		t.gains[best.feature] += best.gain
		left, right := &leaf{at: len(tree), depth: best.depth + 1}, &leaf{at: len(tree) + 1, depth: best.depth + 1}
		tree = append(tree, branch{}, branch{})
		tree[best.at] = branch{Feature: best.feature, Cut: t.cuts[best.feature][best.cut], Left: left.at, Right: right.at}
		for _, i := range best.samples {
			if int(t.bins[best.feature][i]) <= best.cut {
				left.samples = append(left.samples, i)
			} else {
				right.samples = append(right.samples, i)
			}
		}
		small, large := left, right
		if len(left.samples) > len(right.samples) {
			small, large = right, left
		}
		t.fill(small, features)
		large.hist = best.hist
		for f := range large.hist {
			for b := range numBins {
				large.hist[f][b].grad -= small.hist[f][b].grad
				large.hist[f][b].mass -= small.hist[f][b].mass
			}
		}
		t.divide(left, features)
		t.divide(right, features)
		leaves[slices.Index(leaves, best)] = left
		leaves = append(leaves, right)
	}
	for _, l := range leaves {
		tree[l.at].Value = short(-t.rate * l.grad / (l.mass + damping))
	}
	return tree
}

func compareGain(a, b *leaf) int {
	switch {
	case a.gain < b.gain:
		return -1
	case a.gain > b.gain:
		return 1
	}
	return 0
}

// fill counts a leaf's samples into the bins of each feature.
func (t *trainer) fill(l *leaf, features []int) {
	l.hist = make([][numBins]bin, len(features))
	for k, f := range features {
		h, bins := &l.hist[k], t.bins[f]
		for _, i := range l.samples {
			h[bins[i]].grad += float32(t.grad[i])
			h[bins[i]].mass += float32(t.mass[i])
		}
	}
}

// divide finds where a leaf is best divided.
func (t *trainer) divide(l *leaf, features []int) {
	for _, i := range l.samples {
		l.grad += t.grad[i]
		l.mass += t.mass[i]
	}
	if l.depth == maxDepth {
		return
	}
	worth := func(grad, mass float64) float64 { return grad * grad / (mass + damping) }
	for k, f := range features {
		grad, mass := 0.0, 0.0
		for c := range t.cuts[f] {
			grad += float64(l.hist[k][c].grad)
			mass += float64(l.hist[k][c].mass)
			if mass < leastMass || l.mass-mass < leastMass {
				continue
			}
			gain := worth(grad, mass) + worth(l.grad-grad, l.mass-mass) - worth(l.grad, l.mass)
			if gain > l.gain {
				l.gain, l.feature, l.cut = gain, f, c
			}
		}
	}
}
