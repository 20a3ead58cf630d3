package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// folded is a text made comparable: lower case, without accents, white space
// and punctuation runs as one space, with the way back to the original.
type folded struct {
	text string
	at   []int // for each byte of text, the index in the original of what it came from
	end  int   // length of the original
}

func fold(s string) folded {
	f := folded{at: make([]int, 0, len(s)), end: len(s)}
	var b strings.Builder
	b.Grow(len(s))
	put := func(t string, i int) {
		b.WriteString(t)
		for range len(t) {
			f.at = append(f.at, i)
		}
	}
	space := true
	for i, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case unicode.IsLetter(r), unicode.IsNumber(r):
			put(foldRune(r), i)
			space = false
		default:
			if !space {
				put(" ", i)
			}
			space = true
		}
	}
	f.text = b.String()
	return f
}

// foldText is the text of fold.
func foldText(s string) string {
	b := make([]byte, 0, len(s))
	space := true
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			return fold(s).text
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			b, space = append(b, c), false
		case 'A' <= c && c <= 'Z':
			b, space = append(b, c|0x20), false
		case !space:
			b, space = append(b, ' '), true
		}
	}
	return string(b)
}

// foldRune returns r in lower case without its accents.
func foldRune(r rune) string {
	r = unicode.ToLower(r)
	switch {
	case r < 0xC0:
		return string(r)
	case r == 'ß':
		return "ss"
	case r == 'æ':
		return "ae"
	case r == 'œ':
		return "oe"
	case r == 'ё':
		return "е"
	case r == 'ς':
		return "σ"
	}
	for _, t := range accents {
		if i := int(r) - t.first; i >= 0 && i < len(t.base) {
			if c := t.base[i]; c != '.' {
				return string(rune(c))
			}
		}
	}
	if c, ok := greek[r]; ok {
		return string(c)
	}
	return string(r)
}

// accents gives the base letters of the Latin blocks, position by position;
// a dot stands for a letter that has none.
var accents = []struct {
	first int
	base  string
}{
	{0xE0, "aaaaaa.ceeeeiiii.nooooo.ouuuuy.y"},
	{0x100, "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkk.llllllllllnnnnnn...oooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"},
	{0x1A0, "oo"},
	{0x1AF, "uu"},
	{0x1CD, "aaiioouuuuuuuuuu.aaaa..ggggkkoooo..j...gg..nnaa..ooaaaaeeeeiiiioooorrrruuuusstt..hh......aaeeooooooooyy"},
	{0x1E00, "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwyas...." +
		"aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy"},
}

var greek = map[rune]rune{'ά': 'α', 'έ': 'ε', 'ή': 'η', 'ί': 'ι', 'ϊ': 'ι', 'ΐ': 'ι', 'ό': 'ο', 'ύ': 'υ', 'ϋ': 'υ', 'ΰ': 'υ', 'ώ': 'ω', 'й': 'и'}
