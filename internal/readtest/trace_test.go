package readtest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass"
)

// TestSpansTellWhereTheTimeOfAReadWent: each part once, in order, within the
// call, and with the caller's context.
func TestSpansTellWhereTheTimeOfAReadWent(t *testing.T) {
	type key struct{}
	var mu sync.Mutex
	spans := map[string][]bellglass.Span{}
	made := 0
	b := newBrowser(t, func(o *bellglass.Options) {
		o.OnSpan = func(ctx context.Context, s bellglass.Span) {
			mu.Lock()
			defer mu.Unlock()
			if s.Op == "" && s.Name == bellglass.SpanContext {
				made++
				return
			}
			if ctx.Value(key{}) != "caller" {
				t.Errorf("%s of %q: not the caller's context", s.Name, s.Op)
			}
			if s.Name != bellglass.SpanContext { // of the browser that this call had started
				spans[s.Op] = append(spans[s.Op], s)
			}
		}
	})
	ctx := context.WithValue(t.Context(), key{}, "caller")
	r := bellglass.Request{Principal: bellglass.Principal{Tenant: "t", Run: "r"}, URL: "http://site.test/late?ms=50"}
	if res, err := b.Browse(ctx, r); err != nil || res.Status != bellglass.StatusOK {
		t.Fatal(err, res.Reason, res.Err)
	}
	r.Fresh = true
	if res, err := b.Links(ctx, r); err != nil || res.Status != bellglass.StatusOK {
		t.Fatal(err, res.Reason, res.Err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, op := range []string{"browse", "links"} {
		var names []bellglass.SpanName
		whole := spans[op][len(spans[op])-1]
		for _, s := range spans[op] {
			names = append(names, s.Name)
			if s.Start.Before(whole.Start) || s.End.After(whole.End) || s.End.Before(s.Start) {
				t.Errorf("%s: %s from %v to %v, the call from %v to %v", op, s.Name, s.Start, s.End, whole.Start, whole.End)
			}
		}
		want := []bellglass.SpanName{"acquire", "robots", "navigate", "settle", "extract", "guard", "render", "call"}
		if diff := cmp.Diff(want, slices.Compact(names)); diff != "" {
			t.Errorf("%s: -want +got\n%s", op, diff)
		}
	}
	if made == 0 {
		t.Error("no span of a page that was made ahead")
	}
}
