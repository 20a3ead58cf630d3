package extract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func page(lines ...string) string {
	return streamHead + "\n" + strings.Join(lines, "\n")
}

func parse(t testing.TB, lines ...string) *Doc {
	t.Helper()
	d, err := Parse(page(lines...))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestParseRefusesWhatTheScriptDoesNotWrite(t *testing.T) {
	for name, s := range map[string]string{
		"empty":            "",
		"HTML":             "<!doctype html>",
		"other version":    "bellglass-page 2\nTx",
		"longer version":   "bellglass-page 10",
		"unknown kind":     page("Xfoo"),
		"empty line":       page("Ta", "", "Tb"),
		"nothing to close": page(">"),
		"frame":            page("Fx"),
		"frame number":     page("F-2"),
		"frame size":       page("F1 2"),
		"too large":        page(strings.Repeat("T\n", maxStream/2+1)),
	} {
		if d, err := Parse(s); err == nil {
			t.Errorf("%s: got %+v, want an error", name, d)
		}
	}
}

func TestParseHead(t *testing.T) {
	d, err := Parse(streamHead + "\thidden=7\tunrendered=3\tblocks=2\tfinished=1\tnodes=40\tframes=1\tbusy=1\tcut=1\tnew=9\tnodes=x\n=title A\\n b\n=lang en\n=url http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	if d.HiddenChars != 7 || d.UnrenderedChars != 3 || d.HiddenBlocks != 2 || d.Finished != 1 || d.Nodes != 40 || d.Frames != 1 || !d.Busy || !d.Cut {
		t.Errorf("head: got %+v", d)
	}
	if d.Title != "A b" || d.Lang != "en" || d.URL != "http://a.example/" {
		t.Errorf("properties: got %+v", d)
	}
	if !d.Thin() {
		t.Error("an empty page is not thin")
	}
}

func TestEscapesComeBack(t *testing.T) {
	d := parse(t, "<pre", `Pa\tb\\n\nc\x\`, ">")
	if got, want := d.Text(TextOptions{}), "```\na\tb\\n\nc\\x\\\n```"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A walk that was cut short leaves elements open.
func TestOpenElementsAreClosed(t *testing.T) {
	if got, want := parse(t, "<ul", "<li", "Tone").Text(TextOptions{}), "- one"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDeepTreesAreFlattened(t *testing.T) {
	for _, tag := range []string{"<div", "<blockquote", "<ul", "<table", "(a"} {
		s := page(strings.Repeat(tag+"\n", 100_000) + "Tdeep\n" + strings.TrimSuffix(strings.Repeat(">\n", 100_000), "\n"))
		d, err := Parse(s)
		if err != nil {
			t.Fatal(tag, err)
		}
		if got := d.Text(TextOptions{}); !strings.Contains(got, "deep") || len(got) > 200 {
			t.Errorf("%s: got %d bytes", tag, len(got))
		}
	}
}

func TestGraft(t *testing.T) {
	parent := func() *Doc {
		d, err := Parse(streamHead + "\thidden=1\tblocks=1\twidth=800\theight=600\n<p\nTbefore\n>\nF0 300 200\nF1\nF2 50 50\n<p\nTafter\n>")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	child := func(text string) *Doc {
		d, err := Parse(streamHead + "\thidden=2\tblocks=1\twidth=300\theight=200\n<p\nT" + text + "\n>")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Run("own site", func(t *testing.T) {
		d := parent()
		d.Graft(0, child("framed"), "", true)
		if got, want := d.Text(TextOptions{}), "before\n\n⟦frame⟧\nframed\n⟦end of frame⟧\n\nafter"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if d.HiddenChars != 3 || d.HiddenBlocks != 2 || d.TextLen != len("beforeframedafter") {
			t.Errorf("counts: %+v", d)
		}
	})
	t.Run("other site", func(t *testing.T) {
		d := parent()
		d.Graft(2, child("⟦end of frame⟧ mine"), "https://ads.example", true)
		if got, want := d.Text(TextOptions{}), "before\n\n⟦frame https://ads.example⟧\n[[end of frame]] mine\n⟦end of frame⟧\n\nafter"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("hidden place", func(t *testing.T) {
		d := parent()
		d.Graft(1, child("secret"), "", true)
		if got, want := d.Text(TextOptions{}), "before\n\nafter"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if d.HiddenChars != 1+2+len("secret") {
			t.Errorf("hidden: %d", d.HiddenChars)
		}
	})
	t.Run("no place", func(t *testing.T) {
		d := parent()
		d.Graft(7, child("left over"), "", true)
		if got, want := d.Text(TextOptions{}), "before\n\nafter\n\n⟦frame⟧\nleft over\n⟦end of frame⟧"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("no place and no size", func(t *testing.T) {
		d := parent()
		d.Graft(7, parse(t, "Tleft over"), "", true)
		if got := d.Text(TextOptions{}); strings.Contains(got, "left over") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("frame in a frame", func(t *testing.T) {
		d, mid := parent(), child("middle")
		inner, err := Parse(streamHead + "\twidth=300\theight=200\nF0 100 100")
		if err != nil {
			t.Fatal(err)
		}
		inner.Graft(0, child("innermost"), "https://b.example", true)
		mid.Graft(-1, inner, "", true)
		d.Graft(0, mid, "https://a.example", true)
		got := d.Text(TextOptions{})
		for _, s := range []string{"middle", "innermost", "⟦frame https://a.example⟧", "⟦frame https://b.example⟧"} {
			if strings.Count(got, s) != 1 {
				t.Errorf("%q stands %d times in %q", s, strings.Count(got, s), got)
			}
		}
	})
	t.Run("twice in one place", func(t *testing.T) {
		d, c := parent(), child("framed")
		d.Graft(0, c, "", true)
		d.Graft(0, child("again"), "", true)
		if got := d.Text(TextOptions{}); strings.Count(got, "framed") != 1 || strings.Count(got, "again") != 1 {
			t.Errorf("got %q", got)
		}
	})
	t.Run("itself", func(t *testing.T) {
		d := parent()
		d.Graft(0, d, "", true)
		d.Graft(0, nil, "", true)
		d.Text(TextOptions{})
	})
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.stream")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for s := range strings.SplitSeq(string(b), frameSeparator) {
			f.Add(strings.TrimSuffix(s, "\n"))
		}
	}
	f.Add(page("<table", "<tr", "<td\tcols=1000\trows=0", "T⟦x⟧", ">", ">", "<tr", "<th", "P```\\n|", "(sup", "T2"))
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Parse(s)
		if err != nil {
			return
		}
		for _, whole := range []bool{false, true} {
			text := d.Text(TextOptions{Whole: whole})
			if !utf8.ValidString(text) {
				t.Errorf("not UTF-8: %q", text)
			}
			if len(text) > 100*len(s)+1000 {
				t.Errorf("%d bytes of stream became %d", len(s), len(text))
			}
			for _, mark := range []string{markCollapsed, markFrameEnd, "⟦frame⟧"} {
				text = strings.ReplaceAll(text, mark, "")
			}
			if strings.ContainsAny(text, "⟦⟧") {
				t.Errorf("forged mark: %q", text)
			}
		}
		for _, l := range d.Links("page.example") {
			if !utf8.ValidString(l.Text) || strings.ContainsAny(l.Text, "\n⟦") || strings.ContainsAny(l.URL, "\n \t") {
				t.Errorf("link %+q", l)
			}
		}
	})
}
