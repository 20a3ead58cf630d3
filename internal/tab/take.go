package tab

import (
	"context"
	"mime"
	"path"
	"strconv"
	"strings"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/io"
	"github.com/chromedp/cdproto/network"

	"github.com/bellglass/bellglass/internal/cdp"
)

// takePattern pauses the answer to the first document, if that is asked for: a
// body that no browser renders, or that it would take for a download, is then
// read as it came. It costs one exchange with the browser. Once a document is
// there, judgePatterns take its place.
var takePattern = &fetch.RequestPattern{URLPattern: "*", ResourceType: network.ResourceTypeDocument, RequestStage: fetch.RequestStageResponse}

// takeChunk is the most bytes asked for at a time, for the browser holds them
// until so many are there.
const takeChunk = 256 << 10

// Body is a response's body, decompressed, as it came.
type Body struct {
	Bytes []byte
	// Charset is the one that the response declares, in lower case; may be
	// empty, or no name of a charset at all.
	Charset string
}

// taken is a body that is being read, or was. It is guarded by Tab.mu.
type taken struct {
	url, mime, charset string
	status             int
	header             string // the one asked for
	retryAfter         string
	body               []byte
	size               int64 // as declared; zero if not, or of the compressed body
	done               bool
	broken             bool // before its end
	late               bool // when time was up

	session *cdp.Session
	request fetch.RequestID
	over    chan struct{} // closed when done is set
}

