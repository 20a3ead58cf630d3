package content

import (
	"encoding/xml"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// isFeed reports the root of an RSS or Atom feed.
func isFeed(root xml.Name) bool {
	switch root.Local {
	case "rss", "feed":
		return true
	case "RDF":
		return root.Space == "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	}
	return false
}

// entry is a feed or an item of one, as far as it is read.
type entry struct {
	title, link, date, author string
	summary, content          string
}

// maxItems bounds the items of a feed that are read.
const maxItems = 10_000

// formatFeed writes a feed (RSS 0.9 to 2.0, RFC 4287) as a heading and its
// items, each with date, author, address and summary. ok is false for what is
// not well-formed, or has neither title nor items. What it says is escaped.
func formatFeed(s string, escape func(string) string) (d Doc, ok bool) {
	f, items, err := readFeed(s)
	if err != nil || f.title == "" && len(items) == 0 {
		return Doc{}, false
	}
	d.Title = f.title
	var b strings.Builder
	write := func(e entry, level string) {
		title := e.title
		if title == "" {
			title = clip(e.body(), 80)
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(level + escape(oneLine(title)))
		if line := join(" · ", e.date, e.author, e.link); line != "" {
			b.WriteString("\n" + escape(line))
		}
		if body := e.body(); body != "" && body != title {
			b.WriteString("\n\n" + escape(body))
		}
		if isWebURL(e.link) {
			d.Links = append(d.Links, Link{Text: oneLine(title), URL: e.link})
		}
	}
	write(f, "# ")
	for _, i := range items {
		write(i, "## ")
	}
	d.Text = b.String()
	return d, true
}

func (e entry) body() string {
	if e.summary != "" {
		return e.summary
	}
	return e.content
}

func join(sep string, parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = oneLine(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, sep)
}

func isWebURL(s string) bool {
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

// readFeed reads the elements that a reader of feeds would show.
func readFeed(s string) (feed entry, items []entry, err error) {
	d := decoder(s)
	d.Strict = true
	to := &feed
	for {
		t, err := d.Token()
		if err == io.EOF {
			return feed, items, nil
		}
		if err != nil {
			return feed, items, err
		}
		switch e := t.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "item", "entry":
				if len(items) >= maxItems {
					return feed, items, nil
				}
				items = append(items, entry{})
				to = &items[len(items)-1]
				continue
			case "rss", "feed", "RDF", "channel":
				continue
			case "image", "textInput", "source":
				if err := d.Skip(); err != nil {
					return feed, items, err
				}
				continue
			}
			if err := to.read(d, e); err != nil {
				return feed, items, err
			}
		case xml.EndElement:
			if n := e.Name.Local; n == "item" || n == "entry" {
				to = &feed
			}
		}
	}
}

// read reads one element of a feed or an item, to its end.
func (e *entry) read(d *xml.Decoder, start xml.StartElement) error {
	attrs := map[string]string{}
	for _, a := range start.Attr {
		attrs[a.Name.Local] = a.Value
	}
	text, err := innerText(d)
	if err != nil {
		return err
	}
	set := func(to *string, v string) {
		if *to == "" {
			*to = strings.TrimSpace(v)
		}
	}
	switch start.Name.Local {
	case "title":
		if start.Name.Space != "http://search.yahoo.com/mrss/" {
			set(&e.title, plain(text))
		}
	case "link":
		switch rel := attrs["rel"]; {
		case attrs["href"] == "":
			set(&e.link, text)
		case rel == "" || rel == "alternate":
			set(&e.link, attrs["href"])
		}
	case "guid":
		if attrs["isPermaLink"] != "false" && isWebURL(strings.TrimSpace(text)) {
			set(&e.link, text)
		}
	case "pubDate", "published", "date":
		set(&e.date, text)
	case "updated":
		set(&e.date, text)
	case "author", "creator":
		set(&e.author, plain(text))
	case "description", "summary", "subtitle":
		set(&e.summary, plain(text))
	case "encoded", "content":
		set(&e.content, plain(text))
	}
	return nil
}

// innerText returns the text in the element that was just opened, XHTML
// included, and reads to its end.
func innerText(d *xml.Decoder) (string, error) {
	var b strings.Builder
	for depth := 1; depth > 0; {
		t, err := d.Token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.StartElement:
			depth++
			if t.Name.Space == xhtmlSpace { // back to HTML, for plain
				b.WriteString("<" + t.Name.Local)
				for _, a := range t.Attr {
					if a.Name.Local == "style" || a.Name.Local == "hidden" {
						b.WriteString(" " + a.Name.Local + `="` + html.EscapeString(a.Value) + `"`)
					}
				}
				b.WriteString(">")
			} else if b.Len() > 0 { // <author><name>…</name><uri>…</uri>
				b.WriteByte(' ')
			}
		case xml.EndElement:
			depth--
			if t.Name.Space == xhtmlSpace && depth > 0 {
				b.WriteString("</" + t.Name.Local + ">")
			}
		case xml.CharData:
			b.Write(t)
		}
	}
	return b.String(), nil
}

// plain makes text of what may be HTML: the elements that are shown, blocks on
// lines of their own.
func plain(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return strings.TrimSpace(s)
	}
	nodes, err := html.ParseFragment(strings.NewReader(s), &html.Node{Type: html.ElementNode, DataAtom: atom.Body, Data: "body"})
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, n := range nodes {
		writePlain(&b, n, 0)
	}
	var lines []string
	for l := range strings.Lines(b.String()) {
		if l = oneLine(l); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

// blocks begin and end lines.
var blocks = map[atom.Atom]bool{
	atom.P: true, atom.Div: true, atom.Br: true, atom.Li: true, atom.Ul: true, atom.Ol: true, atom.Tr: true, atom.Table: true,
	atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true, atom.Blockquote: true,
	atom.Pre: true, atom.Hr: true, atom.Section: true, atom.Article: true, atom.Figure: true, atom.Figcaption: true,
	atom.Dl: true, atom.Dt: true, atom.Dd: true,
}

// maxPlainDepth bounds the nesting that is read.
const maxPlainDepth = 200

func writePlain(b *strings.Builder, n *html.Node, depth int) {
	if n.Type == html.TextNode {
		b.WriteString(strings.ReplaceAll(n.Data, "\n", " "))
		return
	}
	if n.Type != html.ElementNode || depth > maxPlainDepth || unseen(n) {
		return
	}
	if blocks[n.DataAtom] {
		b.WriteByte('\n')
		defer b.WriteByte('\n')
	}
	for k := range n.ChildNodes() {
		writePlain(b, k, depth+1)
	}
}

// unseen reports elements of whose text a reader of feeds shows nothing.
func unseen(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Iframe, atom.Object, atom.Svg, atom.Title, atom.Textarea, atom.Select:
		return true
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "style":
			if hides(a.Val) {
				return true
			}
		}
	}
	return false
}

