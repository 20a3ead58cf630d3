// Package look sees the controls and the text of one frame, as a person would:
// a script in an isolated world of the browser walks the tree once and yields
// JSON; [Parse] makes a [digest.Frame] of it.
//
// What is in sight is decided by the same script as for reading
// ([extract.Sight]). Names and roles follow the accessibility specifications.
// The world keeps numbers for the nodes it has seen, and remembers which
// fields ever were password fields; a page can neither see nor change that.
//
// The package does not talk to a browser: a caller evaluates the scripts, all
// in the same world of a frame. It trusts nothing that they yield, because a
// renderer may be hostile.
package look

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/extract"
)

var (
	//go:embed world.js
	worldJS string
	//go:embed tree.js
	treeJS string
	//go:embed protect.js
	protectJS string
	//go:embed names.js
	namesJS string
	//go:embed walk.js
	walkJS string
	//go:embed visit.js
	visitJS string
	//go:embed near.js
	nearJS string
	//go:embed describe.js
	describeJS string
	//go:embed rows.js
	rowsJS string
	//go:embed point.js
	pointJS string
	//go:embed arm.js
	armJS string
	//go:embed main.js
	mainJS string
)

// Options says what a look shall bring.
type Options struct {
	// Text is about how many characters of visible text are returned; the
	// rest is counted. If zero, 4,000: more than a digest shows, so that two
	// looks can be compared.
	Text int
	// Choices is how many options of a select are returned. If zero,
	// [digest.MaxOptions].
	Choices int
	// Detail is how many controls are described with their row, in the order
	// in which a digest lists them. It is never less than 250.
	Detail int
	// Behind is for what a picture shows: controls behind a modal dialog, and
	// inert ones, are listed as well.
	Behind bool
}

// Script looks at the whole frame: its value is for [Parse].
func Script(o Options) string {
	if o.Text <= 0 {
		o.Text = 4000
	}
	if o.Choices <= 0 {
		o.Choices = digest.MaxOptions
	}
	return script(fmt.Sprintf("{mode:'whole',text:%d,choices:%d,detail:%d,behind:%t}", o.Text, o.Choices, o.Detail, o.Behind))
}

// NodeScript looks at one node again: its value is for [ParseNode].
func NodeScript(node int64) string {
	return script(fmt.Sprintf("{mode:'again',text:0,choices:%d,node:%d}", maxChoices, node))
}

// maxChoices bounds the options of a select that is looked at alone.
const maxChoices = 2000

// PointScript scrolls a node into view and finds a point on it that a click
// would reach: its value is for [ParsePoint].
func PointScript(node int64) string { return pointScript(node, false) }

// CalmPointScript is [PointScript] after a look at the whole that is several
// frames old: a node that is where it was then does not move.
func CalmPointScript(node int64) string { return pointScript(node, true) }

func pointScript(node int64, calm bool) string {
	return script(fmt.Sprintf("{mode:'point',text:0,choices:%d,node:%d,calm:%t}", maxChoices, node, calm))
}

// source is the function behind all scripts. The world keeps it, so that the
// engine compiles it once and has it warm for the next look.
var source = "(function looker(options){'use strict';\n" + extract.Sight() + worldJS + treeJS + protectJS + namesJS + walkJS + rowsJS + visitJS + nearJS + describeJS + pointJS + armJS + mainJS + "})"

func script(options string) string {
	return "(globalThis[Symbol.for('bellglass.looker')]??=" + source + ")(" + options + ")"
}

// WatchScript notices, from the beginning of a document, which fields are of
// type password. It is to be run in the world of the other scripts before any
// script of the page, as with Page.addScriptToEvaluateOnNewDocument.
func WatchScript() string { return "(function(){'use strict';\n" + worldJS + "})()" }

// KeepScript makes the world keep the function behind the other scripts. Run
// together with [WatchScript], that is done while the document is still on
// its way.
func KeepScript() string { return "(globalThis[Symbol.for('bellglass.looker')]??=" + source + ");''" }

// ErrGone is returned for a node that is not in its document any more, or that
// nobody can see or operate.
var ErrGone = errors.New("look: the node is gone")