// answered is told that the answer to a document's request is there, and waits
// for leave. It runs on the reading goroutine.
func (t *Tab) answered(s *cdp.Session, ev *fetch.EventRequestPaused) {
	var took *taken
	t.update(func(v *visit, _ time.Time) {
		if v.committed == 0 && v.taken == nil && ev.FrameID == t.mainFrame() {
			if took = v.take(ev); took != nil {
				took.session, took.over = s, make(chan struct{})
			}
		}
	})
	if took == nil {
		cdp.Go(s, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
		return
	}
	t.helpers.Go(func() {
		ctx, cancel := t.whileAlive(context.Background())
		defer cancel()
		t.readBody(ctx, s, ev, took)
	})
}

// take decides whether the body of this answer is wanted.
func (v *visit) take(ev *fetch.EventRequestPaused) *taken {
	if v.req.Take == nil && v.req.Head == 0 || ev.ResponseErrorReason != "" || ev.Request == nil || ev.ResponseStatusCode >= 300 && ev.ResponseStatusCode < 400 {
		return nil
	}
	n := &taken{url: ev.Request.URL + ev.Request.URLFragment, status: int(ev.ResponseStatusCode), request: ev.RequestID}
	coded := false
	for _, h := range ev.ResponseHeaders {
		switch {
		case v.req.Head == 0 && strings.EqualFold(h.Name, "content-disposition") && isAttachment(h.Value):
			return nil // refused as the download that it is
		case strings.EqualFold(h.Name, "content-type"):
			typ, params, err := mime.ParseMediaType(h.Value)
			if err != nil && typ == "" && v.req.Head == 0 {
				return nil
			}
			n.mime, n.charset = typ, strings.ToLower(params["charset"])
		case strings.EqualFold(h.Name, "content-length"):
			n.size = size(h.Value)
		case strings.EqualFold(h.Name, "content-encoding"):
			coded = true
		case v.req.Header != "" && strings.EqualFold(h.Name, v.req.Header):
			n.header = h.Value
		case strings.EqualFold(h.Name, "retry-after"):
			n.retryAfter = h.Value
		}
	}
	if v.req.Head == 0 && (n.mime == "" || !v.req.Take(n.mime)) {
		return nil
	}
	if coded {
		n.size = 0
	}
	v.taken = n
	return n
}

// readBody reads the body of a paused answer to its end, and ends the
// navigation; or gives the body back to be rendered.
func (t *Tab) readBody(ctx context.Context, s *cdp.Session, ev *fetch.EventRequestPaused, n *taken) {
	err := t.drain(ctx, s, ev.RequestID, n)
	t.mu.Lock()
	render, head := t.visit.req.Render, t.visit.req.Head
	body := n.body
	t.mu.Unlock()
	if typ := ""; err == nil && render != nil && head == 0 {
		if typ = render(n.mime, n.charset, body); typ != "" {
			t.update(func(v *visit, _ time.Time) { v.taken, v.given = nil, n.mime })
			cdp.Go(s, fetch.FulfillRequest, fetch.FulfillRequestParams{
				RequestID: ev.RequestID, ResponseCode: ev.ResponseStatusCode, ResponseHeaders: retyped(ev.ResponseHeaders, typ), Body: body,
			})
			return
		}
	}
	t.update(func(*visit, time.Time) { n.done, n.broken = true, err != nil })
	close(n.over)
	cdp.Go(s, fetch.FailRequest, fetch.FailRequestParams{RequestID: ev.RequestID, ErrorReason: network.ErrorReasonAborted})
}

// drain reads the body until its end, or until it is too large.
func (t *Tab) drain(ctx context.Context, s *cdp.Session, id fetch.RequestID, n *taken) error {
	body, err := cdpt.Call(ctx, s, fetch.TakeResponseBodyAsStream, fetch.TakeResponseBodyAsStreamParams{RequestID: id})
	for err == nil {
		var r io.ReadResult
		r, err = cdpt.Call(ctx, s, io.Read, io.ReadParams{Handle: body.Stream, Size: takeChunk})
		if err != nil {
			break
		}
		enough, fatal := false, false
		t.update(func(v *visit, _ time.Time) {
			n.body = append(n.body, r.Data...)
			if head := v.req.Head; head > 0 && len(n.body) >= head {
				n.body, n.size, enough = n.body[:head], 0, true
			}
			if limit := v.req.MaxBytes; limit > 0 && int64(len(n.body)) > limit {
				v.fatal, fatal = ErrTooLarge, true
			}
		})
		if r.EOF || enough || fatal {
			break
		}
	}
	return err
}

// retyped returns the headers with another content type, and without what is
// true of the body only as it came over the network.
func retyped(headers []*fetch.HeaderEntry, typ string) []*fetch.HeaderEntry {
	out := []*fetch.HeaderEntry{{Name: "Content-Type", Value: typ}}
	for _, h := range headers {
		switch strings.ToLower(h.Name) {
		case "content-type", "content-encoding", "content-length", "transfer-encoding":
		default:
			out = append(out, h)
		}
	}
	return out
}

// cutGrace is how long the browser may take to hand over what it holds of a
// body that was cut off.
const cutGrace = 300 * time.Millisecond

// cutBody ends the reading of a body that does not end.
func (t *Tab) cutBody(n *taken) {
	t.mu.Lock()
	done := n.done
	t.mu.Unlock()
	if done {
		return
	}
	cdp.Go(n.session, fetch.FailRequest, fetch.FailRequestParams{RequestID: n.request, ErrorReason: network.ErrorReasonAborted})
	select {
	case <-n.over:
	case <-time.After(cutGrace):
	}
}

// fromBody makes a page of a body that was taken.
func (t *Tab) fromBody(n *taken, v *visit) (*Page, error) {
	t.cutBody(n)
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &Page{
		URL: n.url, Status: n.status, ContentType: n.mime, Header: n.header, RetryAfter: n.retryAfter, Redirects: v.redirects,
		Body: &Body{Bytes: n.body, Charset: n.charset}, IsRaw: true,
		TimedOut: n.late, Partial: n.broken || n.late || n.size > int64(len(n.body)),
	}
	switch {
	case len(n.body) > 0:
		return p, nil
	case n.late:
		return p, ErrTimeout
	case n.broken:
		return p, &NetError{URL: n.url, Text: "net::ERR_CONNECTION_CLOSED", Status: n.status}
	}
	return p, ErrEmpty
}

// isAttachment reports whether a Content-Disposition asks for the response to
// be saved. What a browser does not understand, it saves (RFC 6266 §4.2).
func isAttachment(disposition string) bool {
	kind, _, _ := strings.Cut(disposition, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "attachment"
}

// FileName returns the name that a response proposes for its file, or the last
// part of its address.
func FileName(disposition, url string) string {
	if _, params, err := mime.ParseMediaType(disposition); err == nil && params["filename"] != "" {
		return path.Base(strings.ReplaceAll(params["filename"], `\`, "/"))
	}
	url = sansFragment(url)
	url, _, _ = strings.Cut(url, "?")
	_, url, _ = strings.Cut(url, "://")
	if i := strings.LastIndex(url, "/"); i >= 0 {
		return url[i+1:]
	}
	return ""
}

// size reads a Content-Length; 0 is none that can be read.
func size(length string) int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(length), 10, 64); err == nil && n >= 0 {
		return n
	}
	return 0
}
