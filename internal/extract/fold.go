package extract

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"
)

// folded is a text made comparable: lower case, without accents, white space
// and punctuation runs as one space, with the way back to the original.
type folded struct {
	text  string
	from  string // the original
	marks []mark // of the way back, one each markEvery bytes of text
}

// mark is a place where folding can be taken up again.
type mark struct {
	text, from int  // the next byte to be written, and the next one to be read
	space      bool // a space was written last, or nothing
}

// markEvery is how far apart marks are: few matches are traced back, so that is
// cheap to do, and a place for each byte would take eight times the text.
const markEvery = 1024

func fold(s string) folded {
	f := folder{from: s, space: true}
	f.text = make([]byte, 0, len(s))
	var marks []mark
	for f.at < len(s) {
		marks = append(marks, mark{len(f.text), f.at, f.space})
		f.run(len(f.text) + markEvery)
	}
	return folded{text: string(f.text), from: s, marks: marks}
}

// origin is the index in the original that an index in the folded text stands
// for: that of the character that it came from.
func (f *folded) origin(i int) int {
	if i >= len(f.text) {
		return len(f.from)
	}
	k, found := slices.BinarySearchFunc(f.marks, i, func(m mark, i int) int { return cmp.Compare(m.text, i) })
	if !found {
		k--
	}
	m := f.marks[k]
	again := folder{from: f.from, at: m.from, space: m.space}
	again.run(i - m.text + 1)
	return again.last
}

// folder folds from, from at on.
type folder struct {
	from  string
	at    int
	text  []byte
	space bool
	last  int // where the last byte written came from
	known [256]struct {
		r    rune
		text string
	}
}

// run folds until text has so many bytes, or to the end.
func (f *folder) run(limit int) {
	s, text, space, last := f.from, f.text, f.space, f.last
	i := f.at
	for i < len(s) && len(text) < limit {
		c := s[i]
		if c < utf8.RuneSelf {
			if c = asciiFold[c]; c != ' ' {
				text, space, last = append(text, c), false, i
			} else if !space {
				text, space, last = append(text, ' '), true, i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch folds := f.fold(r); folds {
		case "":
		case " ":
			if !space {
				text, space, last = append(text, ' '), true, i
			}
		default:
			text, space, last = append(text, folds...), false, i
		}
		i += size
	}
	f.at, f.text, f.space, f.last = i, text, space, last
}

// asciiFold is what ASCII folds to: a space, or itself in lower case.
var asciiFold = func() (to [utf8.RuneSelf]byte) {
	for c := range to {
		switch b := byte(c); {
		case 'a' <= b && b <= 'z', '0' <= b && b <= '9':
			to[c] = b
		case 'A' <= b && b <= 'Z':
			to[c] = b | 0x20
		default:
			to[c] = ' '
		}
	}
	return to
}()

// fold returns what r folds to: nothing, a space, or letters. It remembers what
// it was asked for: most texts are of few letters.
func (f *folder) fold(r rune) string {
	known := &f.known[r%rune(len(f.known))]
	if known.r != r {
		known.r = r
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
			known.text = ""
		case unicode.IsLetter(r), unicode.IsNumber(r):
			known.text = foldRune(r)
		default:
			known.text = " "
		}
	}
	return known.text
}

// foldText is the text of fold.
func foldText(s string) string {
	b := make([]byte, 0, len(s))
	space := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return fold(s).text
		}
		switch c := asciiFold[s[i]]; {
		case c != ' ':
			b, space = append(b, c), false
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
