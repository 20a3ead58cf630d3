package extract

import "strings"

// What the structured data of a page says of its thing, such as a product's
// description, stands on the page, too, and is what the page is about. It is one
// sign of many: a page can say there what it likes.

// maxSaid is how many characters of it count.
const maxSaid = 20_000

// pairs is a set of pairs of words that follow each other, as numbers.
type pairs map[uint64]struct{}

// eachPair calls use with the pairs of a folded text.
func eachPair(folded string, use func(uint64)) {
	last := uint64(0)
	for w := range strings.FieldsSeq(folded) {
		h := nameHash(w)
		if last != 0 {
			use(last*31 + h)
		}
		last = h
	}
}

func pairsOf(text string) pairs {
	p := pairs{}
	eachPair(foldText(text), func(k uint64) { p[k] = struct{}{} })
	return p
}

// repeats is which share of a unit's pairs of words the structured data has, -1
// if it says nothing, and how many.
func (p pairs) repeats(folded string) (part, n float32) {
	if len(p) == 0 {
		return -1, 0
	}
	all, hits := 0, 0
	eachPair(folded, func(k uint64) {
		all++
		if _, ok := p[k]; ok {
			hits++
		}
	})
	return ratio(hits, all), lg(hits)
}
