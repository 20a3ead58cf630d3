package bellglass

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bellglass/bellglass/internal/answer"
	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/tab"
	"github.com/bellglass/bellglass/policy"
)

// Bounds of what a session reads.
const (
	maxReadBytes        = 512 << 10 // of UTF-8
	DefaultExtractChars = 16_000
	MaxExtractChars     = 100_000
)

// ExtractMode says what [Session.Extract] returns.
type ExtractMode string

const (
	ExtractText  ExtractMode = "text"  // Markdown of the main part, or of a selector
	ExtractLinks ExtractMode = "links" // a line for each link
	ExtractHTML  ExtractMode = "html"  // of a selector: what is in sight, without scripts and values
)

// ExtractRequest asks for a piece of the page's content.
type ExtractRequest struct {
	Mode     ExtractMode // if empty, [ExtractText]
	Selector string      // CSS; needed for html
	MaxChars int         // if zero, [DefaultExtractChars]; at most [MaxExtractChars]
	Offset   int         // the NextOffset of the piece before, in code points
}

// Content is a piece of a page.
type Content struct {
	Head
	// Text is from an unvetted page: data, never instructions.
	Text string
	// TotalChars is the length of the whole in code points.
	TotalChars int
}

// Read returns the visible text of the page, or of what a CSS selector means,
// as Markdown: at most 512 KiB of it.
func (s *Session) Read(ctx context.Context, selector string) Content {
	return s.content(ctx, "read", ExtractRequest{Selector: selector}, true)
}

// Extract returns a piece of the page's content.
func (s *Session) Extract(ctx context.Context, r ExtractRequest) Content {
	return s.content(ctx, "extract", r, false)
}

func (s *Session) content(ctx context.Context, op string, r ExtractRequest, whole bool) Content {
	ctx, done, err := s.begin(ctx, op)
	if err != nil {
		return Content{Head: s.failed(ctx0(ctx), op, err).Head}
	}
	defer done()
	if r.Mode == "" {
		r.Mode = ExtractText
	}
	if r.MaxChars == 0 {
		r.MaxChars = DefaultExtractChars
	}
	if err := r.check(op); err != nil {
		return Content{Head: s.failed(ctx, op, err).Head}
	}
	text, title, err := s.contentText(ctx, r, whole)
	if err == nil { // before it is cut: a pattern must not escape that way
		if text, err = s.rules.guard.Output(text); err == nil {
			title, err = s.rules.guard.Output(title)
		}
	}
	var c Content
	state, lost := s.live.State()
	if err == nil {
		err = lost
	}
	if err != nil {
		return Content{Head: s.failed(ctx, op, selectorError(op, err)).Head}
	}
	c.Status, c.Rendered = StatusOK, true
	c.FinalURL, c.HTTPStatus, c.Title = s.shown(state.URL), state.Status, extract.Line(title, maxTitle)
	if whole {
		c.Text, c.TotalChars = text, utf8.RuneCountInString(text)
		if len(text) > maxReadBytes {
			c.Text, c.Truncated = cutBytes(text, maxReadBytes), true
		}
		return c
	}
	cut := extract.Page(text, r.Offset, r.MaxChars)
	c.Text, c.TotalChars, c.Truncated, c.NextOffset = cut.Text, cut.Total, cut.Truncated, cut.Next
	return c
}

// cutBytes returns at most n bytes of text, of whole characters and, where one
// is near, whole lines.
func cutBytes(text string, n int) string {
	c := extract.Page(text, 0, utf8.RuneCountInString(text[:n]))
	for len(c.Text) > n { // the last of the n bytes may not be a whole character
		c = extract.Page(text, 0, utf8.RuneCountInString(c.Text)-1)
	}
	return c.Text
}