// answer is what the scripts write. See whole.js and describe.js.
type answer struct {
	Look   int      `json:"look"`
	Doc    string   `json:"doc"`
	URL    string   `json:"url"`
	Origin string   `json:"origin"`
	Title  string   `json:"title"`
	E      []node   `json:"e"`
	L      []string `json:"l"`
	C      int      `json:"c"`
	TH     uint32   `json:"th"`
	P      []place  `json:"p"`
	HC     int      `json:"hc"`
	HB     int      `json:"hb"`
	W      int      `json:"w"`
	H      int      `json:"h"`
	Up     int      `json:"up"`
	Dn     int      `json:"dn"`
	Cut    bool     `json:"cut"`
	S      int      `json:"s"`
}

type place struct {
	I int        `json:"i"`
	N int64      `json:"n"`
	E int        `json:"e"`
	L int        `json:"l"`
	S bool       `json:"s"`
	B [4]float64 `json:"b"`
}

type node struct {
	N  int64      `json:"n"`
	T  string     `json:"t"`
	Y  string     `json:"y"`
	R  string     `json:"r"`
	M  string     `json:"m"`
	H  string     `json:"h"`
	A  string     `json:"a"`
	AM string     `json:"am"`
	W  string     `json:"w"`
	G  string     `json:"g"`
	L  string     `json:"l"`
	O  []choice   `json:"o"`
	K  int        `json:"k"`
	LO string     `json:"lo"`
	HI string     `json:"hi"`
	ST string     `json:"st"`
	CK string     `json:"ck"`
	PR string     `json:"pr"`
	EX string     `json:"ex"`
	SE string     `json:"se"`
	CU int        `json:"cu"`
	D  int        `json:"d"`
	RO int        `json:"ro"`
	RQ int        `json:"rq"`
	IV int        `json:"iv"`
	MU int        `json:"mu"`
	F  int        `json:"f"`
	ED int        `json:"ed"`
	P  int        `json:"p"`
	C  int        `json:"c"`
	V  int        `json:"v"`
	B  [4]float64 `json:"b"`
}

type choice struct {
	T string `json:"t"`
	V string `json:"v"`
	G string `json:"g"`
	S int    `json:"s"`
	D int    `json:"d"`
}

// maxElements bounds what is believed of one frame.
const maxElements = 20000

// Parse reads what [Script] yielded.
func Parse(s string) (*digest.Frame, error) {
	if s == "bellglass-page 1" { // a document without a root
		return &digest.Frame{}, nil
	}
	// Growing a list of thousands of controls takes half as long as reading it.
	a := answer{E: make([]node, 0, min(strings.Count(s, `{"n":`), maxElements))}
	if err := json.Unmarshal([]byte(s), &a); err != nil || a.Look != 1 {
		return nil, errors.New("look: not an answer")
	}
	if len(a.E) > maxElements+1000 || len(a.P) > maxElements || len(a.L) > maxElements {
		return nil, errors.New("look: too much")
	}
	f := &digest.Frame{Doc: extract.Line(a.Doc, 64), URL: a.URL, Origin: extract.Line(a.Origin, 300), Title: extract.Line(a.Title, digest.MaxTitle),
		Chars: max(a.C, 0), TextHash: a.TH, HiddenChars: max(a.HC, 0), HiddenBlocks: max(a.HB, 0), Width: a.W, Height: a.H, Above: max(a.Up, 0), Below: max(a.Dn, 0), Cut: a.Cut, Suspects: a.S}
	f.Elements = make([]digest.Element, len(a.E))
	for i := range a.E {
		f.Elements[i] = a.E[i].element()
	}
	for _, l := range a.L {
		if l = extract.Line(l, maxLine); l != "" {
			f.Lines = append(f.Lines, l)
		}
	}
	for _, p := range a.P {
		f.Places = append(f.Places, digest.Place{Index: p.I, Node: p.N, At: p.E, Line: p.L, Shown: p.S, Box: box(p.B)})
	}
	return f, nil
}

// maxLine is more than any digest shows of one line.
const maxLine = 20000

func box(b [4]float64) digest.Box { return digest.Box{X: b[0], Y: b[1], Width: b[2], Height: b[3]} }

