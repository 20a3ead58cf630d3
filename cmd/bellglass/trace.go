package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/bellglass/bellglass"
)

// trace collects the spans of one call.
type trace struct {
	mu    sync.Mutex
	spans []bellglass.Span
}

// onto has a browser that reads once tell its spans.
func (t *trace) onto(o *bellglass.Options) {
	onePage(o)
	o.OnSpan = func(_ context.Context, s bellglass.Span) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.spans = append(t.spans, s)
	}
}

// span is one in results as JSON; times are in milliseconds since the call's
// begin. Of what was made ready for nobody Op is empty.
type span struct {
	Name  string  `json:"span"`
	Start float64 `json:"start_ms"`
	Took  float64 `json:"ms"`
	Op    string  `json:"op"`
}

// list returns the spans in the order of their beginning, the call first.
func (t *trace) list() []span {
	t.mu.Lock()
	all := slices.Clone(t.spans)
	t.mu.Unlock()
	slices.SortStableFunc(all, func(a, b bellglass.Span) int {
		return cmp.Or(a.Start.Compare(b.Start), b.End.Compare(a.End))
	})
	out := []span{}
	if len(all) == 0 {
		return out
	}
	begin := all[0].Start
	for _, s := range all {
		out = append(out, span{
			Name: string(s.Name), Op: s.Op,
			Start: float64(s.Start.Sub(begin).Microseconds()) / 1000, Took: float64(s.End.Sub(s.Start).Microseconds()) / 1000,
		})
	}
	return out
}

// print writes a line for each.
func (t *trace) print(w io.Writer) {
	for _, s := range t.list() {
		note := ""
		if s.Op == "" {
			note = " (ahead)"
		}
		fmt.Fprintf(w, "bellglass: %9.1f ms  + %9.1f ms  %s%s\n", s.Start, s.Took, s.Name, note)
	}
}
