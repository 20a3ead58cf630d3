package tab

import (
	"context"
	"time"
)

// The parts of a read, and of a session's call, that [Request].Span and
// [LiveOptions].Span are told of.
const (
	spanNavigate = "navigate" // until the document is parsed
	spanAim      = "aim"
	spanAct      = "act"
	spanSettle   = "settle"
	spanExtract  = "extract"
)

// spanFunc is told of a part when it has ended. If nil, nobody is.
type spanFunc func(ctx context.Context, name string, start, end time.Time)

// begin begins a part.
func (f spanFunc) begin(ctx context.Context, name string) (end func()) {
	if f == nil {
		return func() {}
	}
	start := time.Now()
	return func() { f(ctx, name, start, time.Now()) }
}

// settled tells of the time since start as navigation, as far as a document was
// waited for, and as settling.
func (f spanFunc) settled(ctx context.Context, t *Tab, start time.Time) {
	if f == nil {
		return
	}
	now := time.Now()
	t.mu.Lock()
	parsed, committed := t.visit.doc.dcl, t.visit.doc.committed
	t.mu.Unlock()
	switch {
	case parsed.After(start):
		f(ctx, spanNavigate, start, parsed)
		f(ctx, spanSettle, parsed, now)
	case committed.After(start) || committed.IsZero(): // not parsed, or not there
		f(ctx, spanNavigate, start, now)
	default:
		f(ctx, spanSettle, start, now)
	}
}