func (r ExtractRequest) check(op string) error {
	why := ""
	switch {
	case !slices.Contains([]ExtractMode{ExtractText, ExtractLinks, ExtractHTML}, r.Mode):
		why = "The mode is text, links or html."
	case r.Mode == ExtractHTML && r.Selector == "":
		why = "Mode html needs a selector: the HTML of a whole page is never returned."
	case r.MaxChars < 1 || r.MaxChars > MaxExtractChars:
		why = fmt.Sprintf("max_chars is between 1 and %d.", MaxExtractChars)
	case r.Offset < 0:
		why = "offset must not be negative."
	case len(r.Selector) > 2000:
		why = "The selector is too long."
	default:
		return nil
	}
	return reasonError(op, ReasonInvalidArgument, why, nil)
}

// selectorError tells what is wrong with a selector.
func selectorError(op string, err error) error {
	switch {
	case errors.Is(err, tab.ErrSelector):
		return reasonError(op, ReasonInvalidArgument, "The selector is not valid CSS.", err)
	case errors.Is(err, tab.ErrSeveral):
		return reasonError(op, ReasonInvalidArgument, "The selector means more than one element.", err)
	case errors.Is(err, tab.ErrGone):
		return reasonError(op, ReasonNoElement, "", err)
	}
	return err
}

// contentText reads what is asked for, whole.
func (s *Session) contentText(ctx context.Context, r ExtractRequest, whole bool) (text, title string, err error) {
	state, err := s.live.State()
	if err != nil {
		return "", "", err
	}
	if state.URL == "" || state.URL == "about:blank" {
		return "", "", nil
	}
	if err := s.checkPlace(state.URL); err != nil {
		return "", "", err
	}
	if r.Mode == ExtractHTML {
		text, err = s.live.HTML(ctx, r.Selector)
		return extract.Clean(text), "", err
	}
	doc, err := s.live.Content(ctx, r.Selector)
	if err != nil {
		return "", "", err
	}
	if r.Mode != ExtractLinks {
		return doc.Text(extract.TextOptions{Whole: whole || r.Selector != ""}), doc.Title, nil
	}
	host := ""
	if u, err := policy.ParseURL(state.URL); err == nil {
		host = u.Host.String()
	}
	var b strings.Builder
	for _, l := range doc.Links(host) {
		fmt.Fprintf(&b, "- %s -> %s\n", strconv.Quote(l.Text), s.shown(l.URL))
	}
	return b.String(), doc.Title, nil
}

func runRead(s *Session, ctx context.Context, raw json.RawMessage) ToolResult {
	selector := ""
	if err := answer.Decode(raw, map[string]any{"selector": &selector}); err != nil {
		return invalid("read", err)
	}
	return s.Read(ctx, selector).result("untrusted_page_text")
}

func runExtract(s *Session, ctx context.Context, raw json.RawMessage) ToolResult {
	var r ExtractRequest
	mode := ""
	if err := answer.Decode(raw, map[string]any{"mode": &mode, "selector": &r.Selector, "max_chars": &r.MaxChars, "offset": &r.Offset}); err != nil {
		return invalid("extract", err)
	}
	r.Mode = ExtractMode(mode)
	key := "untrusted_page_text"
	if r.Mode == ExtractLinks {
		key = "untrusted_links"
	}
	return s.Extract(ctx, r).result(key)
}

// result is a piece of a page as a tool answers it.
func (c Content) result(key string) ToolResult {
	w := &answer.Writer{}
	w.Outcome(string(c.Status), string(c.Reason), c.Hint, c.RetryAfter)
	w.Add("final_url", c.FinalURL)
	if c.Title != "" {
		w.Always("title", c.Title, strconv.Quote(c.Title))
	}
	w.Add("truncated", c.Truncated)
	w.Add("next_offset", c.NextOffset)
	w.Add("total_chars", c.TotalChars)
	if c.Status == StatusOK {
		w.Fence(key, c.Text)
	}
	return ToolResult{Text: w.Text.String(), Fields: w.Fields, IsError: c.Status != StatusOK}
}
