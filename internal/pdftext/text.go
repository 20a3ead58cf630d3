package pdftext

import (
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
)

// text runs the operators of text (ISO 32000-1 §9.3 and 9.4).
func (w *painter) text(op string, args []pdf.Value, num func(int) float64, resources pdf.Value) {
	switch op {
	case "BT":
		w.tm, w.tlm = identity, identity
	case "Tf":
		if len(args) == 2 {
			w.font, w.size = w.fontOf(resources.Key("Font"), args[0].Name()), num(1)
		}
	case "Tc":
		w.char = num(0)
	case "Tw":
		w.word = num(0)
	case "Tz":
		w.scale = num(0) / 100
	case "TL":
		w.lead = num(0)
	case "Ts":
		w.rise = num(0)
	case "Tr":
		w.mode = int(num(0))
	case "Td":
		w.move(num(0), num(1))
	case "TD":
		w.lead = -num(1)
		w.move(num(0), num(1))
	case "Tm":
		w.tlm = matrix{num(0), num(1), num(2), num(3), num(4), num(5)}
		w.tm = w.tlm
	case "T*":
		w.move(0, -w.lead)
	case "Tj":
		if len(args) > 0 {
			w.show(args[0].RawString())
		}
	case "'", `"`:
		if op == `"` {
			w.word, w.char = num(0), num(1)
		}
		w.move(0, -w.lead)
		if len(args) > 0 {
			w.show(args[len(args)-1].RawString())
		}
	case "TJ":
		if len(args) == 0 {
			return
		}
		for i := range args[0].Len() {
			switch v := args[0].Index(i); v.Kind() {
			case pdf.String:
				w.show(v.RawString())
			default:
				w.advance(-v.Float64() / 1000 * w.size * w.scale)
			}
		}
	}
}

// fontOf returns the font of that name; a file's fonts are read once a page.
func (w *painter) fontOf(fonts pdf.Value, name string) *font {
	v := fonts.Key(name)
	key := name + "\x00" + v.Key("BaseFont").Name() + "\x00" + v.Key("ToUnicode").String()
	if f, ok := w.fonts[key]; ok {
		return f
	}
	f := newFont(v)
	w.fonts[key] = f
	return f
}

func (w *painter) move(x, y float64) {
	w.tlm = matrix{1, 0, 0, 1, x, y}.times(w.tlm)
	w.tm = w.tlm
}

func (w *painter) advance(x float64) { w.tm = matrix{1, 0, 0, 1, x, 0}.times(w.tm) }

// show paints a string.
func (w *painter) show(s string) {
	if w.font == nil {
		return
	}
	for n := w.font.bytes; len(s) >= n; s = s[n:] {
		if w.glyphs++; w.glyphs > maxGlyphs {
			return
		}
		code := s[:n]
		width := w.font.width(code)*w.size + w.char
		if n == 1 && code == " " {
			width += w.word
		}
		w.glyph(w.font.char(code), width*w.scale)
		w.advance(width * w.scale)
	}
}

// glyph notes characters at the current place, if they can be seen.
func (w *painter) glyph(chars string, width float64) {
	m := matrix{1, 0, 0, 1, 0, w.rise}.times(w.tm).times(w.ctm)
	x, y := m.at(0, 0)
	size := math.Abs(w.size) * math.Hypot(m[2], m[3])
	length := math.Hypot(m[0], m[1])
	if length == 0 || math.IsNaN(x+y+size) || math.IsInf(x+y+size, 0) {
		length, size = 1, 0
	}
	g := glyph{chars: ligatures.Replace(chars), x: x, y: y, size: size, width: width * length, dx: m[0] / length, dy: m[1] / length}
	if w.seen(g) {
		w.out.add(g)
	} else if strings.TrimSpace(chars) != "" {
		w.hidden += len([]rune(chars))
	}
}

// Text smaller than this, in points on the page, is read by nobody; a footnote
// has 6.
const legible = 2

func (w *painter) seen(g glyph) bool {
	mx, my := g.x+g.dx*g.width/2-g.dy*g.size*0.3, g.y+g.dy*g.width/2+g.dx*g.size*0.3
	switch {
	case w.mode == 3 || w.mode == 7, g.size < legible, w.alpha < 0.1:
		return false
	case !w.media.holds(mx, my):
		return false
	case w.mode == 0 && w.fill.near(w.backdrop(mx, my)):
		return false
	}
	return true
}

// ligatures that say no more than their letters.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st", "\x00", "")

// glyph is characters on the page: where their baseline begins, its direction
// and length.
type glyph struct {
	chars       string
	x, y        float64
	size, width float64
	dx, dy      float64
}

// layout puts glyphs into lines, in the order in which they are painted, which
// is the order in which nearly all programs write text.
type layout struct {
	b     strings.Builder
	last  glyph
	begun bool
}

func (l *layout) add(g glyph) {
	if g.chars == "" {
		return
	}
	if l.begun {
		l.gap(g)
	}
	if strings.TrimSpace(g.chars) == "" {
		l.space(" ")
	} else {
		l.b.WriteString(g.chars)
	}
	l.last, l.begun = g, true
}

// gap writes what stands between the last glyph and this one: nothing, a
// space, a tabulator between columns of a table, a line's end, an empty line.
func (l *layout) gap(g glyph) {
	p := l.last
	size := max(g.size, p.size, 1)
	ex, ey := g.x-(p.x+p.dx*p.width), g.y-(p.y+p.dy*p.width)
	along := ex*p.dx + ey*p.dy
	across := math.Abs(-ex*p.dy + ey*p.dx)
	turned := g.dx*p.dx+g.dy*p.dy < 0.9
	switch {
	case turned, across > 1.7*size:
		l.newline("\n\n")
	case across > 0.6*size, along < -2*size:
		l.newline("\n")
	case along > 1.5*size:
		l.space("\t")
	case along > 0.17*size:
		l.space(" ")
	}
}

func (l *layout) space(s string) {
	if n := l.b.Len(); n > 0 {
		switch l.b.String()[n-1] {
		case ' ', '\t', '\n':
			return
		}
	}
	l.b.WriteString(s)
}

func (l *layout) newline(s string) { l.b.WriteString(s) }

// String returns the lines, without white space at their ends.
func (l *layout) String() string {
	var out []string
	for line := range strings.Lines(l.b.String()) {
		line = strings.TrimSpace(line)
		if line == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, line)
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}
