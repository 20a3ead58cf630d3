package pdftext

import (
	"math"

	"github.com/ledongthuc/pdf"
)

// matrix is [a b c d e f] of ISO 32000-1 §8.3.4.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// times returns the matrix that applies m first, then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

func (m matrix) at(x, y float64) (float64, float64) {
	return x*m[0] + y*m[2] + m[4], x*m[1] + y*m[3] + m[5]
}

// color is red, green and blue from 0 to 1; unknown is a pattern, a shading or
// a picture.
type color struct {
	r, g, b float64
	unknown bool
}

var (
	white = color{1, 1, 1, false}
	black = color{0, 0, 0, false}
)

// near reports colours that a person does not tell apart.
func (c color) near(d color) bool {
	const eye = 0.08
	return !c.unknown && !d.unknown && math.Abs(c.r-d.r) < eye && math.Abs(c.g-d.g) < eye && math.Abs(c.b-d.b) < eye
}

// state is the graphics state, as far as text needs it.
type state struct {
	ctm   matrix
	fill  color
	alpha float64

	font                         *font
	size, char, word, rise, lead float64
	scale                        float64
	mode                         int
}

// box is something painted: what text on it has as its backdrop.
type box struct {
	x0, y0, x1, y1 float64
	fill           color
}

// Bounds of one page: a hostile one may repeat a form within a form.
const (
	maxForms  = 2000
	maxDepth  = 12
	maxGlyphs = 400_000
	maxBoxes  = 20_000
)

// painter runs a page's contents and notes the text.
type painter struct {
	state
	stack   []state
	tm, tlm matrix
	fonts   map[string]*font
	boxes   []box
	path    []box // rectangles not painted yet
	media   box
	out     layout
	glyphs  int
	forms   int
	hidden  int
}

// pageText is what was read of a page.
type pageText struct {
	text   string
	hidden int
}

// readPage reads the text of one page. Beside an error stands what was read
// before it.
func readPage(p page) (out pageText, err error) {
	w := &painter{state: state{ctm: identity, alpha: 1, scale: 1}, fonts: map[string]*font{}}
	defer func() { out = pageText{w.out.String(), w.hidden} }()
	defer recovered(&err)
	w.media = visible(p)
	w.run(p.contents, p.resources, 0)
	return out, nil
}

// visible is the part of a page that is shown.
func visible(p page) box {
	for _, m := range []pdf.Value{p.crop, p.media} {
		if m.Len() == 4 {
			return box{
				x0: min(m.Index(0).Float64(), m.Index(2).Float64()), y0: min(m.Index(1).Float64(), m.Index(3).Float64()),
				x1: max(m.Index(0).Float64(), m.Index(2).Float64()), y1: max(m.Index(1).Float64(), m.Index(3).Float64()),
			}
		}
	}
	return box{x1: 612, y1: 792}
}

// run interprets a content stream (Annex A lists the operators).
func (w *painter) run(contents, resources pdf.Value, depth int) {
	if contents.Kind() != pdf.Stream && contents.Kind() != pdf.Array {
		return
	}
	pdf.Interpret(contents, func(stk *pdf.Stack, op string) {
		var args []pdf.Value
		for stk.Len() > 0 {
			v := stk.Pop()
			if len(args) < 16 {
				args = append(args, v)
			}
		}
		for i, j := 0, len(args)-1; i < j; i, j = i+1, j-1 {
			args[i], args[j] = args[j], args[i]
		}
		num := func(i int) float64 {
			if i < len(args) {
				return args[i].Float64()
			}
			return 0
		}
		switch op {
		case "q":
			if len(w.stack) < 1000 {
				w.stack = append(w.stack, w.state)
			}
		case "Q":
			if n := len(w.stack); n > 0 {
				w.state, w.stack = w.stack[n-1], w.stack[:n-1]
			}
		case "cm":
			w.ctm = matrix{num(0), num(1), num(2), num(3), num(4), num(5)}.times(w.ctm)
		case "gs":
			if len(args) > 0 {
				if ca := resources.Key("ExtGState").Key(args[0].Name()).Key("ca"); !ca.IsNull() {
					w.alpha = ca.Float64()
				}
			}
		case "Do":
			if len(args) > 0 {
				w.do(resources.Key("XObject").Key(args[0].Name()), resources, depth)
			}
		default:
			if !w.paint(op, args, num) {
				w.text(op, args, num, resources)
			}
		}
	})
}

