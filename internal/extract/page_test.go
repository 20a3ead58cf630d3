package extract

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPage(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for _, tt := range []struct {
		name          string
		text          string
		offset, limit int
		want          Cut
	}{
		{"all of it", "abc", 0, 3, Cut{Text: "abc", Total: 3}},
		{"counts code points", "äöü漢", 0, 4, Cut{Text: "äöü漢", Total: 4}},
		{"one too many", "äöü漢字", 0, 4, Cut{Text: "äöü漢", Total: 5, Next: 4, Truncated: true}},
		{"the rest", "äöü漢字", 4, 4, Cut{Text: "字", Offset: 4, Total: 5}},
		{"at the end", "abc", 3, 5, Cut{Offset: 3, Total: 3}},
		{"past the end", "abc", 9, 5, Cut{Offset: 9, Total: 3}},
		{"before the start", "abc", -4, 5, Cut{Text: "abc", Total: 3}},
		{"empty", "", 0, 5, Cut{}},
		{"no room", "abc", 0, 0, Cut{Total: 3, Truncated: true}},
		{"at a word", long, 0, 28, Cut{Text: strings.Repeat("word ", 5), Total: 150, Next: 25, Truncated: true}},
		{"at a paragraph", "One two three.\n\nFour five six seven", 0, 18, Cut{Text: "One two three.\n\n", Total: 35, Next: 16, Truncated: true}},
		{"at a line", "| a | b |\n| c | d |\n| e | f |", 0, 22, Cut{Text: "| a | b |\n| c | d |\n", Total: 29, Next: 20, Truncated: true}},
		{"before a combining mark", "aaaae\u0301", 0, 5, Cut{Text: "aaaa", Total: 6, Next: 4, Truncated: true}},
		{"before an emoji family", "aaaa👨\u200d👩\u200d👧", 0, 6, Cut{Text: "aaaa", Total: 9, Next: 4, Truncated: true}},
		{"between flags", "🇩🇪🇫🇷🇮🇹", 0, 3, Cut{Text: "🇩🇪", Total: 6, Next: 2, Truncated: true}},
		{"before CR LF", "abc\r\n", 0, 4, Cut{Text: "abc", Total: 5, Next: 3, Truncated: true}},
		{"only marks", strings.Repeat("\u0301", 50), 0, 40, Cut{Text: strings.Repeat("\u0301", 40), Total: 50, Next: 40, Truncated: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Page(tt.text, tt.offset, tt.limit); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// Joined pages are the whole text, at the budget and one on either side of it.
func TestPagesJoin(t *testing.T) {
	unit := []rune("港a𠮷é👨\u200d👩ぽ")
	for _, n := range []int{11999, 12000, 12001, 30000} {
		var b strings.Builder
		for i := range n {
			b.WriteRune(unit[i%len(unit)])
		}
		text := b.String()
		if got := Page(text, 0, 12000).Truncated; got != (n > 12000) {
			t.Errorf("%d characters: truncated is %v", n, got)
		}
		if got := join(t, text, 5000); got != text {
			t.Errorf("%d characters: joined pages differ", n)
		}
	}
}

func TestFenceIsClosedAndOpenedAgain(t *testing.T) {
	text := "Intro\n\n````go\n" + strings.Repeat("a line of code\n", 20) + "````\n\nEnd"
	seen := ""
	for offset := 0; ; {
		c := Page(text, offset, 100)
		if strings.Count(c.Text, "````")%2 != 0 {
			t.Errorf("fences do not pair up in:\n%s", c.Text)
		}
		if n := utf8.RuneCountInString(c.Text); n > 100 {
			t.Errorf("%d characters, want at most 100", n)
		}
		if offset > 0 && c.Next > 0 && !strings.HasPrefix(c.Text, "````go\n") {
			t.Errorf("code is not opened again in:\n%s", c.Text)
		}
		seen += c.Text
		if offset = c.Next; offset == 0 {
			break
		}
	}
	if got := strings.Count(seen, "a line of code"); got != 20 {
		t.Errorf("got %d lines of code, want 20", got)
	}
}

// join puts pages together, without the fences that Page added.
func join(t *testing.T, text string, limit int) string {
	t.Helper()
	var b strings.Builder
	runes := []rune(text)
	for offset, n := 0, 0; ; n++ {
		c := Page(text, offset, limit)
		end := c.Next
		if end == 0 {
			end = len(runes)
		}
		if end <= offset && offset < len(runes) {
			t.Fatalf("no progress at %d: %+v", offset, c)
		}
		piece := string(runes[min(offset, len(runes)):end])
		if !strings.Contains(c.Text, piece) {
			t.Fatalf("page at %d does not hold its text: %q, want %q", offset, c.Text, piece)
		}
		b.WriteString(piece)
		if c.Next == 0 {
			return b.String()
		}
		offset = c.Next
	}
}

func FuzzPage(f *testing.F) {
	f.Add("a\n```go\ncode\ncode\n```\nb", 7)
	f.Add("👨\u200d👩\u200d👧🇩🇪\r\nक्ष", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if !utf8.ValidString(text) || len(text) > 5000 || limit < 1 {
			t.Skip()
		}
		if got := join(t, text, limit); got != text {
			t.Errorf("joined pages: got %q, want %q", got, text)
		}
	})
}

func BenchmarkPage(b *testing.B) {
	var s strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&s, "Paragraph %d with some words in it.\n\n", i)
	}
	for b.Loop() {
		Page(s.String(), 600_000, 12_000)
	}
}
