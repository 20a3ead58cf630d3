package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/bellglass/bellglass/internal/extract"
)

// example is a page to learn from: of each of its units what is known of it,
// how much of it people counted to the main text, and how much that matters.
type example struct {
	*item
	doc    *extract.Doc
	rows   [][]float32
	labels []float64
	weight []float64
}

// Bounds of what one page adds, so that long ones do not drown the others.
const (
	maxPageUnits  = 400
	maxPageWeight = 400
)

// newExample marks the units of a page. A unit weighs what a mistake about it
// costs: its share of the words that are wanted.
func newExample(it *item, d *extract.Doc) *example {
	units := d.Units()
	e := &example{item: it, doc: d}
	var words []string
	from := make([]int, len(units)+1)
	for i, u := range units {
		words = append(words, wordsOf(u.Text)...)
		from[i+1] = len(words)
	}
	wanted := wordsOf(it.want)
	marks := aligned(words, wanted)
	scale := min(100/float64(len(wanted)+20), maxPageWeight/float64(len(words)+len(units)))
	for i, u := range units {
		n, hits := from[i+1]-from[i], 0
		for _, m := range marks[from[i]:from[i+1]] {
			if m {
				hits++
			}
		}
		e.rows = append(e.rows, u.Features)
		e.labels = append(e.labels, float64(hits)/float64(max(n, 1)))
		if n == 0 {
			e.weight = append(e.weight, 0)
		} else {
			e.weight = append(e.weight, float64(n+1)*scale)
		}
	}
	return e
}

// samples are the units of pages that one model is learned from.
type samples struct {
	rows   [][]float32
	labels []float64
	weight []float64
}

// add takes the units of a page, of a long one some; rows are what is known of
// each.
func (s *samples) add(e *example, rows [][]float32) {
	every := len(rows)/maxPageUnits + 1
	for i := 0; i < len(rows); i += every {
		if e.weight[i] == 0 {
			continue
		}
		s.rows = append(s.rows, rows[i])
		s.labels = append(s.labels, e.labels[i])
		s.weight = append(s.weight, e.weight[i]*float64(every))
	}
}

// learned is the form of internal/extract/model.json.
type learned struct {
	First  *forest
	Kept   []int // features of the first that the second forest sees, too
	Second *forest
}

type forest struct {
	Features int
	Base     float64
	Trees    [][]branch
}

type branch struct {
	Feature     int     `json:"f,omitempty"`
	Cut         float32 `json:"c,omitempty"`
	Left, Right int     `json:",omitempty"`
	Value       float32 `json:"v,omitempty"`
}

// innerParts is into how many parts the pages are divided to learn the second
// forest: what the first one thinks of a page must come from a forest that has
// not seen the page, as it will when pages are read.
const innerParts = 4

// learnFrom learns both forests.
func learnFrom(pages []*example) *learned {
	var first *forest
	inner := make([]*forest, innerParts)
	var wg sync.WaitGroup
	wg.Go(func() { first = firstForest(pages, -1) })
	for part := range inner {
		wg.Go(func() { inner[part] = firstForest(pages, part) })
	}
	wg.Wait()
	contexts := make([][][]float32, len(pages))
	for i, e := range pages {
		contexts[i] = e.doc.Context(inner[e.innerPart()].estimate(e.rows))
	}
	n := len(contexts[0][0])
	every := make([]int, first.Features)
	for i := range every {
		every[i] = i
	}
	_, gains := second(pages, contexts, every)
	slices.SortStableFunc(every, func(a, b int) int { return cmp.Compare(gains[n+b], gains[n+a]) })
	kept := slices.Sorted(slices.Values(every[:numKept]))
	f, _ := second(pages, contexts, kept)
	return &learned{first, kept, f}
}

// numKept is how many features the second forest sees: those that it gains most
// from when it sees all. With all, it reads no better, and pages take longer.
const numKept = 40

// second learns the second forest, and says what it gained from each number of
// its rows.
func second(pages []*example, contexts [][][]float32, kept []int) (*forest, []float64) {
	s := &samples{}
	for i, e := range pages {
		rows := make([][]float32, len(e.rows))
		for k, row := range e.rows {
			rows[k] = slices.Clone(contexts[i][k])
			for _, f := range kept {
				rows[k] = append(rows[k], row[f])
			}
		}
		s.add(e, rows)
	}
	t := newTrainer(s, secondTrees)
	return t.forest(), t.gains
}

// innerPart must not follow from the part of the five that are measured.
func (it *item) innerPart() int { return it.part(5*innerParts) / 5 % innerParts }

// firstForest learns from the pages that are not of that inner part.
func firstForest(pages []*example, part int) *forest {
	s := &samples{}
	for _, e := range pages {
		if e.innerPart() != part {
			s.add(e, e.rows)
		}
	}
	return newTrainer(s, firstTrees).forest()
}

func (f *forest) estimate(rows [][]float32) []float64 {
	out := make([]float64, len(rows))
	for i, row := range rows {
		sum := f.Base
		for _, t := range f.Trees {
			sum += float64(value(t, row))
		}
		out[i] = 1 / (1 + math.Exp(-sum))
	}
	return out
}

func (l *learned) encode() ([]byte, error) {
	b, err := json.Marshal(l)
	return append(b, '\n'), err
}

// examples reads the pages with a renderer or from the cache.
func (s *source) examples(items []*item) ([]*example, error) {
	var all []*example
	for _, it := range items {
		if e := s.known[it]; e != nil {
			all = append(all, e)
			continue
		}
		html, err := it.html()
		if err != nil {
			return nil, err
		}
		d, _, err := s.doc(it, html)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", it.set, it.id, err)
		}
		e := newExample(it, d)
		s.known[it] = e
		all = append(all, e)
	}
	return all, nil
}

// leaveOut has pages read with a model that was learned without one part.
func (s *source) leaveOut(items []*item, part, parts int) error {
	all, err := s.examples(slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.part(parts) == part }))
	if err != nil {
		return err
	}
	b, err := learnFrom(all).encode()
	if err != nil {
		return err
	}
	return extract.Try(b)
}

// learn writes a model made from the items.
func (s *source) learn(items []*item, to string) error {
	all, err := s.examples(items)
	if err != nil {
		return err
	}
	b, err := learnFrom(all).encode()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "learned from %d pages: %d bytes\n", len(all), len(b))
	return os.WriteFile(to, b, 0o644)
}

// short rounds to four digits: more would only make the model longer.
func short(x float64) float32 {
	if x == 0 {
		return 0
	}
	p := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	return float32(math.Round(x*p) / p)
}