// hides reports an inline style that takes text out of sight. A reader of
// feeds drops or keeps styles as it likes, so what is doubtful is hidden.
func hides(style string) bool {
	decls := map[string]string{}
	for _, d := range strings.Split(strings.ToLower(style), ";") {
		name, value, _ := strings.Cut(d, ":")
		value, _, _ = strings.Cut(value, "!")
		decls[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	_, backed := decls["background-color"]
	if _, ok := decls["background"]; ok {
		backed = true
	}
	for name, v := range decls {
		switch name {
		case "display", "visibility", "content-visibility":
			if v == "none" || v == "hidden" || v == "collapse" {
				return true
			}
		case "opacity":
			if n, ok := number(v); ok && n < 0.1 {
				return true
			}
		case "font-size", "height", "width", "max-height", "max-width", "line-height", "zoom":
			if n, ok := number(v); ok && n < 4 && (strings.HasSuffix(v, "px") || n == 0) {
				return true
			}
		case "text-indent", "left", "top", "right", "bottom", "margin-left", "margin-top":
			if n, ok := number(v); ok && n <= -50 {
				return true
			}
		case "clip", "clip-path", "mask", "filter":
			if v != "none" && v != "auto" {
				return true
			}
		case "transform":
			if strings.Contains(v, "scale") || strings.Contains(v, "translate") {
				return true
			}
		case "color":
			switch v {
			case "transparent", "rgba(0,0,0,0)":
				return true
			case "#fff", "#ffffff", "white", "#fefefe":
				if !backed {
					return true
				}
			}
		}
	}
	return false
}

// number returns the number that a value begins with.
func number(v string) (float64, bool) {
	end := strings.IndexFunc(v, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' })
	if end < 0 {
		end = len(v)
	}
	n, err := strconv.ParseFloat(v[:end], 64)
	return n, err == nil
}
