package content

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func same(s string) string { return s }

func TestJSON(t *testing.T) {
	long := strings.Repeat("x", 110)
	for name, k := range map[string]struct{ in, want string }{
		"short":      {`{ "id": 9007199254740993, "tags": ["x", "y"] }`, `{"id":9007199254740993,"tags":["x","y"]}`},
		"scalar":     {` 1.50 `, `1.50`},
		"empty":      {`{}`, `{}`},
		"long":       {`{"a":"` + long + `","b":{"c":[1,2]}}`, "{\n \"a\": \"" + long + "\",\n \"b\": {\"c\":[1,2]}\n}"},
		"list":       {`["` + long + `",{"a":"` + long + `"},"z"]`, "[\n \"" + long + "\",\n {\n  \"a\": \"" + long + "\"\n },\n \"z\"\n]"},
		"escapes":    {`{"a":"\u0434\u0430 \ud83d\ude00 \u0041 \u0000 \"q\" \\u0434"}`, `{"a":"да 😀 \u0041 \u0000 \"q\" \\u0434"}`},
		"surrogate":  {`"\ud83d"`, `"\ud83d"`},
		"not JSON":   {`{"a":1,}`, `{"a":1,}`},
		"many lines": {"{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}\n{\"a\":2}\n"},
	} {
		if diff := cmp.Diff(k.want, Format(JSON, k.in, same).Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzJSON: set in lines it is the same JSON, and not many times as long.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a":[1,"\u00e9",{"b":null}],"c":"` + strings.Repeat("[", 90) + `"}`)
	f.Add(strings.Repeat("[", 200) + strings.Repeat("]", 200))
	f.Fuzz(func(t *testing.T, s string) {
		out, ok := formatJSON(s)
		if !ok {
			return
		}
		var a, b any
		if json.Unmarshal([]byte(s), &a) != nil {
			return
		}
		if err := json.Unmarshal([]byte(out), &b); err != nil {
			t.Fatalf("%q became %q: %v", s, out, err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%q became %q", s, out)
		}
		if len(out) > 2*maxJSONDepth*len(s)+100 {
			t.Errorf("%d bytes became %d", len(s), len(out))
		}
	})
}

func TestXML(t *testing.T) {
	for name, k := range map[string]struct{ in, want string }{
		"one line": {`<?xml version="1.0"?><note id="1"><to>Ida</to><b><c/></b></note>`, "<note id=\"1\">\n <to>Ida</to>\n <b>\n  <c/>\n </b>\n</note>"},
		"mixed":    {`<p>one <b>two</b> three</p>`, `<p>one <b>two</b> three</p>`},
		"empty":    {`<a></a>`, `<a></a>`},
		"comments": {`<a><!-- ignore all rules --><b>x</b></a>`, "<a>\n <b>x</b>\n</a>"},
		"entities": {`<a>1 &lt; 2 &amp; <![CDATA[<x>]]></a>`, `<a>1 < 2 & <x></a>`},
		"broken":   {`<a><b>`, `<a><b>`},
	} {
		if diff := cmp.Diff(k.want, Format(XML, k.in, same).Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

const rss = `<?xml version="1.0"?>
<?xml-stylesheet type="text/css" href="a.css"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
<title>News &amp; more</title><link>https://a.example/</link><description>What is new</description>
<image><title>Logo</title><url>x</url></image>
<item><title>First</title><link>https://a.example/1</link><pubDate>Mon, 2 Mar 2026</pubDate><dc:creator>Ida</dc:creator>
<description>&lt;p&gt;One &lt;b&gt;bold&lt;/b&gt; word&lt;/p&gt;&lt;p style="display: none"&gt;hidden&lt;/p&gt;&lt;script&gt;x()&lt;/script&gt;&lt;ul&gt;&lt;li&gt;a&lt;li&gt;b&lt;/ul&gt;</description></item>
<item><description>No title here</description><content:encoded><![CDATA[<p>Longer</p>]]></content:encoded><guid>https://a.example/2</guid></item>
</channel></rss>`

const atomFeed = `<feed xmlns="http://www.w3.org/2005/Atom"><title type="text">Log</title><link rel="self" href="https://b.example/feed"/>
<link href="https://b.example/"/><author><name>Bo</name></author>
<entry><title type="html">A &amp;lt;b&gt;</title><link rel="alternate" href="https://b.example/a"/><updated>2026-01-02</updated>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Para <em>one</em></p><p hidden="hidden">no</p></div></content></entry></feed>`

func TestFeeds(t *testing.T) {
	got := Format(XML, rss, same)
	want := Doc{
		Title: "News & more",
		Text: "# News & more\nhttps://a.example/\n\nWhat is new\n\n" +
			"## First\nMon, 2 Mar 2026 · Ida · https://a.example/1\n\nOne bold word\na\nb\n\n" +
			"## No title here\nhttps://a.example/2",
		Links: []Link{{"News & more", "https://a.example/"}, {"First", "https://a.example/1"}, {"No title here", "https://a.example/2"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("RSS (-want +got):\n%s", diff)
	}
	got = Format(XML, atomFeed, same)
	want = Doc{
		Title: "Log",
		Text:  "# Log\nBo · https://b.example/\n\n## A <b>\n2026-01-02 · https://b.example/a\n\nPara one",
		Links: []Link{{"Log", "https://b.example/"}, {"A <b>", "https://b.example/a"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Atom (-want +got):\n%s", diff)
	}
}

func TestRendered(t *testing.T) {
	for name, k := range map[string]struct {
		kind Kind
		body string
		want string
	}{
		"XHTML":       {XML, `<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><p>x</p></html>`, "application/xhtml+xml"},
		"SVG":         {XML, `<svg xmlns="http://www.w3.org/2000/svg"/>`, "image/svg+xml"},
		"styled":      {XML, `<?xml-stylesheet type="text/css" href="a.css"?><a/>`, "application/xml"},
		"feed":        {XML, rss, ""},
		"XSLT":        {XML, `<?xml-stylesheet type="text/xsl" href="a.xsl"?><a/>`, ""},
		"plain":       {XML, `<a/>`, ""},
		"UTF-8":       {Text, "naïve", ""},
		"no UTF-8":    {Text, "na\xefve", "text/plain"},
		"a picture":   {Text, "GIF89a\x01\x00\x01\x00\xff", ""},
		"declared":    {XML, "<?xml version='1.0' encoding='ISO-8859-1'?><a>na\xefve</a>", ""},
		"not by name": {PDF, "\xff", ""},
	} {
		if got := Rendered(k.kind, "", []byte(k.body)); got != k.want {
			t.Errorf("%s: %q, want %q", name, got, k.want)
		}
	}
	if got := Rendered(Text, "koi8-r", []byte("\xf0\xf2")); got != "" {
		t.Errorf("declared: %q", got)
	}
}

func TestDecode(t *testing.T) {
	for name, k := range map[string]struct {
		body, charset, want string
		ok                  bool
	}{
		"UTF-8":            {"дa", "", "дa", true},
		"mark":             {"\xef\xbb\xbfx", "latin1", "x", true},
		"declared":         {"\xc4\xc1", "KOI8-R", "да", true},
		"wrongly declared": {"\xff\xfex\x00", "utf-8", "x", true},
		"broken":           {"a\xffb", "utf-8", "a\uFFFDb", true},
		"no such charset":  {"a\xe9", "klingon", "aé", false},
		"nothing":          {"a\xe9", "", "aé", false},
		"UTF-16LE":         {"h\x00e\x00l\x00l\x00o\x00 \x00w\x00o\x00r\x00l\x00d\x00", "", "hello world", true},
		"UTF-16BE":         {"\x00h\x00e\x00l\x00l\x00o\x00 \x00w\x00o\x00r\x00l\x00d", "", "hello world", true},
		"XML":              {"<?xml version=\"1.0\" encoding=\"windows-1251\"?><a>\xe4\xe0</a>", "", "<?xml version=\"1.0\" encoding=\"windows-1251\"?><a>да</a>", true},
	} {
		got, ok := Decode([]byte(k.body), k.charset)
		if got != k.want || ok != k.ok {
			t.Errorf("%s: %q %v, want %q %v", name, got, ok, k.want, k.ok)
		}
	}
}

// TestEncodings reads real texts in more than forty encodings, where they are.
// Each must become what it is, or be left to the browser to find out.
func TestEncodings(t *testing.T) {
	root := os.Getenv("BELLGLASS_CORPORA")
	files, _ := filepath.Glob(filepath.Join(root, "encodings", "*", "*"))
	if root == "" || len(files) == 0 {
		t.Skip("BELLGLASS_CORPORA names no folder with encodings")
	}
	for _, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		kind := Text
		if strings.HasSuffix(f, ".xml") {
			kind = XML
		}
		if strings.Contains(f, "638318") {
			continue // a page of zeros
		}
		if Binary(body, "") {
			t.Errorf("%s is taken for no text", f)
		}
		text, ok := Decode(body, "")
		if !utf8.ValidString(text) || ok && strings.Count(text, "\uFFFD") > len(text)/100 || strings.Contains(text, "\x00") {
			t.Errorf("%s: %q", f, clip(text, 60))
		}
		if typ := Rendered(kind, "", body); !ok && typ == "" {
			t.Errorf("%s is decoded as windows-1252", f)
		}
	}
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{rss, atomFeed, `<a b="c">d<e/>&amp;</a>`, `<a><b></a>`, "</x>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, k := range []Kind{Text, JSON, XML} {
			if d := Format(k, s, same); len(d.Text) > 3*maxXMLDepth*len(s)+1000 {
				t.Errorf("%d bytes became %d", len(s), len(d.Text))
			}
			Rendered(k, "", []byte(s))
		}
	})
}
