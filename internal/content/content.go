// Package content makes readable text of what is no HTML document: plain text,
// JSON, XML, feeds. What a page may not hold (characters that nobody sees) is
// the caller's to remove, as is the bounding of the result, which is never
// more than a few times as long as what was read.
//
// It fetches nothing and renders nothing: what a browser shows better, an XML
// document with a style sheet say, [Rendered] names.
package content

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Kind is how a body is read.
type Kind int

const (
	None   Kind = iota // not at all
	Text               // as it is, such as Markdown, CSV and source code
	JSON               // set in lines
	XML                // set in lines; feeds as lists
	PDF                // the text of its pages
	Opaque             // no type that says anything: by its first bytes
)

// kinds are types that do not tell by their name what they are.
var kinds = map[string]Kind{
	"application/json": JSON, "text/json": JSON, "application/manifest+json": JSON,
	"application/xml": XML, "text/xml": XML, "text/xsl": XML,
	"application/pdf": PDF, "application/x-pdf": PDF,
	"application/octet-stream": Opaque, "binary/octet-stream": Opaque,

	"application/x-ndjson": Text, "application/ndjson": Text, "application/jsonl": Text, "application/x-jsonlines": Text,
	"application/json-seq": Text, "application/json5": Text,
	"application/javascript": Text, "application/x-javascript": Text, "application/ecmascript": Text, "application/typescript": Text,
	"application/yaml": Text, "application/x-yaml": Text, "application/toml": Text, "application/csv": Text,
	"application/sql": Text, "application/x-sh": Text, "application/x-httpd-php": Text, "application/x-tex": Text, "application/x-latex": Text,
	"application/x-subrip": Text, "application/n-triples": Text, "application/n-quads": Text, "application/trig": Text,
	"application/graphql": Text, "application/x-perl": Text, "application/x-python": Text, "application/x-ruby": Text,
	"application/x-patch": Text, "application/x-bibtex": Text, "application/pgp-signature": Text, "application/pgp-keys": Text,

	"text/html": None, // rendered
}

// KindOf returns how a body of that media type, in lower case and without
// parameters, is read. HTML, XHTML and SVG are None: a browser renders them.
func KindOf(mediaType string) Kind {
	if k, ok := kinds[mediaType]; ok {
		return k
	}
	switch {
	case mediaType == "application/xhtml+xml", mediaType == "image/svg+xml":
		return None
	case strings.HasPrefix(mediaType, "text/"):
		return Text
	case strings.HasPrefix(mediaType, "image/"), strings.HasPrefix(mediaType, "multipart/"):
		return None
	case strings.HasSuffix(mediaType, "+json"):
		return JSON
	case strings.HasSuffix(mediaType, "+xml"):
		return XML
	case strings.HasSuffix(mediaType, "+yaml"), strings.HasSuffix(mediaType, "+json-seq"):
		return Text
	}
	return None
}

// Sniff returns what a body without a telling type is: PDF, or None.
func Sniff(body []byte) Kind {
	if i := bytes.Index(body[:min(len(body), 1024)], []byte("%PDF-")); i >= 0 {
		return PDF
	}
	return None
}

// Doc is a body made readable.
type Doc struct {
	Title string
	Text  string
	Links []Link
}

// Link is a link of a feed. URL is as it was written.
type Link struct{ Text, URL string }

// Format makes text readable, according to its kind. What does not hold to its
// own form is returned as it is. Feeds become Markdown, in which escape makes
// what they say stand for itself.
func Format(k Kind, text string, escape func(string) string) Doc {
	switch k {
	case JSON:
		if s, ok := formatJSON(text); ok {
			return Doc{Text: s}
		}
	case XML:
		if d, ok := formatXML(text, escape); ok {
			return d
		}
	}
	return Doc{Text: text}
}

// Rendered returns the media type under which a browser should be given a body
// because it reads it better, or "": a document in HTML or SVG, or in XML with
// a style sheet, and text of whose encoding nobody says anything.
func Rendered(k Kind, charset string, body []byte) string {
	switch k {
	case Text, JSON, XML:
	default:
		return ""
	}
	if k == XML {
		if typ := renderedXML(body, charset); typ != "" {
			return typ
		}
	}
	if _, ok := Decode(body, charset); !ok && !Binary(body, charset) {
		return "text/plain"
	}
	return ""
}

// Binary reports that a body is no text: it holds control characters that no
// text has, in whatever encoding.
func Binary(body []byte, charset string) bool {
	head, _ := Decode(body[:min(len(body), 4096)], charset)
	return strings.ContainsFunc(head, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\v\f\r\b\x0e\x0f\x1a\x1b", r) })
}

// clip returns at most n bytes of s, whole characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
