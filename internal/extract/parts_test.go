package extract

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRowsDoNotDependOnParts: a unit's row is the same wherever its part begins.
func TestRowsDoNotDependOnParts(t *testing.T) {
	stream := "<h1\nTThe heading\n>\n" + paras(0, 3) + "<p\nT34 comments\n>\n" + paras(3, 6) + "<p\nTYou may also like\n>\n" + linkItems("Thing", 8)
	f := parse(t, strings.Split(strings.TrimSuffix(stream, "\n"), "\n")...).features()
	l, n := f.layOut(), len(f.units)
	var whole [][]float32
	f.each(l, 0, n, func(_ int, r *row) { whole = append(whole, slices.Clone(r[:])) })
	for from := range n {
		g := *f
		g.each(l, from, n, func(i int, r *row) {
			if diff := cmp.Diff(whole[i], r[:]); diff != "" {
				t.Fatalf("unit %d, from %d on (-whole +part):\n%s", i, from, diff)
			}
		})
	}
}

func TestInParts(t *testing.T) {
	for _, n := range []int{0, 1, leastPart, 5*leastPart + 3} {
		done := make([]atomic.Int32, n)
		inParts(n, func(from, to int) {
			for i := from; i < to; i++ {
				done[i].Add(1)
			}
		})
		for i := range done {
			if k := done[i].Load(); k != 1 {
				t.Errorf("unit %d of %d: %d times", i, n, k)
			}
		}
	}
	defer func() {
		if p := recover(); p != "why" {
			t.Errorf("got %v", p)
		}
	}()
	inParts(4*leastPart, func(int, int) { panic("why") })
}
