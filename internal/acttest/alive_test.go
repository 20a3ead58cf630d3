package acttest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
)

// TestPagesOutliveBeingLookedAt: navigating and clicking again and again on a
// page with inputs and listeners leaves its process alive. Chromium 156 wraps
// what is inside of an input when it is asked for the listeners of all trees at
// once, and dies of it: every fifth round did.
func TestPagesOutliveBeingLookedAt(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`<form onsubmit="return false"><label>Search <input name=q></label> <button>Go</button></form>`)
	for i := range 20 {
		fmt.Fprintf(&b, `<section><h2>Entry %d</h2><p>Filed by <b>clerk %d</b></p><a href="/%d">Details</a><button data-open>Open entry</button><p hidden>No more.</p></section>`, i, i%7, i)
	}
	b.WriteString(`<script>document.addEventListener('click', async e => {
	const o = e.target.closest('button[data-open]');
	if (o) { o.textContent = 'Close entry'; o.nextElementSibling.hidden = false }
})
document.querySelector('[name=q]').addEventListener('input', () => {})</script>`)
	web.Handle("alive.test", testweb.HTML(b.String()))
	a := open(t, bellglass.SessionOptions{})
	for i := range 24 {
		a.goTo(fmt.Sprint("http://alive.test/", i))
		a.ok(a.click("Open entry"))
	}
}
