package plain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellglass/bellglass/internal/extract"
)

// unseen are the ways to hide text that cannot be told without layout, scripts
// or frames, and those to show it that need one of these. The result says so:
// hidden_chars is null. A way that is recognised must not stand here.
var unseen = map[string]string{
	"HID-021c oklch":                      "colour spaces besides RGB",
	"HID-021d color-mix":                  "colour spaces besides RGB",
	"HID-023b clip text white gradient":   "what is drawn as a background",
	"HID-025e path":                       "shapes",
	"HID-025g polygon far":                "shapes",
	"HID-025i inset calc":                 "calculations",
	"HID-030b negative margin clip":       "layout",
	"HID-031 covered":                     "layout",
	"HID-044 svg text fill none":          "SVG",
	"HID-046b closed slot opacity":        "scripts",
	"HID-046c unslotted":                  "scripts",
	"mask transparent":                    "masks",
	"mask size 0":                         "masks",
	"backface":                            "3D transforms",
	"backface parent":                     "3D transforms",
	"perspective far":                     "3D transforms",
	"word clip ellipsis":                  "layout",
	"line clamp":                          "layout",
	"br in hidden":                        "layout",
	"first-line zero":                     "layout",
	"selection of blank font":             "fonts",
	"behind z-index -1":                   "layout",
	"marquee off":                         "layout",
	"abs below clip in auto scroller neg": "layout",
	"animation infinite invisible":        "animations",
	"transition":                          "scripts",
	"modal":                               "scripts",
	"popover":                             "scripts",
	"shadow open":                         "scripts",
	"slot fallback":                       "scripts",
	"abs escaping static clip":            "layout",
	"fixed escaping clip":                 "layout",
	"same-origin frame":                   "frames",
}

// TestHiding takes the browser path's list of ways to hide text, and checks
// that those which rules and attributes tell of are recognised.
func TestHiding(t *testing.T) {
	b, err := os.ReadFile("../extract/testdata/hiding.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, part := range strings.Split("\n"+string(b), "\n== ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		expect, name, _ := strings.Cut(title, ": ")
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			d, err := Parse([]byte("<p>start</p>"+body+"<p>end</p>"), "http://page.example/")
			if err != nil {
				t.Fatal(err)
			}
			text := d.Text(extract.TextOptions{Whole: true})
			marks, want := strings.Count(text, "MARK"), 0
			if expect == "visible" {
				want = 1
			}
			_, excused := unseen[name]
			switch {
			case marks != want && !excused:
				t.Errorf("%s: got the text %d times from %s:\n%s", expect, marks, body, text)
			case marks == want && excused:
				t.Error("it is recognised, and need not stand in the list")
			case !strings.Contains(text, "start") || !strings.Contains(text, "end"):
				t.Errorf("the page around is not whole:\n%s", text)
			}
		})
	}
	for name := range unseen {
		if !seen[name] {
			t.Errorf("no case is called %q", name)
		}
	}
}

