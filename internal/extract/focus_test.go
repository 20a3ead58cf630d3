package extract

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// long-winded helpers for streams of pages large enough to be taken apart

func para(i int) string {
	return fmt.Sprintf("<p\nTParagraph %d says something that takes a while to read, with commas, and goes on to the end of a long line of text.\n>\n", i)
}

func paras(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(para(i))
	}
	return b.String()
}

func linkItems(name string, n int) string {
	var b strings.Builder
	b.WriteString("<ul\n")
	for i := range n {
		fmt.Fprintf(&b, "<li\n(a\thref=/%s/%d\nT%s %d\n>\n>\n", name, i, name, i)
	}
	b.WriteString(">\n")
	return b.String()
}

func TestFocus(t *testing.T) {
	article := "<div\n<h1\nTThe heading\n>\n" + paras(0, 20) + ">\n"
	for _, tt := range []struct {
		name       string
		stream     string
		has, lacks []string
	}{
		{
			name:   "landmarks around an article",
			stream: "<header\nTSite name\n>\n<nav\nTWhere to go\n>\n" + article + "<aside\nTBeside\n>\n<footer\nTImprint\n>\n",
			has:    []string{"# The heading", "Paragraph 0 ", "Paragraph 19 "},
			lacks:  []string{"Site name", "Where to go", "Beside", "Imprint"},
		},
		{
			name:   "menus and lists that are no landmarks",
			stream: linkItems("Menu", 12) + article + "<div\n<h3\nTFurther reading\n>\n" + linkItems("Related", 8) + ">\n",
			has:    []string{"Paragraph 0 ", "Paragraph 19 "},
			lacks:  []string{"Menu 3", "Related 3"},
		},
		{
			name:   "a small page is not taken apart",
			stream: "<nav\nTWhere to go\n>\n<p\nTText\n>\n<footer\nTImprint\n>\n",
			has:    []string{"Where to go", "Text", "Imprint"},
		},
		{
			name:   "navigation that is the page",
			stream: "<nav\n" + linkItems("Entry", 300) + ">\n<footer\nTImprint\n>\n",
			has:    []string{"Entry 0", "Entry 299"},
		},
		{
			name:   "a listing of cards stays whole",
			stream: "<h1\nTProducts\n>\n<div\n" + cards(60) + ">\n",
			has:    []string{"# Products", "Thing 0", "€0\nIn stock here", "Thing 59", "€59\nIn stock here"},
		},
		{
			name:   "a section of the article that is linked stays",
			stream: "<div\n<h1\nTThe heading\n>\n" + paras(0, 10) + "<h2\nTSee also the notes\n>\n<p\n(a\thref=/n\nTthe notes\n>\nT, which are short.\n>\n" + paras(10, 20) + ">\n",
			has:    []string{"See also", "the notes, which", "Paragraph 19 "},
		},
		{
			name:   "the heading comes back when it stands outside",
			stream: "<div\n<div\n<h1\nTThe heading\n>\n<div\nTshare this\n>\n>\n<div\n" + paras(0, 20) + ">\n<div\n" + paras(30, 32) + ">\n>\n",
			has:    []string{"# The heading", "Paragraph 0 ", "Paragraph 19 "},
		},
		{
			name:   "text in two forms for two sizes of screen stands once",
			stream: "<div\n<h1\nTThe heading\n>\n" + para(77) + paras(0, 15) + para(77) + ">\n",
			has:    []string{"Paragraph 77 "},
		},
		{
			name:   "rows of a table may repeat",
			stream: "<h1\nTThe heading\n>\n<table\n" + strings.Repeat("<tr\n<td\nTthe very same long text in each of the rows\n>\n<td\nT1\n>\n>\n", 60) + ">\n",
			has:    []string{strings.Repeat("| the very same long text in each of the rows | 1 |\n", 20)},
		},
		{
			name:   "a heading outranks the link to it",
			stream: linkItems("Contents", 3) + "<p\n(a\thref=#s\nTA chapter with a rather long name\n>\n>\n<h1\nTThe heading\n>\n<h2\nTA chapter with a rather long name\n>\n" + paras(0, 20),
			has:    []string{"## A chapter with a rather long name"},
		},
		{
			name: "pictures go with the text around them",
			stream: "<div\nIBanner of the shop\n>\n" + linkItems("Menu", 12) + "<div\n<h1\nTThe heading\n>\n" + paras(0, 10) +
				"<div\nIA chart of the tides\n>\n" + paras(10, 20) + ">\n<div\n<a\thref=/x\nTOther page\n>\nIThumbnail of it\n>\n<footer\nTImprint\nISeal of trust\n>\n",
			has:   []string{"![A chart of the tides]", "Paragraph 19 "},
			lacks: []string{"Banner", "Thumbnail", "Seal of trust"},
		},
		{
			name:   "a heading goes with what it is about",
			stream: "<div\n<h1\nTThe heading\n>\n" + paras(0, 10) + "<h2\nTLogin\n>\n" + paras(10, 20) + ">\n",
			has:    []string{"## Login\n\nParagraph 10 "},
		},
		{
			name:   "what the page says it is about is never text",
			stream: "<h1\nTThe heading\n>\n" + paras(0, 20),
			has:    []string{"Paragraph 0 "},
			lacks:  []string{"NewsArticle", "Described as"},
		},
		{
			name:   "an article without a heading",
			stream: "<div\nTHome\n>\n" + paras(0, 20) + "<div\nTend\n>\n",
			has:    []string{"Paragraph 0 ", "Paragraph 19 "},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := parse(t, strings.Split(strings.TrimSuffix("=title The heading - Site\n=about NewsArticle og:article\n=description Described as\n"+tt.stream, "\n"), "\n")...)
			text := d.Text(TextOptions{})
			for _, s := range tt.has {
				if !strings.Contains(text, s) {
					t.Errorf("lacks %q in:\n%s", s, text)
				}
			}
			for _, s := range tt.lacks {
				if strings.Contains(text, s) {
					t.Errorf("has %q in:\n%s", s, text)
				}
			}
			if strings.Count(text, "Paragraph 77 ") > 1 {
				t.Errorf("repeated text in:\n%s", text)
			}
		})
	}
}

