package bellglass

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bellglass/bellglass/internal/content"
	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/pdftext"
	"github.com/bellglass/bellglass/internal/tab"
	"github.com/bellglass/bellglass/policy"
)

// reading is what one visit of a page brought: from it, every text, passage
// and link of the page can be told without another visit. It is safe for
// concurrent use.
type reading struct {
	head    Head
	host    string // of the page
	partial bool   // more than what is here cannot be had

	mu     sync.Mutex
	texts  map[extract.TextOptions]string
	doc    *extract.Doc   // nil if it was no rendered document
	raw    string         // then its text
	linked []extract.Link // and its links
}

// newReading makes text of what was read. The error is a [*tab.ContentError],
// or says why a PDF was not read.
func (b *Browser) newReading(ctx context.Context, p *tab.Page) (*reading, error) {
	r := &reading{doc: p.Doc, partial: p.Partial}
	if u, err := policy.ParseURL(p.URL); err == nil {
		r.host = u.Host.String()
	}
	if p.Doc != nil {
		return r, nil
	}
	if isPDF(p) {
		return r, b.readPDF(ctx, p, r)
	}
	d, err := unpack(p)
	if err != nil {
		return nil, err
	}
	r.raw = extract.Clean(d.Text)
	r.head.Title = extract.Line(d.Title, maxTitle)
	for _, l := range d.Links {
		r.linked = append(r.linked, extract.Link{Text: extract.Line(l.Text, maxTitle), URL: l.URL})
	}
	return r, nil
}

// text is the page as Markdown, or as it came.
func (r *reading) text(o extract.TextOptions) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.doc == nil {
		return r.raw
	}
	s, ok := r.texts[o]
	if !ok {
		s = r.doc.Text(o)
		if r.texts == nil {
			r.texts = map[extract.TextOptions]string{}
		}
		r.texts[o] = s
	}
	return s
}

// signals are guesses at what kind of answer the page is.
func (r *reading) signals(status int) []string {
	if r.doc == nil {
		return nil
	}
	var out []string
	for _, s := range r.doc.Signals(status, func() string { return r.text(extract.TextOptions{}) }) {
		out = append(out, string(s))
	}
	return out
}

// links are the page's links that hold query in their text or address.
func (r *reading) links(query string) []extract.Link {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.linked)
	if r.doc != nil {
		all = r.doc.Links(r.host)
	}
	if q := strings.ToLower(strings.TrimSpace(query)); q != "" {
		says := extract.Finder(query)
		all = slices.DeleteFunc(all, func(l extract.Link) bool {
			return !says(l.Text) && !strings.Contains(strings.ToLower(l.URL), q)
		})
	}
	return all
}

// bytes is about what the reading takes in memory.
func (r *reading) bytes() int {
	n := len(r.raw)
	for _, l := range r.linked {
		n += len(l.Text) + len(l.URL)
	}
	if r.doc != nil {
		n += r.doc.Bytes()
	}
	return n
}

// wants tells the browser's tab which responses are read without rendering.
func wants(mediaType string) bool { return content.KindOf(mediaType) != content.None }

// rawNames end the paths of what is no page, as a rule.
var rawNames = []string{".json", ".jsonl", ".ndjson", ".geojson", ".csv", ".tsv", ".txt", ".md", ".xml", ".rss", ".atom", ".rdf", ".yaml", ".yml",
	".toml", ".ics", ".log", ".pdf", ".js", ".css", ".go", ".py", ".rs", ".c", ".h", ".sh", "/feed", "/feed/", "/rss", "/atom"}

// looksRaw guesses whether the response will be one that [wants] wants. It
// saves asking for it twice; where it is wrong, nothing else is lost.
func looksRaw(url string) bool {
	path, _, _ := strings.Cut(url, "?")
	path = strings.ToLower(path)
	return slices.ContainsFunc(rawNames, func(end string) bool { return strings.HasSuffix(path, end) })
}

// rendered tells it which of these a browser reads better.
func rendered(mediaType, charset string, body []byte) string {
	return content.Rendered(content.KindOf(mediaType), charset, body)
}

// unpack makes text of a body that was not rendered, and of text that was.
func unpack(p *tab.Page) (content.Doc, error) {
	kind := content.KindOf(p.ContentType)
	if p.Body == nil {
		return content.Format(kind, p.Raw, extract.Escape), nil
	}
	switch kind {
	case content.Text, content.JSON, content.XML:
		if content.Binary(p.Body.Bytes, p.Body.Charset) {
			return content.Doc{}, fmt.Errorf("%w: it is no text", noText(p))
		}
		text, _ := content.Decode(p.Body.Bytes, p.Body.Charset)
		return content.Format(kind, text, extract.Escape), nil
	}
	return content.Doc{}, noText(p)
}

// noText is the refusal of a body.
func noText(p *tab.Page) error {
	return &tab.ContentError{URL: p.URL, Status: p.Status, ContentType: p.ContentType, Size: int64(len(p.Body.Bytes))}
}

// isPDF reports a body that is one, also if its type does not say so.
func isPDF(p *tab.Page) bool {
	if p.Body == nil {
		return false
	}
	switch content.KindOf(p.ContentType) {
	case content.PDF:
		return true
	case content.Opaque:
		return content.Sniff(p.Body.Bytes) == content.PDF
	}
	return false
}

// readPDF reads the text of a PDF in a process of its own, sealed like the
// browser.
func (b *Browser) readPDF(ctx context.Context, p *tab.Page, r *reading) error {
	level, _, err := b.Seal(ctx)
	if err != nil {
		return err
	}
	d, err := pdftext.Read(ctx, string(level), p.Body.Bytes)
	switch {
	case errors.Is(err, pdftext.ErrMalformed):
		return fmt.Errorf("%w: %w", noText(p), err)
	case errors.Is(err, pdftext.ErrLimit):
		return fmt.Errorf("%w: %w", tab.ErrTooLarge, err)
	case err != nil:
		return err
	}
	var t strings.Builder
	some := false
	for i, page := range d.Pages {
		if i > 0 {
			t.WriteString("\n\n")
		}
		page = extract.Clean(page)
		fmt.Fprintf(&t, "⟦page %d⟧\n%s", i+1, page)
		some = some || page != ""
	}
	if !some {
		return fmt.Errorf("%w: its pages have no text", noText(p))
	}
	r.raw, r.partial = t.String(), r.partial || d.Cut
	r.head.Title, r.head.HiddenChars = extract.Line(d.Title, maxTitle), d.Hidden
	return nil
}
