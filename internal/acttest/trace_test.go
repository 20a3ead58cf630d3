package acttest

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass"
)

// TestSpansTellWhereTheTimeOfAClickWent.
func TestSpansTellWhereTheTimeOfAClickWent(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	spans := map[string]map[bellglass.SpanName]int{}
	o := options()
	o.OnSpan = func(_ context.Context, s bellglass.Span) {
		mu.Lock()
		defer mu.Unlock()
		if s.End.Before(s.Start) {
			t.Errorf("%s of %s ended before it began", s.Name, s.Op)
		}
		if spans[s.Op] == nil {
			spans[s.Op] = map[bellglass.SpanName]int{}
		}
		spans[s.Op][s.Name]++
	}
	b, err := bellglass.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	url := serve("spans.test", `<!doctype html><title>Spans</title><button onclick="this.textContent='clicked'">Go</button>`)
	err = b.With(t.Context(), bellglass.Principal{Tenant: "t", Run: "r"}, bellglass.SessionOptions{Allow: []string{"spans.test"}, AllowInsecureHTTP: true}, func(s *bellglass.Session) error {
		v := s.Navigate(t.Context(), bellglass.NavigateRequest{URL: url})
		if v.Status != bellglass.StatusOK {
			t.Fatal(v.Reason, v.Err)
		}
		v = s.Click(t.Context(), bellglass.ClickRequest{Ref: bellglass.Ref{Index: v.Page.Elements[0].Index, Generation: v.Page.Generation}})
		if v.Status != bellglass.StatusOK {
			t.Fatal(v.Reason, v.Err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for op, parts := range map[string][]bellglass.SpanName{
		"open":     {"acquire", "call"},
		"navigate": {"acquire", "navigate", "settle", "extract", "guard", "render", "call"},
		"click":    {"acquire", "aim", "act", "settle", "extract", "guard", "render", "call"},
	} {
		got := map[bellglass.SpanName]bool{}
		for name := range spans[op] {
			got[name] = true
		}
		delete(got, bellglass.SpanContext)
		want := map[bellglass.SpanName]bool{}
		for _, name := range parts {
			want[name] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", op, diff)
		}
		if n := spans[op][bellglass.SpanCall]; n != 1 {
			t.Errorf("%s: %d calls", op, n)
		}
	}
}
