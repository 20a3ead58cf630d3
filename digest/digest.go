// Package digest is what a model sees of a page: a header, numbered controls
// and the first of its text, in at most 7,500 bytes.
//
// A walker (package internal/look) describes one frame at a time as a
// [Frame]; [Table.Update] numbers the controls of all of them, in a way that
// survives changes of the page, and gives a [Page]; [Page.Render] writes it so
// that no string of the page can be taken for anything else. When a model
// names a number, [Table.Lookup] and [Table.Confirm] say whether that control
// still is what it was when the model saw it.
//
// The package does not talk to a browser, decide what may be seen or clicked,
// or clean text of characters that nobody can see: its input has been cleaned.
package digest

// Limits of a digest. Lengths are in code points unless they say bytes.
const (
	MaxBytes    = 7500 // of a whole rendered digest
	MaxElements = 100  // listed at a time
	MaxText     = 1200 // of page text
	MaxName     = 80   // of a name, a value, a row
	MaxHref     = 80
	MaxTitle    = 200
	MaxURL      = 300
	MaxOptions  = 10 // of a select that are listed
	MaxOption   = 40
)

// Tri is a state that an element may not have at all: "" not applicable,
// "true", "false" or "mixed".
type Tri string

// Values of [Tri].
const (
	None  Tri = ""
	True  Tri = "true"
	False Tri = "false"
	Mixed Tri = "mixed"
)

// Box is a rectangle in CSS pixels of its frame's viewport.
type Box struct{ X, Y, Width, Height float64 }

// Option is one choice of a select.
type Option struct {
	Text     string
	Value    string // as forms send it
	Group    string // the label of its group, or ""
	Selected bool
	Disabled bool // itself or its group
}

// Element is one control of a page as it was when it was looked at.
type Element struct {
	// Index is the number that a model calls it by: unique and stable in one
	// document, never given twice. It is set by [Table.Update].
	Index int

	Frame  string // the caller's name of its frame
	Doc    string // the walker's name of the document in that frame
	Node   int64  // the walker's number of the node in that document
	Origin string // of its frame, if another than the page's: "https://ads.example", or "null"

	Tag    string // local name: a, button, input, div, …
	Type   string // of an input or a button: text, submit, …; "" for others
	Role   string // by ARIA, explicit or of the element: link, button, textbox, …
	Name   string // the accessible name, or what comes closest to one; one line
	Href   string // where a link leads, resolved
	Action string // where the form goes that this control can submit, resolved
	Method string // how: get, post or dialog
	Row    string // what the repeated row says that the control stands in, its own text apart
	Group  string // the name of the group of controls around it: a legend, a radio group's label

	// Value is what the control holds, as a person sees it. It is always ""
	// for a protected one, and for a password field.
	Value   string
	Options []Option // of a select: the selected ones and the first of the others
	Choices int      // how many options there are in all
	Min     string   // of sliders and of dates and numbers, as far as they say
	Max     string
	Step    string

	Checked  Tri
	Pressed  Tri
	Expanded Tri
	Selected Tri
	Current  bool // the current page, step or date of a set
	Disabled bool
	ReadOnly bool
	Required bool
	Invalid  bool
	Multiple bool
	Focused  bool

	// Editable: text can be typed into it. Fillable: it can be given a value
	// in some way, by typing, choosing or checking.
	Editable bool
	Fillable bool

	// Protected: a password, a one-time code, a payment card; see contract of
	// package look. Value is empty, and the field is not filled.
	Protected bool

	// Covered: in view, and something else is on top of it.
	Covered bool

	InView bool // in the frame's viewport
	Box    Box
}

// Slides reports that the element is a slider, or a field with a number, of the
// page's own making: one that the arrow keys change.
func (e Element) Slides() bool {
	return !e.Editable && e.Tag != "input" && (e.Role == "slider" || e.Role == "spinbutton")
}

// Place is where a child frame is in its parent.
type Place struct {
	Index int   // i of the parent's window[i]; -1 when it is not in that list
	Node  int64 // the walker's number of the frame's element
	At    int   // how many of the parent's elements come before it
	Line  int   // how many of the parent's lines of text come before it
	Shown bool  // a person can see it
	Box   Box   // of its content
	Child *Frame
}

// Frame is what a walker saw of one document.
type Frame struct {
	ID     string // the caller's name of the frame
	Doc    string // the walker's name of the document; another one for every document
	URL    string // as the document names itself; the caller knows better
	Origin string // as the document's scripts see it; "null" for one of its own
	Title  string

	Elements []Element
	Lines    []string // visible text in reading order, as far as it was asked for
	Chars    int      // code points of visible text in all
	TextHash uint32   // of all visible text, to see that it changed
	Places   []Place

	HiddenChars  int // characters that nobody could see
	HiddenBlocks int // stretches of them
	Width        int // of the viewport, CSS pixels
	Height       int
	Above        int  // how far the page goes on above the viewport, CSS pixels
	Below        int  // and below
	Cut          bool // the document was too large to walk whole

	// Suspects is zero when there is nothing to ask of the browser: it knows
	// of closed shadow roots and listeners. See look.Revealer.
	Suspects int
}

// Graft puts the document of a child frame in its place: the one whose
// element has that node number or, when node is 0, that is window[index] of
// the parent. It reports whether there is such a place.
func (f *Frame) Graft(index int, node int64, child *Frame) bool {
	for i := range f.Places {
		p := &f.Places[i]
		if p.Child == nil && (node != 0 && p.Node == node || node == 0 && index >= 0 && p.Index == index) {
			p.Child = child
			return true
		}
	}
	return false
}
