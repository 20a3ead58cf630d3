package bellglass

import (
	"context"
	"time"
)

// SpanName names a part of a call.
type SpanName string

// The parts of calls. A part that does not happen has no span; one that happens
// again has another. Those of one call follow each other, except that SpanCall
// holds them all, SpanContext is a part of SpanAcquire if a call waits for it,
// and SpanSettle may be a part of SpanExtract or SpanAim, when a page has to be
// looked at again.
const (
	// SpanCall is the whole call.
	SpanCall SpanName = "call"
	// SpanAcquire is waiting for a blank page, and for a browser if there was
	// none; in an open session, waiting for the call before.
	SpanAcquire SpanName = "acquire"
	// SpanContext is making a blank page. It is nearly always made before it is
	// wanted: then Op is empty, and the context is nobody's.
	SpanContext SpanName = "context"
	// SpanRobots is waiting for the site's robots.txt.
	SpanRobots SpanName = "robots"
	// SpanNavigate is from asking for a document until it is parsed.
	SpanNavigate SpanName = "navigate"
	// SpanAim finds where to click, SpanAct is the input itself, until the page
	// has handled it.
	SpanAim SpanName = "aim"
	SpanAct SpanName = "act"
	// SpanSettle is waiting until the page has settled.
	SpanSettle SpanName = "settle"
	// SpanExtract looks at the page and takes from it what is in sight.
	SpanExtract SpanName = "extract"
	// SpanGuard judges what was found: by policy and guardrails.
	SpanGuard SpanName = "guard"
	// SpanRender writes what is shown: Markdown, or a digest.
	SpanRender SpanName = "render"
)

// Span is how long a part of a call took.
type Span struct {
	// Op names the call: browse, links, open, navigate, state, click, fill and
	// so on; empty if it is done for no call.
	Op   string
	Name SpanName
	// Start and End also hold the monotonic clock.
	Start, End time.Time
}

// opKey is the key of a call's name in its context.
type opKey struct{}

// timed gives the spans of a call its name.
func (b *Browser) timed(ctx context.Context, op string) context.Context {
	if b.o.OnSpan == nil {
		return ctx
	}
	return context.WithValue(ctx, opKey{}, op)
}

// span begins a part of the call that ctx is of; end ends it.
func (b *Browser) span(ctx context.Context, name SpanName) (end func()) {
	if b.o.OnSpan == nil {
		return func() {}
	}
	start := time.Now()
	return func() { b.spanned(ctx, string(name), start, time.Now()) }
}

// spanned tells of a part that has ended.
func (b *Browser) spanned(ctx context.Context, name string, start, end time.Time) {
	if b.o.OnSpan == nil {
		return
	}
	op, _ := ctx.Value(opKey{}).(string)
	b.o.OnSpan(ctx, Span{Op: op, Name: SpanName(name), Start: start, End: end})
}

// tabSpans is what package tab tells of its parts; nil if nobody wants to know.
func (b *Browser) tabSpans() func(ctx context.Context, name string, start, end time.Time) {
	if b.o.OnSpan == nil {
		return nil
	}
	return b.spanned
}