func cards(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<div\n<h3\n(a\thref=/%d\nTThing %d\n>\n>\n<div\nT€%d\n>\n<div\nTIn stock here, sent tomorrow before noon\n>\n>\n", i, i, i)
	}
	return b.String()
}

// A hostile page of the largest size is rendered in bounded time and space.
func BenchmarkTextOfHugePage(b *testing.B) {
	for name, unit := range map[string]string{
		"paragraphs": "<div\n<p\nTSome words that are repeated\n>\n>\n",
		"links":      "<div\n(a\thref=/x\n<div\nTx\n>\n>\n>\n",
		"images":     "<div\nIAn image\nTx\n>\n",
		"nested":     strings.Repeat("<div\n", 50) + "Tx\n" + strings.Repeat(">\n", 50),
		"tables":     "<table\n<tr\n<td\nTa\n>\n<td\tcols=1000\trows=1000\nTb\n>\n>\n<tr\n<td\nTc\n>\n>\n>\n",
		"rows":       "<tr\n<td\trows=1000\nTa\n>\n<td\nTb\n>\n>\n",
		"quotes":     strings.Repeat("<blockquote\n", 30) + "Tx\n" + strings.Repeat(">\n", 30),
	} {
		stream := strings.Repeat(unit, 300_000/strings.Count(unit, "\n"))
		if name == "rows" {
			stream = "<table\n" + stream + ">\n"
		}
		d := parse(b, strings.Split(strings.TrimSuffix(stream, "\n"), "\n")...)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				d.Text(TextOptions{})
				d.Links("page.example")
			}
		})
	}
}

// TestMemoryOfHugePage: what a page of 250,000 nodes takes from the stream to
// its text is bounded: twice what was seen, and some.
func TestMemoryOfHugePage(t *testing.T) {
	var b strings.Builder
	b.WriteString("bellglass-page 1\n")
	for i := range 125_000 {
		fmt.Fprintf(&b, "<p\nTline %d\n>\n", i)
	}
	stream := b.String()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := Parse(stream)
	if err != nil {
		t.Fatal(err)
	}
	text := d.Text(TextOptions{})
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 300 {
		t.Errorf("%d MB were allocated", n)
	} else {
		t.Logf("%d MB were allocated for %d characters", n, len(text))
	}
}
