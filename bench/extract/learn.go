package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"

	"github.com/bellglass/bellglass/internal/extract"
)

// samples are the units of pages: what is known of each, how much of it people
// counted to the main text, and how much that matters.
type samples struct {
	rows   [][]float32
	labels []float64
	weight []float64
}

// Bounds of what one page adds, so that long ones do not drown the others.
const (
	maxPageUnits  = 1500
	maxPageWeight = 400
)

// add takes the units of a page. A unit weighs what a mistake about it costs:
// its share of the words that are wanted.
func (s *samples) add(d *extract.Doc, want string) {
	units := d.Units()
	var words []string
	from := make([]int, len(units)+1)
	for i, u := range units {
		words = append(words, wordsOf(u.Text)...)
		from[i+1] = len(words)
	}
	wanted := wordsOf(want)
	marks := aligned(words, wanted)
	scale := 100 / float64(len(wanted)+20)
	scale = min(scale, maxPageWeight/float64(len(words)+len(units)))
	every := len(units)/maxPageUnits + 1
	for i := 0; i < len(units); i += every {
		n := from[i+1] - from[i]
		if n == 0 {
			continue
		}
		hits := 0
		for _, m := range marks[from[i]:from[i+1]] {
			if m {
				hits++
			}
		}
		s.rows = append(s.rows, units[i].Features)
		s.labels = append(s.labels, float64(hits)/float64(n))
		s.weight = append(s.weight, float64(n+1)*scale*float64(every))
	}
}

// learned is the form of internal/extract/model.json.
type learned struct {
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

// encodeModel learns a model from the samples.
func encodeModel(s *samples) ([]byte, error) {
	t := newTrainer(s)
	m := learned{Features: len(s.rows[0]), Base: t.base, Trees: t.trees()}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "%d trees from %d units\n", len(m.Trees), len(s.rows))
	return append(b, '\n'), nil
}

// short rounds to four digits: more would only make the model longer.
func short(x float64) float32 {
	if x == 0 {
		return 0
	}
	p := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	return float32(math.Round(x*p) / p)
}
