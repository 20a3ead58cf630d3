package digest

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
	Text     string // visible text, at most [MaxText] code points of it
	Chars    int    // code points of visible text in all

	HiddenChars  int
	HiddenBlocks int
	Above, Below int // how far the page goes on outside the viewport, in CSS pixels
	Cut          bool
}

// merge flattens a frame and those in it.
func merge(main *Frame) *Page {
	m := merger{main: main, page: &Page{Doc: main.Doc, Title: main.Title, Above: main.Above, Below: main.Below}}
	m.frame(main, true, 0)
	m.page.Text = m.text.String()
	m.order()
	return m.page
}