func (n *node) element() digest.Element {
	const limit = digest.MaxName + 1 // so that it can be seen that something was cut
	if n.T == "" {
		n.T = "a"
	}
	switch {
	case n.R == "-":
		n.R = ""
	case n.R == "" && n.T == "a":
		n.R = "link"
	case n.R == "":
		n.R = n.T
	}
	if n.T == "button" && n.Y == "" {
		n.Y = "submit"
	}
	e := digest.Element{Node: n.N, Tag: n.T, Type: n.Y, Role: n.R, Name: extract.Line(n.M, 2*limit), Href: n.H, Action: n.A, Method: n.AM,
		Row: extract.Line(n.W, 2*limit), Group: extract.Line(n.G, limit), Value: extract.Line(n.L, 3*limit), Choices: n.K,
		Min: extract.Line(n.LO, 40), Max: extract.Line(n.HI, 40), Step: extract.Line(n.ST, 40),
		Checked: tri(n.CK), Pressed: tri(n.PR), Expanded: tri(n.EX), Selected: tri(n.SE),
		Current: n.CU != 0, Disabled: n.D != 0, ReadOnly: n.RO != 0, Required: n.RQ != 0, Invalid: n.IV != 0, Multiple: n.MU != 0, Focused: n.F != 0,
		Editable: n.ED != 0, Protected: n.P != 0, Covered: n.C != 0, InView: n.V != 0, Box: box(n.B)}
	for _, o := range n.O {
		e.Options = append(e.Options, digest.Option{Text: extract.Line(o.T, 3*limit), Value: o.V, Group: extract.Line(o.G, limit), Selected: o.S != 0, Disabled: o.D != 0})
	}
	if e.Protected || e.Type == "password" {
		e.Value, e.Options = "", nil
	}
	e.Fillable = e.Editable || e.Checked != digest.None || e.Tag == "select" || e.Tag == "input" && (e.Type == "range" || e.Type == "color") || e.Slides()
	return e
}

func tri(s string) digest.Tri {
	switch t := digest.Tri(s); t {
	case digest.True, digest.False, digest.Mixed:
		return t
	}
	return digest.None
}

// ParseNode reads what [NodeScript] yielded: the same description as in the
// whole frame, or [ErrGone]. doc names the document that the node is in.
func ParseNode(s string) (e digest.Element, doc string, err error) {
	var a answer
	if err := json.Unmarshal([]byte(s), &a); err != nil || a.Look != 1 {
		return e, "", errors.New("look: not an answer")
	}
	if len(a.E) != 1 {
		return e, "", ErrGone
	}
	e = a.E[0].element()
	e.Doc = extract.Line(a.Doc, 64)
	return e, e.Doc, nil
}

// ArmScript has the document of a node let the next press of a pointer through
// to that node only, or to a label of it. With through, the node is the element
// of a frame in which the press is expected, and nothing is let through here.
func ArmScript(node int64, through bool) string {
	return script(fmt.Sprintf("{mode:'arm',text:0,node:%d,through:%t}", node, through))
}

// DisarmScript ends that: its value is for [ParseArmed].
func DisarmScript() string { return script("{mode:'disarm',text:0}") }

// Press is what became of a press that [ArmScript] expected.
type Press string

// Values of [Press].
const (
	Hit     Press = "hit"
	Missed  Press = "missed" // something else was under the pointer; the page was told nothing
	Unheard Press = "waits"  // no press came to this document
	Unknown Press = ""       // another document is there now
)

// ParseArmed reads what [DisarmScript] yielded, and what was pressed instead.
func ParseArmed(s string) (Press, string) {
	var a struct {
		Armed int    `json:"armed"`
		State Press  `json:"state"`
		By    string `json:"by"`
	}
	if err := json.Unmarshal([]byte(s), &a); err != nil || a.Armed != 1 {
		return Unknown, ""
	}
	return a.State, extract.Line(a.By, 120)
}

// Point is where to click a node.
type Point struct {
	X, Y  float64 // CSS pixels in the frame's viewport
	Moved bool    // the node moved between two looks at it, or may have
	Gone  bool    // there is no such node, or it has no box any more
	// Covered names what is on top of every point of it: "div#overlay \"We value
	// your privacy\"". The point is of no use then.
	Covered string
	// Now is the node as it was when the point was found, for [ParseNode]; ""
	// if it moved.
	Now string
}

// ParsePoint reads what [PointScript] yielded.
func ParsePoint(s string) (Point, error) {
	var a struct {
		Point   int     `json:"point"`
		X       float64 `json:"x"`
		Y       float64 `json:"y"`
		Moved   bool    `json:"moved"`
		Gone    bool    `json:"gone"`
		Covered string  `json:"covered"`
		Now     string  `json:"now"`
	}
	if err := json.Unmarshal([]byte(s), &a); err != nil || a.Point != 1 {
		return Point{}, errors.New("look: not an answer")
	}
	return Point{X: a.X, Y: a.Y, Moved: a.Moved, Gone: a.Gone, Covered: extract.Line(a.Covered, 120), Now: a.Now}, nil
}
