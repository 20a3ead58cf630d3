package readtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
)

// TestHiddenTextIsShownToWhoAsks: what is left out of a page is told stretch by
// stretch, that of frames too, to a caller who asks for it and to no other; and
// it is counted.
func TestHiddenTextIsShownToWhoAsks(t *testing.T) {
	t.Parallel()
	web.Handle("left.test", testweb.HTML(`<main style="background:#fff"><p>Words that everybody sees.</p>
		<p hidden>first stretch</p><p style="color:#fff">goes on</p><p>More words.</p>
		<p style="position:absolute;left:-9999px">second </p>
		<p>The end.</p><iframe srcdoc="<p>in the frame</p><p hidden>third"></iframe>
		<iframe style="display:none" srcdoc="<p>fourth"></iframe>
		<div style="position:relative"><p>under cover</p><div style="position:absolute;inset:0;background:#fff;z-index:9"></div></div></main>`))
	b := newBrowser(t, func(o *bellglass.Options) { o.CacheTTL = 0 })
	r := bellglass.Request{Principal: who, URL: "http://left.test/"}
	res := suite.BrowseAs(t, b, r)
	if res.Status != bellglass.StatusOK || res.Hidden != nil || res.HiddenBlocks != 5 {
		t.Errorf("not asked for: %s, %d blocks, %q", res.Status, res.HiddenBlocks, res.Hidden)
	}
	r.ShowHidden = true
	asked := suite.BrowseAs(t, b, r)
	want := []string{"first stretch goes on", "second", "under cover", "third", "fourth"}
	if diff := cmp.Diff(want, asked.Hidden); diff != "" {
		t.Errorf("hidden (-want +got):\n%s", diff)
	}
	if asked.Text != res.Text || !strings.Contains(asked.Text, "The end.") || strings.Contains(asked.Text, "stretch") {
		t.Errorf("the text changed: %q, before %q", asked.Text, res.Text)
	}
	r.ShowHidden = false
	again := suite.BrowseAs(t, b, r)
	if again.Hidden != nil || again.Text != res.Text {
		t.Errorf("later, not asked for: %q", again.Hidden)
	}

	chars := int64(res.HiddenChars)
	wantStats := bellglass.Stats{
		Calls: map[bellglass.Reason]int64{"": 3}, Pages: 2, Signals: map[string]int64{"low_content": 2},
		HiddenChars: 2 * chars, HiddenBlocks: 10, HiddenPages: 2,
	}
	if diff := cmp.Diff(wantStats, b.Stats()); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	refused := suite.BrowseAs(t, b, bellglass.Request{Principal: who, URL: "http://10.0.0.1/"})
	if got := b.Stats(); got.Calls[refused.Reason] != 1 || refused.Reason == "" || got.Pages != 2 {
		t.Errorf("after %s: %+v", refused.Reason, got)
	}
}

// TestMuchHiddenTextIsBounded: what is told of it is.
func TestMuchHiddenTextIsBounded(t *testing.T) {
	t.Parallel()
	web.Handle("much-left.test", testweb.HTML(`<p>Words.<div hidden id=h></div><script>h.textContent = 'smuggled \u{e0041}words '.repeat(20000)</script>`))
	res := suite.BrowseAs(t, bg, bellglass.Request{Principal: who, URL: "http://much-left.test/", ShowHidden: true})
	if len(res.Hidden) != 1 || len(res.Hidden[0]) > 100_000 || len(res.Hidden[0]) < 50_000 || strings.Contains(res.Hidden[0], "\U000e0041") || res.HiddenChars < 300_000 {
		t.Errorf("%d stretches, %d characters hidden", len(res.Hidden), res.HiddenChars)
	}
}
