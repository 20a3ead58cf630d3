package look_test

import (
	"strings"
	"testing"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/look"
)

// TestFramesFindTheirPlaces: frames in the document, in shadow roots of both
// kinds and out of sight are grafted where they stand.
func TestFramesFindTheirPlaces(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.write(`<div id=open></div><button>One</button><div id=shut></div><button>Two</button><iframe srcdoc="<button>Plain</button>" width=100 height=50></iframe><iframe srcdoc="<button>Unseen</button>" style="display:none"></iframe><button>Three</button>
<script>
document.getElementById('open').attachShadow({mode:'open'}).innerHTML='<iframe srcdoc="<button>In an open root</button>" width=100 height=50></iframe>';
document.getElementById('shut').attachShadow({mode:'closed'}).innerHTML='<iframe srcdoc="<button>In a closed root</button>" width=100 height=50></iframe>';
</script>`)
	p.eval(0, `new Promise(r=>document.readyState==='complete'?r(''):addEventListener('load',()=>r('')))`)
	main := p.frame()
	main.ID = "main"
	tree, err := cdpt.Call(t.Context(), p.s, page.GetFrameTree, cdpt.Empty{})
	check(t, err)
	for _, c := range tree.FrameTree.ChildFrames {
		id := c.Frame.ID
		w, err := cdpt.Call(t.Context(), p.s, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: id, WorldName: "bellglass"})
		check(t, err)
		f, err := look.Parse(p.eval(w.ExecutionContextID, look.Script(look.Options{})))
		check(t, err)
		f.ID = string(id)
		n, err := look.FrameNode(t.Context(), p.s, p.world(), id)
		check(t, err)
		if n == 0 && len(f.Elements) == 0 { // a frame that is not displayed
			continue
		}
		if n == 0 || !main.Graft(-1, n, f) {
			t.Errorf("no place for %v", f.Elements)
		}
	}
	var tb digest.Table
	var names []string
	for _, e := range tb.Update(main).Elements {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, ", "); got != "In an open root, One, In a closed root, Two, Plain, Three" {
		t.Error(got)
	}
}
