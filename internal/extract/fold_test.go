package extract

import (
	"strings"
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

// foldSlowly is what fold says, a character at a time, with the way back for
// each byte.
func foldSlowly(s string) (text string, at []int) {
	space := true
	for i, r := range s {
		piece := " "
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
			continue
		case unicode.IsLetter(r), unicode.IsNumber(r):
			piece = foldRune(r)
		case space:
			continue
		}
		space = piece == " "
		text += piece
		for range len(piece) {
			at = append(at, i)
		}
	}
	return text, append(at, len(s))
}

// TestFoldLeadsBack: each byte of a folded text is led back to the character it
// came from, wherever the marks fall.
func TestFoldLeadsBack(t *testing.T) {
	t.Parallel()
	piece := "Crème  Brûlée — STRASSE straße, e\u0301te\u0301 \xff\u00ad山田 2026 Ελλάδα ς " + strings.Repeat(" ", 70) + "a.b"
	for n := range 60 {
		checkFold(t, strings.Repeat("x", n)+strings.Repeat(piece, n))
	}
}

func FuzzFold(f *testing.F) {
	f.Add("Crème  Brûlée \xffß", uint16(300))
	f.Add("..", uint16(3000))
	f.Fuzz(func(t *testing.T, s string, times uint16) {
		if len(s) < 1000 {
			checkFold(t, strings.Repeat(s, min(int(times), 5000/(len(s)+1))))
		}
	})
}

func checkFold(t *testing.T, s string) {
	t.Helper()
	text, at := foldSlowly(s)
	f := fold(s)
	if f.text != text {
		t.Fatalf("fold(%q): got %q, want %q", s, f.text, text)
	}
	for i := range at {
		if got := f.origin(i); got != at[i] {
			t.Fatalf("%q: byte %d is led back to %d, want %d", s, i, got, at[i])
		}
	}
}

func BenchmarkPassages(b *testing.B) {
	for name, piece := range map[string]string{
		"latin":    "Nothing of interest stands in this line of the page, No. 17.\n",
		"accents":  "Ičs die Größe und été: naïve façade, Łódź, cœur – 12,50 €.\n",
		"cyrillic": "Съешь же ещё этих мягких французских булок, да выпей чаю.\n",
		"cjk":      "图书馆每天九点开门,星期一休息。図書館は九時に開きます。\n",
	} {
		text := strings.Repeat(piece, (9<<20)/len(piece)) + "the needle in it\n"
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if c := Passages(text, "needle", 12_000); !strings.Contains(c.Text, "needle") {
					b.Fatal("not found")
				}
			}
		})
	}
}