// do paints a form, or a picture, which may be of any colour.
func (w *painter) do(x, resources pdf.Value, depth int) {
	switch x.Key("Subtype").Name() {
	case "Image":
		w.cover(0, 0, 1, 1, color{unknown: true})
	case "Form":
		if w.forms++; w.forms > maxForms || depth >= maxDepth {
			return
		}
		saved, stack := w.state, w.stack
		if m := x.Key("Matrix"); m.Len() == 6 {
			var f matrix
			for i := range f {
				f[i] = m.Index(i).Float64()
			}
			w.ctm = f.times(w.ctm)
		}
		if own := x.Key("Resources"); !own.IsNull() {
			resources = own
		}
		w.run(x, resources, depth+1)
		w.state, w.stack = saved, stack
	}
}

// paint runs the operators of colour and paths, and reports whether op is one.
func (w *painter) paint(op string, args []pdf.Value, num func(int) float64) bool {
	switch op {
	case "g":
		w.fill = color{num(0), num(0), num(0), false}
	case "rg":
		w.fill = color{num(0), num(1), num(2), false}
	case "k":
		k := 1 - num(3)
		w.fill = color{(1 - num(0)) * k, (1 - num(1)) * k, (1 - num(2)) * k, false}
	case "cs":
		w.fill = black
	case "sc", "scn":
		switch n := len(args); {
		case n > 0 && args[n-1].Kind() == pdf.Name:
			w.fill = color{unknown: true}
		case n == 1:
			// Of a tint 0 is the paper, of a grey black: what it is is not known.
			w.fill = color{unknown: true}
		case n == 3:
			w.fill = color{num(0), num(1), num(2), false}
		case n == 4:
			k := 1 - num(3)
			w.fill = color{(1 - num(0)) * k, (1 - num(1)) * k, (1 - num(2)) * k, false}
		}
	case "re":
		if len(w.path) < maxBoxes {
			w.path = append(w.path, w.rect(num(0), num(1), num(0)+num(2), num(1)+num(3)))
		}
	case "f", "F", "f*", "B", "B*", "b", "b*":
		for _, p := range w.path {
			p.fill = w.fill
			if w.alpha < 0.9 {
				p.fill = color{unknown: true}
			}
			w.add(p)
		}
		w.path = nil
	case "sh":
		w.add(box{w.media.x0, w.media.y0, w.media.x1, w.media.y1, color{unknown: true}})
	case "n", "S", "s":
		w.path = nil
	case "m", "l", "c", "v", "y", "h", "W", "W*":
	default:
		return false
	}
	return true
}

func (w *painter) cover(x0, y0, x1, y1 float64, c color) {
	b := w.rect(x0, y0, x1, y1)
	b.fill = c
	w.add(b)
}

func (w *painter) add(b box) {
	if len(w.boxes) < maxBoxes {
		w.boxes = append(w.boxes, b)
	}
}

// rect is a rectangle as it lies on the page.
func (w *painter) rect(x0, y0, x1, y1 float64) box {
	b := box{x0: math.Inf(1), y0: math.Inf(1), x1: math.Inf(-1), y1: math.Inf(-1)}
	for _, p := range [][2]float64{{x0, y0}, {x1, y0}, {x0, y1}, {x1, y1}} {
		x, y := w.ctm.at(p[0], p[1])
		b.x0, b.x1, b.y0, b.y1 = min(b.x0, x), max(b.x1, x), min(b.y0, y), max(b.y1, y)
	}
	return b
}

func (b box) holds(x, y float64) bool { return x >= b.x0 && x <= b.x1 && y >= b.y0 && y <= b.y1 }

// backdrop is the colour under a point: what was painted there last, else
// paper.
func (w *painter) backdrop(x, y float64) color {
	for i := len(w.boxes) - 1; i >= 0; i-- {
		if w.boxes[i].holds(x, y) {
			return w.boxes[i].fill
		}
	}
	return white
}
