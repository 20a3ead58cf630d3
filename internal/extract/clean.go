package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean removes from s what nobody can see but a model reads: control
// characters other than tab and line feed, bidirectional controls, tag
// characters, fillers, private-use characters and noncharacters, variation
// selectors and joiners where the script around them has no use for them,
// and combining marks stacked higher than any writing needs. Bytes that are
// not UTF-8 become U+FFFD. CR LF, CR and the Unicode line separators become
// line feeds. The marks this package writes itself, ⟦ and ⟧, become [[ and ]].
//
// Cleaning twice changes nothing more.
func Clean(s string) string {
	var c cleaner
	return c.clean(s)
}

// clean cleans s as the continuation of what c cleaned before.
func (c *cleaner) clean(s string) string {
	if plain(s) {
		if s != "" {
			c.prev, c.marks = rune(s[len(s)-1]), 0
		}
		return s
	}
	c.b.Reset()
	c.b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			for i+size < len(s) && invalidAt(s[i+size:]) {
				size++
			}
		}
		i += size
		i += c.put(r, s[i:])
	}
	return c.b.String()
}

// plain reports that s is printable ASCII, tabs and line feeds.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if b := s[i]; b >= 0x7f || b < ' ' && b != '\n' && b != '\t' {
			return false
		}
	}
	return true
}

func invalidAt(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return r == utf8.RuneError && size == 1
}

// maxMarks is the most nonspacing marks kept on one base. Tibetan and Hebrew
// with cantillation reach five.
const maxMarks = 6

type cleaner struct {
	b     strings.Builder
	prev  rune // last rune written
	marks int  // nonspacing marks since the last base
}

// put writes r, if it stays, and returns how many bytes of next it used up.
func (c *cleaner) put(r rune, next string) int {
	switch {
	case r == '\t' || r == '\n' || r >= ' ' && r < 0x7f:
		c.write(r)
	case r == '\r':
		c.write('\n')
		if strings.HasPrefix(next, "\n") {
			return 1
		}
	case r == 0x85 || r == 0x2028 || r == 0x2029:
		c.write('\n')
	case r == '\v' || r == '\f' || r == 0x2800:
		c.write(' ') // a Braille blank is a space
	case r == '⟦':
		c.b.WriteByte('[')
		c.write('[')
	case r == '⟧':
		c.b.WriteByte(']')
		c.write(']')
	case r == 0x200C || r == 0x200D:
		if c.joins(r, next) {
			c.write(r)
		}
	case r == 0xFE0E || r == 0xFE0F:
		if pictographic(c.prev) || keycap(c.prev) {
			c.write(r)
		}
	case r >= 0x180B && r <= 0x180F && unicode.IsLetter(c.prev) && unicode.Is(unicode.Mongolian, c.prev):
		c.write(r) // chooses the form of a Mongolian letter
	case r == 0x1F3F4:
		c.write(r)
		return c.flag(next)
	case invisible(r):
	case unicode.In(r, unicode.Mn, unicode.Me):
		if c.marks++; c.marks <= maxMarks {
			c.prev = r
			c.b.WriteRune(r)
		}
	default:
		c.write(r)
	}
	return 0
}

func (c *cleaner) write(r rune) {
	c.b.WriteRune(r)
	c.prev = r
	if r != 0x200C && r != 0x200D && r != 0xFE0E && r != 0xFE0F {
		c.marks = 0
	}
}

// flag keeps the tag sequences of the three flags that have one.
func (c *cleaner) flag(next string) int {
	for _, code := range []string{"gbeng", "gbsct", "gbwls"} {
		var tags strings.Builder
		for _, r := range code {
			tags.WriteRune(0xE0000 + r)
		}
		tags.WriteRune(0xE007F)
		if strings.HasPrefix(next, tags.String()) {
			c.b.WriteString(tags.String())
			c.prev = 0xE007F
			return tags.Len()
		}
	}
	return 0
}

