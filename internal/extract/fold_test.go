package extract

import (
	"testing"
	"unicode"
)

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"Crème  Brûlée":   "creme brulee",
		"ŁÓDŹ žluťoučký":  "lodz zlutoucky",
		"Tiếng Việt":      "tieng viet",
		"Straße, GROSS!":  "strasse gross ",
		"Ελλάδα ς":        "ελλαδα σ",
		"e\u0301te\u0301": "ete",
		"price: €12.50":   "price 12 50",
		"山田 2026":         "山田 2026",
	} {
		if got := fold(in).text; got != want {
			t.Errorf("fold(%q): got %q, want %q", in, got, want)
		}
	}
}

// The tables must agree with the Unicode names as far as the standard library
// can tell: a base letter and its accented form have the same case folding.
func TestAccentTablesHoldLetters(t *testing.T) {
	for _, a := range accents {
		for i := range a.base {
			if r := rune(a.first + i); a.base[i] != '.' && !unicode.IsLetter(r) {
				t.Errorf("%U is no letter, but has base %c", r, a.base[i])
			}
		}
	}
}
