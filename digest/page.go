package digest

import "strings"

// Field is one more line of a digest's header.
type Field struct{ Key, Value string }

// Page is one generation of a page: what was seen in all its frames.
type Page struct {
	Generation int
	Doc        string // of the main frame
	Title      string

	// The caller knows these; they are empty after [Table.Update].
	URL        string   // the address, as policy allows it to be shown
	HTTPStatus int      // zero when there was none
	Events     []string // what happened since the last digest
	More       []Field  // further lines of the header

	// Elements are in the order in which they are listed: those in the
	// viewport first, then the others, each in reading order.
	Elements []Element
	Lines    []string // visible text in reading order, as far as it was looked at
	Text     string   // Lines, joined
	Chars    int      // code points of visible text in all
	TextHash uint64   // of all visible text

	HiddenChars  int
	HiddenBlocks int
	Above, Below int // how far the page goes on outside the viewport, in CSS pixels
	Cut          bool
}

// merge flattens a frame and those in it.
func merge(main *Frame) *Page {
	m := merger{main: main, page: &Page{Doc: main.Doc, Title: main.Title, Above: main.Above, Below: main.Below}}
	m.frame(main, true, 0)
	m.page.Text = strings.Join(m.page.Lines, "\n")
	m.order()
	return m.page
}