// joins reports that a joiner (U+200C, U+200D) between the last rune written
// and what follows does something a reader sees.
func (c *cleaner) joins(r rune, next string) bool {
	after, _ := utf8.DecodeRuneInString(next)
	if unicode.Is(virama, c.prev) {
		return true
	}
	if unicode.In(c.prev, joining...) && unicode.IsLetter(after) && unicode.In(after, joining...) {
		return true
	}
	if unicode.IsLetter(c.prev) && unicode.In(c.prev, joining...) && unicode.Is(virama, after) { // Bengali: ra before ya
		return true
	}
	emoji := pictographic(c.prev) || c.prev == 0xFE0F || c.prev >= 0x1F3FB && c.prev <= 0x1F3FF
	return r == 0x200D && emoji && pictographic(after)
}

// joining are the scripts in which joiners shape letters.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic, unicode.Adlam, unicode.Hanifi_Rohingya,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Myanmar, unicode.Khmer, unicode.Tibetan,
}

// virama are the signs after which a joiner chooses the form of a conjunct.
var virama = &unicode.RangeTable{R16: []unicode.Range16{
	{0x094D, 0x0D4D, 0x80}, // Devanagari to Malayalam, one a block
	{0x0DCA, 0x0DCA, 1}, {0x1039, 0x103A, 1}, {0x17D2, 0x17D2, 1},
}}

// pictographic reports that r can start or continue an emoji.
func pictographic(r rune) bool {
	switch {
	case r < 0xA9:
		return false
	case r == 0xA9 || r == 0xAE || r == 0x203C || r == 0x2049 || r == 0x2122 || r == 0x2139 || r == 0x3030 || r == 0x303D || r == 0x3297 || r == 0x3299:
		return true
	case r >= 0x2190 && r <= 0x21FF, r >= 0x2300 && r <= 0x23FF, r >= 0x24C2 && r <= 0x27BF, r >= 0x2900 && r <= 0x297F, r >= 0x2B00 && r <= 0x2BFF:
		return true
	}
	return r >= 0x1F000 && r <= 0x1FAFF && !(r >= 0x1F3FB && r <= 0x1F3FF)
}

func keycap(r rune) bool { return r >= '0' && r <= '9' || r == '#' || r == '*' }

// invisible reports runes that are never kept.
func invisible(r rune) bool {
	switch {
	case r < 0xA0: // C0, DEL, C1
		return true
	case r >= 0xE000 && r <= 0xF8FF, r >= 0xF0000: // private use, planes 15 and 16
		return true
	case r >= 0xFDD0 && r <= 0xFDEF, r&0xFFFE == 0xFFFE: // noncharacters
		return true
	case r >= 0xE0000 && r <= 0xE0FFF: // tags, variation selectors, reserved
		return true
	}
	return unicode.Is(blank, r)
}

// blank are the other characters without a glyph: soft hyphen, grapheme
// joiner, bidirectional controls, fillers, zero-width characters, invisible
// operators, deprecated and annotation controls, the object replacement.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00AD, 0x00AD, 1}, {0x034F, 0x034F, 1}, {0x061C, 0x061C, 1}, {0x115F, 0x1160, 1}, {0x17B4, 0x17B5, 1}, {0x180B, 0x180F, 1},
		{0x200B, 0x200B, 1}, {0x200E, 0x200F, 1}, {0x202A, 0x202E, 1}, {0x2060, 0x206F, 1}, {0x3164, 0x3164, 1}, {0xFE00, 0xFE0D, 1},
		{0xFEFF, 0xFEFF, 1}, {0xFFA0, 0xFFA0, 1}, {0xFFF0, 0xFFFC, 1},
	},
	R32:         []unicode.Range32{{0x1BCA0, 0x1BCA3, 1}, {0x1D173, 0x1D17A, 1}},
	LatinOffset: 1,
}

// isLine reports that s is printable ASCII in words with single spaces between.
func isLine(s string) bool {
	prev := byte(' ')
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f || s[i] == ' ' && prev == ' ' {
			return false
		}
		prev = s[i]
	}
	return prev != ' ' || s == ""
}

// Line makes s one clean line: white space collapsed, ends trimmed, at most
// limit code points, the last of them … when something was cut.
func Line(s string, limit int) string {
	if limit <= 0 {
		return ""
	}
	if !isLine(s) {
		s = strings.Join(strings.Fields(Clean(s)), " ")
	}
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimRight(s[:clusterStart(s, skip(s, 0, limit-1))], " ") + "…"
}
