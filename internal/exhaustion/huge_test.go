package exhaustion

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bellglass/bellglass"
)

// TestAPageOf250000Nodes: such a page is read, or given up for what it is, within
// the call's time, by a browser that may use no more memory than is set here;
// and what is told of it is bounded. The limit ends a browser that uses more, and
// the call would be told so.
func TestAPageOf250000Nodes(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	for i := range 125_000 {
		fmt.Fprintf(&page, "<p>line %d", i)
	}
	web.Handle("huge.test", html(page.String()))
	b := newBrowser(t, func(o *bellglass.Options) { o.MemoryLimit = 1536 << 20 })
	res := browse(t, b, "one", "http://huge.test/")
	may := []bellglass.Reason{"", bellglass.ReasonUnresponsive, bellglass.ReasonNavigationTimeout, bellglass.ReasonTooLarge}
	if !slices.Contains(may, res.Reason) {
		t.Errorf("got %s %s %v, want one of %q", res.Status, res.Reason, res.Err, may)
	}
	if n := len([]rune(res.Text)); n > bellglass.DefaultTextLimit {
		t.Errorf("%d characters", n)
	}
	if res.Status == bellglass.StatusOK && (!strings.HasPrefix(res.Text, "line 0\n") || !res.Truncated || res.NextOffset == 0 || res.TotalChars < 1_000_000) {
		t.Errorf("got %.60q, truncated %v, next %d of %d", res.Text, res.Truncated, res.NextOffset, res.TotalChars)
	}
	usable(t, b, "one")
}
