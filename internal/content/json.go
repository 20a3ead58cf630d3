package content

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonWidth is the most bytes of an object or array that stays on one line.
// Whoever reads a record sees it whole, and white space costs tokens.
const jsonWidth = 100

// maxJSONDepth bounds the indentation: what is deeper stays on one line.
const maxJSONDepth = 40

// formatJSON sets a JSON text in lines. Numbers and strings stay as they are
// written, but that characters beyond ASCII stand for themselves. ok is false
// for what is no JSON.
func formatJSON(s string) (out string, ok bool) {
	var c bytes.Buffer
	c.Grow(len(s))
	if json.Compact(&c, []byte(s)) != nil {
		return "", false
	}
	p := jsonPrinter{in: unescape(c.Bytes())}
	p.out.Grow(len(p.in) * 5 / 4)
	p.value(0)
	return p.out.String(), true
}

// jsonPrinter writes compact JSON, known to be valid, in lines.
type jsonPrinter struct {
	in  []byte
	at  int
	out strings.Builder
}

func (p *jsonPrinter) value(depth int) {
	end, short := p.extent(jsonWidth)
	if depth >= maxJSONDepth {
		end, short = p.extent(len(p.in))
	}
	if short || p.in[p.at] != '{' && p.in[p.at] != '[' {
		if !short {
			end, _ = p.extent(len(p.in))
		}
		p.out.Write(p.in[p.at:end])
		p.at = end
		return
	}
	p.out.WriteByte(p.in[p.at])
	for p.at++; ; {
		p.line(depth + 1)
		if p.in[p.at] == '"' {
			if key := p.str(p.at); p.in[key] == ':' {
				p.out.Write(p.in[p.at:key])
				p.out.WriteString(": ")
				p.at = key + 1
			}
		}
		p.value(depth + 1)
		if p.in[p.at] != ',' {
			break
		}
		p.out.WriteByte(',')
		p.at++
	}
	p.line(depth)
	p.out.WriteByte(p.in[p.at])
	p.at++
}

func (p *jsonPrinter) line(depth int) {
	p.out.WriteByte('\n')
	for range depth {
		p.out.WriteByte(' ')
	}
}

// extent returns where the value at p.at ends, if that is at most limit bytes
// away.
func (p *jsonPrinter) extent(limit int) (end int, ok bool) {
	depth := 0
	for i := p.at; i < len(p.in) && i-p.at <= limit; {
		switch p.in[i] {
		case '"':
			if i = p.str(i); depth == 0 {
				return i, i-p.at <= limit
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, i+1-p.at <= limit
			}
			if depth < 0 {
				return i, true // a number or word before it
			}
		case ',':
			if depth == 0 {
				return i, true
			}
		}
		i++
	}
	if depth == 0 && len(p.in)-p.at <= limit {
		return len(p.in), true
	}
	return 0, false
}

// str returns where the string that begins at i ends.
func (p *jsonPrinter) str(i int) int {
	for i++; i < len(p.in); i++ {
		switch p.in[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(p.in)
}

// unescape writes the characters beyond ASCII for their \u escapes.
func unescape(in []byte) []byte {
	if !bytes.Contains(in, []byte(`\u`)) {
		return in
	}
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' || i+1 >= len(in) {
			out = append(out, in[i])
			continue
		}
		if r, n := escaped(in[i:]); r >= 0xa0 {
			out = utf8.AppendRune(out, r)
			i += n - 1
			continue
		}
		out = append(out, in[i], in[i+1])
		i++
	}
	return out
}

// escaped returns the character that a \u escape, or a pair of them, stands
// for, and its length; else 0.
func escaped(in []byte) (r rune, n int) {
	unit := func(i int) rune {
		if len(in) < i+6 || in[i] != '\\' || in[i+1] != 'u' {
			return -1
		}
		u, err := strconv.ParseUint(string(in[i+2:i+6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(u)
	}
	u := unit(0)
	switch {
	case u < 0:
		return 0, 0
	case !utf16.IsSurrogate(u):
		return u, 6
	}
	if r := utf16.DecodeRune(u, unit(6)); r != utf8.RuneError {
		return r, 12
	}
	return 0, 0
}
