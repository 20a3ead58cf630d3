package content

import (
	"encoding/xml"
	"io"
	"regexp"
	"strings"
)

// prologue is how much of an XML document is looked at to tell what it is.
const prologue = 8 << 10

const (
	xhtmlSpace = "http://www.w3.org/1999/xhtml"
	svgSpace   = "http://www.w3.org/2000/svg"
)

// cssStyle is the processing instruction of a style sheet in CSS. XSLT is
// another type, which browsers no longer run.
var cssStyle = regexp.MustCompile(`<\?xml-stylesheet\s[^>]*type\s*=\s*["']text/css["']`)

// renderedXML names the type of a document that a browser shows as its author
// meant, or returns "".
func renderedXML(body []byte, charset string) string {
	head, _ := Decode(body[:min(len(body), prologue)], charset)
	root := rootOf(head)
	switch {
	case root.Space == xhtmlSpace && root.Local == "html":
		return "application/xhtml+xml"
	case root.Space == svgSpace && root.Local == "svg":
		return "image/svg+xml"
	case cssStyle.MatchString(head) && !isFeed(root):
		return "application/xml"
	}
	return ""
}

// rootOf returns the name of the first element.
func rootOf(s string) xml.Name {
	d := decoder(s)
	for {
		t, err := d.Token()
		if err != nil {
			return xml.Name{}
		}
		if e, ok := t.(xml.StartElement); ok {
			return e.Name
		}
	}
}

// decoder reads XML as it is found; s is decoded already.
func decoder(s string) *xml.Decoder {
	d := xml.NewDecoder(strings.NewReader(s))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	return d
}

// formatXML makes a list of a feed, and sets any other document in lines.
// Comments are left out. ok is false for what is not well-formed.
func formatXML(s string, escape func(string) string) (d Doc, ok bool) {
	if root := rootOf(clip(s, prologue)); isFeed(root) {
		if d, ok := formatFeed(s, escape); ok {
			return d, true
		}
	}
	text, ok := indent(s)
	return Doc{Text: text}, ok
}

// maxXMLDepth bounds indentation.
const maxXMLDepth = 40

// indent sets every element that holds elements on lines of its own. Elements
// that hold text stay on one line, with what is inside of them.
func indent(s string) (string, bool) {
	d := decoder(s)
	var b strings.Builder
	b.Grow(len(s))
	var open []bool // per open element: it holds text
	newline := func() {
		if b.Len() > 0 {
			b.WriteByte('\n')
			b.WriteString(strings.Repeat(" ", min(len(open), maxXMLDepth)))
		}
	}
	inline := func() bool { return len(open) > 0 && open[len(open)-1] }
	fresh := false // an element was opened, and nothing was written in it
	for {
		at := d.InputOffset()
		t, err := d.RawToken()
		if err == io.EOF {
			return b.String(), len(open) == 0 && b.Len() > 0
		}
		if err != nil {
			return "", false
		}
		raw := s[at:d.InputOffset()]
		switch e := t.(type) {
		case xml.StartElement:
			if !inline() {
				newline()
			}
			b.WriteString(oneLine(raw))
			// A self-closing tag comes as a start and an end of no length.
			open = append(open, inline())
			fresh = true
		case xml.EndElement:
			if len(open) == 0 {
				return "", false
			}
			was := inline()
			open = open[:len(open)-1]
			if raw != "" {
				if !was && !fresh {
					newline()
				}
				b.WriteString(raw)
			}
			fresh = false
		case xml.CharData:
			text := string(e)
			if strings.TrimSpace(text) == "" && !inline() {
				continue
			}
			if len(open) > 0 {
				open[len(open)-1] = true
			}
			if !inline() {
				newline()
			}
			b.WriteString(text)
			fresh = false
		case xml.ProcInst:
			if !strings.EqualFold(e.Target, "xml") {
				newline()
				b.WriteString(oneLine(raw))
			}
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
