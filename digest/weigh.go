package digest

import (
	"unicode"
	"unicode/utf8"
)

// maxWeight is about how many tokens (of o200k) a digest takes at most. Lines
// full of numbers take a third more of them a byte than words do, so a limit
// on bytes alone does not hold 2,250.
const maxWeight = 2150

// weigh estimates the tokens of s: one for some seven Latin letters in a row,
// three of other alphabets, three digits and a space before them, two other
// signs, a line's end, and a sign of a script that writes words without
// spaces. On digests of shops, forms and registers it is within a tenth of
// what the tokenizer counts.
func weigh(s string) int {
	n := 0
	for i := 0; i < len(s); {
		kind, end := kindOf(s[i:]), i
		count := 0
		for end < len(s) && kindOf(s[end:]) == kind {
			_, size := utf8.DecodeRuneInString(s[end:])
			end += size
			count++
		}
		switch kind {
		case letters:
			n += (count + 6) / 7
		case line:
			n += count
		case foreign:
			n += (count + 2) / 3
		case digit:
			n += (count + 2) / 3
			if i > 0 && s[i-1] == ' ' {
				n++
			}
		case sign:
			n += (count + 1) / 2
		case other:
			n += count
		}
		i = end
	}
	return n
}

const (
	blank = iota // belongs to what follows
	line
	letters
	foreign
	digit
	sign
	other
)

func kindOf(s string) int {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case r == ' ':
		return blank
	case r == '\n':
		return line
	case r >= '0' && r <= '9':
		return digit
	case r < utf8.RuneSelf && unicode.IsLetter(r), unicode.Is(unicode.Latin, r):
		return letters
	case r < utf8.RuneSelf:
		return sign
	case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Arabic, unicode.Hebrew, unicode.Devanagari, unicode.Armenian, unicode.Georgian):
		return foreign
	}
	return other
}
