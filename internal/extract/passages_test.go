package extract

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPassages(t *testing.T) {
	filler := strings.Repeat("Nothing of interest stands in this line of the page.\n", 100)
	text := "# Head\n\n" + filler + "The Crème  Brûlée costs 7.50 euro.\n" + filler + "Opening hours: daily from nine.\n" + filler
	for _, tt := range []struct {
		name, query string
		has, lacks  []string
	}{
		{"accents and case", "creme brulee", []string{"costs 7.50", "[… at "}, []string{"Opening", "# Head"}},
		{"white space", "Crème\n Brûlée", []string{"costs 7.50"}, []string{"Opening"}},
		{"one word", "opening", []string{"daily from nine"}, []string{"costs"}},
		{"words apart", "euro nine", []string{"costs 7.50", "daily from nine"}, nil},
		{"punctuation", "hours: daily", []string{"from nine"}, nil},
		{"no match", "zebra", []string{"[no match", "# Head"}, []string{"costs"}},
		{"empty", " ", []string{"[no match", "# Head"}, nil},
		{"inside a word only", "aily", []string{"[no match"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Passages(text, tt.query, 1500)
			for _, s := range tt.has {
				if !strings.Contains(c.Text, s) {
					t.Errorf("lacks %q in:\n%s", s, c.Text)
				}
			}
			for _, s := range tt.lacks {
				if strings.Contains(c.Text, s) {
					t.Errorf("has %q in:\n%s", s, c.Text)
				}
			}
			if n := utf8.RuneCountInString(c.Text); n > 1500 {
				t.Errorf("%d characters, want at most 1500", n)
			}
			if c.Total != utf8.RuneCountInString(text) {
				t.Errorf("total %d", c.Total)
			}
		})
	}
}

// An offset that a passage names leads Page to that passage.
func TestPassageOffsetsWork(t *testing.T) {
	text := strings.Repeat("äöü filler words here.\n", 200) + "needle in the text\n" + strings.Repeat("more filler.\n", 200)
	c := Passages(text, "needle", 400)
	if p := Page(text, c.Offset, 700); !strings.Contains(p.Text, "needle") {
		t.Errorf("offset %d leads to %q", c.Offset, p.Text)
	}
}

func TestPassagesFindScriptsWithoutSpaces(t *testing.T) {
	text := strings.Repeat("何もない。", 400) + "図書館は九時に開きます。" + strings.Repeat("何もない。", 400)
	if c := Passages(text, "図書館", 300); !strings.Contains(c.Text, "図書館は九時") {
		t.Errorf("got %q", c.Text)
	}
}

func FuzzPassages(f *testing.F) {
	f.Add("one two three", "two", 20)
	f.Add("Straße\nÉté", "strasse ete", 50)
	f.Fuzz(func(t *testing.T, text, query string, limit int) {
		if !utf8.ValidString(text) || limit > 1e6 {
			t.Skip()
		}
		c := Passages(text, query, limit)
		if !utf8.ValidString(c.Text) {
			t.Errorf("not UTF-8: %q", c.Text)
		}
		if n := utf8.RuneCountInString(c.Text); limit > 100 && n > limit {
			t.Errorf("%d characters, want at most %d", n, limit)
		}
	})
}
