package tools

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/answer"
)

// writer builds the text and the fields of a result side by side.
type writer struct{ answer.Writer }

func (w *writer) add(key string, value any) { w.Add(key, value) }

// always writes one key; shown must be one line.
func (w *writer) always(key string, value any, shown string) { w.Always(key, value, shown) }

// fence writes page text between lines that the page cannot know.
func (w *writer) fence(key, text string) { w.Fence(key, text) }

func (w *writer) result(s bellglass.Status) Result {
	return Result{Text: w.Text.String(), Fields: w.Fields, IsError: s != bellglass.StatusOK}
}

// head writes what all read tools have in common.
func (w *writer) head(h bellglass.Head) {
	w.Outcome(string(h.Status), string(h.Reason), h.Hint, h.RetryAfter)
	w.add("final_url", h.FinalURL)
	w.add("http_status", h.HTTPStatus)
	if knownTypes[h.ContentType] {
		w.add("content_type", h.ContentType)
	} else if h.ContentType != "" { // the page's words
		w.always("content_type", h.ContentType, strconv.Quote(h.ContentType))
	}
	if h.Title != "" { // the page's words: quoted, so that they end where they end
		w.always("title", h.Title, strconv.Quote(h.Title))
	}
	if h.FileName != "" { // the page's words
		w.always("file_name", h.FileName, strconv.Quote(h.FileName))
	}
	w.add("size", int(h.Size))
	w.add("truncated", h.Truncated)
	w.add("next_offset", h.NextOffset)
	if h.HiddenUnknown { // without layout it is not known
		w.always("hidden_chars", nil, "null")
	}
	w.add("hidden_chars", h.HiddenChars)
	w.add("hidden_blocks", h.HiddenBlocks)
	w.add("frames_left_out", h.FramesLeftOut)
	if len(h.Signals) > 0 {
		w.always("signals", h.Signals, strings.Join(h.Signals, " "))
	}
	if h.Status == bellglass.StatusOK {
		w.always("rendered", h.Rendered, strconv.FormatBool(h.Rendered))
	}
	w.blocked(h.Blocked)
}

// knownTypes are media types that carry no message of a site's own.
var knownTypes = map[string]bool{
	"text/html": true, "application/xhtml+xml": true, "text/plain": true, "text/markdown": true, "text/csv": true,
	"text/css": true, "text/javascript": true, "application/javascript": true, "application/json": true,
	"application/ld+json": true, "application/xml": true, "text/xml": true, "application/rss+xml": true,
	"application/atom+xml": true, "application/pdf": true, "application/zip": true, "application/octet-stream": true,
	"image/svg+xml": true, "image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true,
	"audio/mpeg": true, "video/mp4": true,
}

// maxBlockedShown bounds the hosts named in one result: their names are the
// page's choice.
const maxBlockedShown = 5

func (w *writer) blocked(all []bellglass.Blocked) {
	if len(all) == 0 {
		return
	}
	total, rest := 0, 0
	counts := map[string]int{}
	var shown []string
	for i, b := range all {
		total += b.Count
		if i >= maxBlockedShown || b.Host == "" {
			rest += b.Count
			continue
		}
		host := clip(b.Host, 80)
		counts[host] += b.Count
		shown = append(shown, fmt.Sprintf("%s %d %s", host, b.Count, b.Reason))
	}
	if rest > 0 {
		counts["others"] = rest
		shown = append(shown, fmt.Sprintf("others %d", rest))
	}
	w.always("blocked_requests", counts, fmt.Sprintf("%d (%s)", total, strings.Join(shown, "; ")))
}

func clip(s string, n int) string { return answer.Clip(s, n) }
