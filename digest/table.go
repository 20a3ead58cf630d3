package digest

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNoSuch is returned for an index that was never given in this document.
var ErrNoSuch = errors.New("digest: no such element")

// Stale is the error for an index that no longer is what the caller saw.
type Stale struct {
	Index int
	Was   string // the line of the digest that the caller saw; "" if that is not known any more
	Now   string // the line now; "" when the element is gone or the document is another
}

func (s *Stale) Error() string {
	now := s.Now
	if now == "" {
		now = "gone"
	}
	was := s.Was
	if was == "" {
		was = "of a page that is gone"
	}
	return fmt.Sprintf("digest: element %d was %s, now %s", s.Index, was, now)
}

// Table numbers the elements of one page through its changes. The zero value
// is ready. It is not safe for concurrent use.
type Table struct {
	gen   int
	doc   string // of the main frame
	next  int
	nodes map[key]*entry
	byIdx map[int]*entry
	last  *Page
}

type key struct {
	frame, doc string
	node       int64
}

// entry is what is known of one element, by generations.
type entry struct {
	index int
	seen  []sight // oldest first, one for each time that it was another
	gone  bool    // not there in the last generation
}

// sight is an element as it was from a generation on.
type sight struct {
	gen  int
	e    Element
	gone bool
}

// maxSights is how many changes of one element are remembered. What was seen
// before them counts as stale.
const maxSights = 8

// maxForgotten is how many elements that are gone are remembered, to say what
// they were.
const maxForgotten = 4000

// Update takes the frames that were just looked at, numbers their elements
// and starts a new generation.
func (t *Table) Update(main *Frame) *Page {
	t.gen++
	if t.nodes == nil || main.Doc != t.doc {
		t.doc, t.next = main.Doc, 0
		t.nodes, t.byIdx = map[key]*entry{}, map[int]*entry{}
	}
	p := merge(main)
	p.Generation = t.gen
	here := make(map[*entry]bool, len(p.Elements))
	for i := range p.Elements {
		here[t.number(&p.Elements[i])] = true
	}
	for _, en := range t.nodes {
		if !here[en] && !en.gone {
			en.gone = true
			en.note(sight{gen: t.gen, gone: true})
		}
	}
	t.forget(len(here))
	t.last = p
	return p
}

// number gives e its index and remembers how it was.
func (t *Table) number(e *Element) *entry {
	k := key{e.Frame, e.Doc, e.Node}
	en := t.nodes[k]
	if en == nil {
		en = &entry{index: t.next}
		t.next++
		t.nodes[k], t.byIdx[en.index] = en, en
	}
	e.Index, en.gone = en.index, false
	if n := len(en.seen); n > 0 && !en.seen[n-1].gone && same(&en.seen[n-1].e, e) {
		if e.Row == "" { // far down the page rows are not read; the element stays bound to the one it was seen in
			e.Row = en.seen[n-1].e.Row
		}
		en.seen[n-1].e = *e
	} else {
		en.note(sight{gen: t.gen, e: *e})
	}
	return en
}

func (en *entry) note(s sight) {
	en.seen = append(en.seen, s)
	if len(en.seen) > maxSights {
		en.seen = slices.Delete(en.seen, 0, len(en.seen)-maxSights)
	}
}

// forget drops the oldest elements that are gone when there are too many.
func (t *Table) forget(here int) {
	if len(t.nodes)-here <= maxForgotten {
		return
	}
	var gone []int
	for _, en := range t.nodes {
		if en.gone {
			gone = append(gone, en.index)
		}
	}
	slices.Sort(gone)
	drop := map[int]bool{}
	for _, i := range gone[:len(gone)-maxForgotten/2] {
		drop[i] = true
		delete(t.byIdx, i)
	}
	for k, en := range t.nodes {
		if drop[en.index] {
			delete(t.nodes, k)
		}
	}
}

// Generation is the number of the last digest; zero before the first.
func (t *Table) Generation() int { return t.gen }

// Last is the page of the last generation, or nil.
func (t *Table) Last() *Page { return t.last }

// Lookup finds the element that index stood for in that generation. It
// returns it as it was last looked at, or a [*Stale] if it has become another
// since then, or [ErrNoSuch] if there was none. Before acting the caller must
// read the node again and ask [Table.Confirm].
func (t *Table) Lookup(index, generation int) (Element, error) {
	if generation > t.gen || generation <= 0 || index < 0 {
		return Element{}, ErrNoSuch
	}
	en := t.byIdx[index]
	if en == nil {
		if index < t.next || t.gen != generation {
			return Element{}, &Stale{Index: index} // forgotten, or of an earlier document
		}
		return Element{}, ErrNoSuch
	}
	was := en.at(generation)
	now := en.seen[len(en.seen)-1]
	switch {
	case was == nil:
		return Element{}, &Stale{Index: index, Now: now.line()}
	case was.gone:
		return Element{}, ErrNoSuch
	case now.gone:
		return Element{}, &Stale{Index: index, Was: was.line()}
	case !same(&was.e, &now.e):
		return Element{}, &Stale{Index: index, Was: was.line(), Now: now.line()}
	}
	return now.e, nil
}

// at is the sight of generation gen, or nil.
func (en *entry) at(gen int) *sight {
	for i := len(en.seen) - 1; i >= 0; i-- {
		if en.seen[i].gen <= gen {
			return &en.seen[i]
		}
	}
	return nil
}

func (s *sight) line() string {
	if s.gone {
		return ""
	}
	return s.e.brief()
}

// Confirm compares an element from [Table.Lookup] with the same node read
// again, nil when it is gone. It returns nil when they are the same control,
// else a [*Stale].
func (t *Table) Confirm(was Element, now *Element) error {
	switch {
	case now == nil:
		return &Stale{Index: was.Index, Was: was.brief()}
	case !same(&was, now):
		return &Stale{Index: was.Index, Was: was.brief(), Now: now.brief()}
	}
	return nil
}
