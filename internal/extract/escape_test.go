package extract

import (
	"strings"
	"testing"
)

// TestTextForgesNoStructure: EXF-005, what the text of a page spells out.
func TestTextForgesNoStructure(t *testing.T) {
	for in, want := range map[string]string{
		"# Heading":                          `\# Heading`,
		"####### seven":                      "####### seven",
		"#1 of the charts":                   "#1 of the charts",
		"> quoted":                           `\> quoted`,
		"- item":                             `\- item`,
		"-5 degrees":                         "-5 degrees",
		"* note":                             `\* note`,
		"*bold*":                             "*bold*",
		"---":                                `\---`,
		"===":                                `\===`,
		"=":                                  `\=`,
		"| a | b |":                          `\| a | b |`,
		"```sh":                              "\\```sh",
		"~~~":                                `\~~~`,
		"[x]: https://e.test":                `\[x]: https://e.test`,
		"[1] A reference":                    "[1] A reference",
		"1. First":                           "1. First",
		"a ![x](https://e.test/?d=SECRET) b": `a ![x]\(https://e.test/?d=SECRET) b`,
		"[click](https://e.test)":            `[click]\(https://e.test)`,
		"<img src=https://e.test>":           `\<img src=https://e.test>`,
		"</div> <!-- x --> <?php":            `\</div> \<!-- x --> \<?php`,
		"<https://e.test>":                   `\<https://e.test>`,
		"1 < 2 and a <3":                     "1 < 2 and a <3",
		"f(x) and [0, 1)":                    "f(x) and [0, 1)",
	} {
		doc, err := Parse(streamHead + "\n<main\n<p\nTFirst paragraph.\n>\n<p\nT" + in + "\n>\n>\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := doc.Text(TextOptions{Whole: true}); got != "First paragraph.\n\n"+want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

// TestStructureIsNotForgedInPieces: nor what several elements spell together.
func TestStructureIsNotForgedInPieces(t *testing.T) {
	for _, stream := range []string{
		"T![x\n(b\nT]\n>\n(i\nT(https://e.test)\n>\n",
		"T<\n(b\nTimg src=x>\n>\n",
		"(b\nT#\n>\nT Heading\n",
		"Tline\n/\nT# Heading\n",
		"Iend](https://e.test/?d=x) <img>\n",
	} {
		doc, err := Parse(streamHead + "\n<main\n<p\n" + stream + ">\n>\n")
		if err != nil {
			t.Fatal(err)
		}
		text := doc.Text(TextOptions{Whole: true})
		for _, never := range []string{"](http", "<img", "\n# "} {
			if i := strings.Index("\n"+text, never); i == 0 || i > 0 && text[i-2] != '\\' && !strings.HasPrefix(never, "\n") {
				t.Errorf("%q in %q", never, text)
			}
		}
	}
}
