package tab

import (
	"context"

	cdpt "github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// inSight reports whether a person can see the box of a frame that the walker
// did not come by, because its element is in a shadow tree. What cannot be
// found out is out of sight.
func (t *Tab) inSight(ctx context.Context, f frame) bool {
	t.mu.Lock()
	parent := t.frames[f.parent]
	t.mu.Unlock()
	if parent == nil {
		return false
	}
	s := parent.session
	owner, err := cdpt.Call(ctx, s, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: f.id})
	if err != nil {
		return false
	}
	w, err := cdpt.Call(ctx, s, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: parent.id, WorldName: world})
	if err != nil {
		return false
	}
	node, err := cdpt.Call(ctx, s, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: owner.BackendNodeID, ExecutionContextID: w.ExecutionContextID})
	if err != nil || node.Object == nil {
		return false
	}
	yes := true
	r, err := cdpt.Call(ctx, s, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		ObjectID: node.Object.ObjectID, FunctionDeclaration: sightScript, ReturnByValue: &yes,
	})
	var seen bool
	return err == nil && r.ExceptionDetails == nil && r.Result != nil && jsonv2.Unmarshal(r.Result.Value, &seen) == nil && seen
}

// sightScript judges the box of an element by the style of everything around
// it, and by whether a point of it is the topmost there. It goes up the flat
// tree, shadow hosts and slots included.
const sightScript = `function() {
	if (!this.checkVisibility({opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true})) return false;
	const box = this.getBoundingClientRect();
	let left = Math.max(box.left, -scrollX), top = Math.max(box.top, -scrollY), right = box.right, bottom = box.bottom;
	for (let e = this; e; e = e.assignedSlot || e.parentElement || (e.getRootNode().host ?? null)) {
		const s = getComputedStyle(e);
		if (+s.opacity < 0.1 || s.clipPath !== 'none' || /opacity\((0|0?\.0\d*)%?\)/.test(s.filter)) return false;
		if (e !== this && s.overflow !== 'visible') {
			const b = e.getBoundingClientRect();
			left = Math.max(left, b.left); top = Math.max(top, b.top);
			if (/hidden|clip/.test(s.overflowX)) right = Math.min(right, b.right);
			if (/hidden|clip/.test(s.overflowY)) bottom = Math.min(bottom, b.bottom);
		}
	}
	return right - left >= 4 && bottom - top >= 4;
}`