// TestSameTree reads the pages whose rendering is recorded beside package
// extract. Where everything can be told without a browser the text is the same.
func TestSameTree(t *testing.T) {
	for name, same := range map[string]bool{
		"code": true, "region": true, "tables": true,
		"inline": false, // "W ord" stands apart by a margin only
		"lists":  false, // list-style is no part of what is read
		"glyphs": false, // a script puts half a character there
	} {
		html, err := os.ReadFile(filepath.Join("../extract/testdata", name+".html"))
		if err != nil {
			t.Fatal(err)
		}
		md, err := os.ReadFile(filepath.Join("../extract/testdata", name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		d, err := Parse(html, "http://page.example/")
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := strings.Cut(string(md), "--- whole\n")
		want, _, _ = strings.Cut(want, "\n\n--- links")
		got := d.Text(extract.TextOptions{Whole: true})
		if (got == want) != same {
			t.Errorf("%s: the same: %v, want %v; got\n%s\nwant\n%s", name, got == want, same, got, want)
		}
		if a, b := len(strings.Fields(got)), len(strings.Fields(want)); a < b*9/10 || a > b*11/10 {
			t.Errorf("%s: %d words, the browser shows %d", name, a, b)
		}
	}
}

// TestCascade checks which of several rules wins, and what is left out of
// account.
func TestCascade(t *testing.T) {
	for _, k := range []struct{ name, css, html string }{
		{"a class", `.a{display:none}`, `<p class="b a">MARK`},
		{"specificity", `#i{display:none} p.a{display:block}`, `<p id=i class=a>MARK`},
		{"the later one", `p{display:block} p{display:none}`, `<p>MARK`},
		{"important", `p{display:none!important} #i{display:block}`, `<p id=i>MARK`},
		{"important over the attribute", `p{display:none !important}`, `<p style="display:block">MARK`},
		{"no layer over a layer", `p{display:none} @layer x{p{display:block}}`, `<p>MARK`},
		{"a child", `div > p{display:none}`, `<div><p>MARK`},
		{"a descendant", `section div p{display:none}`, `<section><div><span><p>MARK`},
		{"a sibling", `h1 + p{display:none}`, `<h1>x</h1><p>MARK`},
		{"siblings", `h1 ~ p{display:none}`, `<h1>x</h1><i>y</i><p>MARK`},
		{"a list", `h1, h2 , .x p{display:none}`, `<div class=x><p>MARK`},
		{":not", `p:not(.a){display:none}`, `<p>MARK`},
		{":is", `:is(.a, .b) p{display:none}`, `<div class=b><p>MARK`},
		{"an attribute", `[data-x="1"]{display:none}`, `<p data-x=1>MARK`},
		{"a prefix", `[class^="hid"]{display:none}`, `<p class=hidden-x>MARK`},
		{":nth-child", `li:nth-child(2n+1){display:none}`, `<ul><li>MARK<li>x</ul>`},
		{"an escape", `.a\:b{display:none}`, `<p class="a:b">MARK`},
		{"media", `@media screen and (min-width: 600px){p{display:none}}`, `<p>MARK`},
		{"a range", `@media (width >= 600px){p{display:none}}`, `<p>MARK`},
		{"supports", `@supports (display:grid){p{display:none}}`, `<p>MARK`},
		{"after what is broken", `p{color:;;}} } @foo{ .x{y:z} } h1{} p{display:none}`, `<p>MARK`},
		{"case", `P{DISPLAY:NONE}`, `<p>MARK`},
		{"visibility", `div{visibility:hidden}`, `<div><p>MARK</div>`},
		{"hidden beside a class", `.x{color:red}`, `<p hidden class=x>MARK`},
	} {
		d, err := Parse([]byte("<style>"+k.css+"</style>"+k.html), "http://page.example/")
		if err != nil {
			t.Fatal(err)
		}
		if text := d.Text(extract.TextOptions{Whole: true}); strings.Contains(text, "MARK") {
			t.Errorf("%s: %s did not hide %s", k.name, k.css, k.html)
		}
	}
	for _, k := range []struct{ name, css, html string }{
		{"specificity", `.a{display:block} p{display:none}`, `<p class=a>MARK`},
		{"the attribute", `#i{display:none}`, `<p id=i style="display:block">MARK`},
		{"print", `@media print{p{display:none}}`, `<p>MARK`},
		{"narrow", `@media (max-width: 600px){p{display:none}}`, `<p>MARK`},
		{"dark", `@media (prefers-color-scheme: dark){p{display:none}}`, `<p>MARK`},
		{"another media", `</style><style media=print>p{display:none}`, `<p>MARK`},
		{":hover", `p:hover{display:none}`, `<p>MARK`},
		{"a pseudo-element", `p::before{display:none}`, `<p>MARK`},
		{"keyframes", `@keyframes p{from{opacity:0} to{display:none}}`, `<p>MARK`},
		{"visible in hidden", `div{visibility:hidden} p{visibility:visible}`, `<div><p>MARK</div>`},
		{"shown by its author", `p{display:block}`, `<p hidden>MARK`},
		{"fades in", `p{opacity:0;animation:in 1s both}`, `<p>MARK`},
		{"a variable", `p{display:var(--x)}`, `<p>MARK`},
		{":not what is unknown", `p:not(:hover){display:none}`, `<p>MARK`},
		{"colour, with a linked sheet", `</style><link rel=stylesheet href=x.css><style>p{color:#fff}`, `<p>MARK`},
	} {
		d, err := Parse([]byte("<style>"+k.css+"</style>"+k.html), "http://page.example/")
		if err != nil {
			t.Fatal(err)
		}
		if text := d.Text(extract.TextOptions{Whole: true}); !strings.Contains(text, "MARK") {
			t.Errorf("%s: %s hid %s", k.name, k.css, k.html)
		}
	}
}

// TestNeeds names a document for each signal, and some that need no browser.
func TestNeeds(t *testing.T) {
	words := "<p>" + strings.Repeat("Some words that stand in the document itself. ", 30)
	const script = "<script>run()</script>"
	for _, k := range []struct {
		want Need
		html string
	}{
		{"", words},
		{"", words + script},
		{"", "<p>Short, and nothing would come of running anything."},
		{"", words + script + "<code>{{a}}</code><code>{{b}}</code><code>{{c}}</code>"},
		{"", words + "<iframe src=/ad></iframe>" + script},
		{"", words + script + "<div id=root></div>"},
		{NeedFrames, "<frameset><frame src=/a></frameset>"},
		{NeedFrames, "<p>few words<iframe src=/all></iframe>"},
		{NeedBlank, script},
		{NeedBlank, "<div style='visibility:hidden'>" + words + "</div>"},
		{NeedBusy, "<body aria-busy=true>" + words + script},
		{NeedMount, "<div id=root></div><nav>" + strings.Repeat("<a href=/x>a link</a>", 40) + "</nav>" + script},
		{NeedReplace, words + script + "<p>{{ a }}<p>{{ b }}<p>{{ c }}"},
		{NeedData, words + script + "<script type=application/json>" + strings.Repeat(`{"key":"value"},`, 10_000) + "</script>"},
		{NeedSparse, "<p>Loading…</p>" + script},
	} {
		d, err := Parse([]byte(k.html), "http://page.example/")
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Needs(); got != k.want {
			t.Errorf("%q: %q, want %q", clip(k.html, 60), got, k.want)
		}
	}
}
