package pdftext

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/ledongthuc/pdf"
)

// font is what is needed of a font: its codes' characters and widths.
type font struct {
	bytes   int // of a code
	unicode map[string]string
	ranges  []codeRange
	enc     pdf.TextEncoding
	widths  map[int]float64 // in thousandths of the size
	def     float64         // of a code without one
	scale   float64
}

// codeRange maps codes from lo to hi to the characters from to on.
type codeRange struct{ lo, hi, to string }

// maxCodes bounds the entries of one font.
const maxCodes = 1 << 17

// newFont reads a font's dictionary (ISO 32000-1 §9.5 to 9.10).
func newFont(v pdf.Value) *font {
	pf := pdf.Font{V: v}
	f := &font{bytes: 1, unicode: map[string]string{}, widths: map[int]float64{}, def: 500, scale: 1.0 / 1000}
	if v.Key("ToUnicode").Kind() == pdf.Stream {
		f.readUnicode(v.Key("ToUnicode"), v)
	}
	switch v.Key("Subtype").Name() {
	case "Type0":
		f.bytes, f.def = 2, 1000
		d := v.Key("DescendantFonts").Index(0)
		if w := d.Key("DW"); !w.IsNull() {
			f.def = w.Float64()
		}
		f.readCIDWidths(d.Key("W"))
	case "Type3":
		if m := v.Key("FontMatrix"); m.Len() == 6 {
			f.scale = m.Index(0).Float64()
		}
		fallthrough
	default:
		first, w := int(v.Key("FirstChar").Int64()), v.Key("Widths")
		for i := 0; i < min(w.Len(), 256); i++ {
			f.widths[first+i] = w.Index(i).Float64()
		}
	}
	f.enc = pf.Encoder()
	return f
}

// readCIDWidths reads "c [w1 w2 …]" and "c1 c2 w".
func (f *font) readCIDWidths(w pdf.Value) {
	for i := 0; i+1 < w.Len(); {
		c := int(w.Index(i).Int64())
		if list := w.Index(i + 1); list.Kind() == pdf.Array {
			for k := 0; k < list.Len() && len(f.widths) < maxCodes; k++ {
				f.widths[c+k] = list.Index(k).Float64()
			}
			i += 2
			continue
		}
		last, width := int(w.Index(i+1).Int64()), w.Index(i+2).Float64()
		for ; c <= last && len(f.widths) < maxCodes; c++ {
			f.widths[c] = width
		}
		i += 3
	}
}

// readUnicode reads a ToUnicode map (§9.10.3). The dictionary stands for those
// that the map asks for.
func (f *font) readUnicode(v, empty pdf.Value) {
	codes := 0
	pdf.Interpret(v, func(stk *pdf.Stack, op string) {
		var args []pdf.Value
		for stk.Len() > 0 && len(args) < 3*maxCodes {
			args = append(args, stk.Pop())
		}
		slices.Reverse(args)
		switch op {
		case "findresource":
			stk.Push(empty) // it is begun, as a dictionary
		case "endbfchar":
			for i := 0; i+1 < len(args) && codes < maxCodes; i += 2 {
				f.unicode[args[i].RawString()] = utf16Text(args[i+1].RawString())
				codes++
			}
		case "endbfrange":
			for i := 0; i+2 < len(args) && codes < maxCodes; i += 3 {
				lo, hi, to := args[i].RawString(), args[i+1].RawString(), args[i+2]
				codes++
				if to.Kind() == pdf.Array {
					for k := 0; k < to.Len() && k < 256; k++ {
						f.unicode[next(lo, k)] = utf16Text(to.Index(k).RawString())
					}
				} else if len(lo) == len(hi) && len(lo) > 0 {
					f.ranges = append(f.ranges, codeRange{lo, hi, to.RawString()})
				}
			}
		}
	})
}

// next returns the code k after c, counting in its last two bytes.
func next(c string, k int) string {
	b := []byte(c)
	for i := len(b) - 1; i >= 0 && k > 0; i-- {
		k += int(b[i])
		b[i] = byte(k)
		k >>= 8
	}
	return string(b)
}

// utf16Text decodes big-endian UTF-16.
func utf16Text(s string) string {
	var u []uint16
	for ; len(s) >= 2; s = s[2:] {
		u = append(u, binary.BigEndian.Uint16([]byte(s)))
	}
	return string(utf16.Decode(u))
}

// char returns the characters of a code, "" if they are not known.
func (f *font) char(code string) string {
	if s, ok := f.unicode[code]; ok {
		return s
	}
	for _, r := range f.ranges {
		if len(code) == len(r.lo) && r.lo <= code && code <= r.hi {
			return utf16Text(next(r.to, int(number(code)-number(r.lo))))
		}
	}
	if len(f.unicode) > 0 || len(f.ranges) > 0 || f.enc == nil {
		if f.bytes > 1 {
			return ""
		}
	}
	return strings.ReplaceAll(f.enc.Decode(code), "\uFFFD", "")
}

// width returns how far a code moves on, in parts of the font's size.
func (f *font) width(code string) float64 {
	if w, ok := f.widths[int(number(code))]; ok {
		return w * f.scale
	}
	return f.def * f.scale
}

func number(code string) uint32 {
	var n uint32
	for i := range len(code) {
		n = n<<8 | uint32(code[i])
	}
	return n
}
