package tab

import (
	"context"
	"fmt"
	"math"
	"strconv"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/bellglass/bellglass/internal/cdp"
)

// CoveredError: something else is on top of an element.
type CoveredError struct {
	By string // what it is, in the page's words, or ""
}

func (e *CoveredError) Error() string { return "tab: covered by " + strconv.Quote(e.By) }

// point maps a point of a frame's viewport to that of the main frame, and
// checks on the way up that in each frame around it the frame itself is what
// is there.
func (t *Tab) point(ctx context.Context, id cdpt.FrameID, x, y float64) (float64, float64, error) {
	for depth := 0; id != t.mainFrame(); depth++ {
		parent := t.around(id)
		if parent == nil || depth > maxFrameDepth+3 {
			return 0, 0, ErrGone
		}
		s := parent.session
		owner, err := cdpt.Call(ctx, s, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: id})
		if err != nil {
			return 0, 0, lostElement(ctx, err)
		}
		var by string
		if x, y, by, err = through(ctx, s, parent.id, owner.BackendNodeID, x, y); err != nil {
			return 0, 0, err
		}
		if by != "" {
			return 0, 0, &CoveredError{By: by}
		}
		id = parent.id
	}
	return x, y, nil
}

// around is the frame around another; nil if either is not there any more.
func (t *Tab) around(id cdpt.FrameID) *frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.frames[id]
	if f == nil {
		return nil
	}
	return t.frames[f.parent]
}

// through maps a point of a frame to the viewport of the one around it.
func through(ctx context.Context, s *cdp.Session, parent cdpt.FrameID, owner cdpt.BackendNodeID, x, y float64) (px, py float64, by string, err error) {
	w, err := cdpt.Call(ctx, s, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: parent, WorldName: world})
	if err != nil {
		return 0, 0, "", lostElement(ctx, err)
	}
	node, err := cdpt.Call(ctx, s, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: owner, ExecutionContextID: w.ExecutionContextID})
	if err != nil || node.Object == nil {
		return 0, 0, "", lostElement(ctx, err)
	}
	yes := true
	r, err := cdpt.Call(ctx, s, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		ObjectID: node.Object.ObjectID, ReturnByValue: &yes, Silent: &yes,
		FunctionDeclaration: throughScript,
		Arguments:           []*runtime.CallArgument{{Value: number(x)}, {Value: number(y)}},
	})
	if err != nil {
		return 0, 0, "", lostElement(ctx, err)
	}
	out, err := stringOf(r.ExceptionDetails, r.Result)
	if err != nil {
		return 0, 0, "", err
	}
	if _, err := fmt.Sscanf(out, "%g %g %q", &px, &py, &by); err != nil || math.IsNaN(px) || math.IsNaN(py) {
		return 0, 0, "", fmt.Errorf("tab: script: %q is no point", out)
	}
	return px, py, by, nil
}

func number(f float64) []byte { return strconv.AppendFloat(nil, f, 'g', -1, 64) }

// throughScript is called with a frame's element, and scrolls the point into
// view. It knows scaling, by the
// difference between the element's laid-out and its shown size; rotated frames
// miss the hit test and count as covered.
const throughScript = `function(x, y) {
	'use strict';
	const get = (proto, name) => Object.getOwnPropertyDescriptor(proto.prototype, name).get;
	const boxOf = Element.prototype.getBoundingClientRect, cs = getComputedStyle(this);
	const w = get(HTMLElement, 'offsetWidth').call(this) || 1, h = get(HTMLElement, 'offsetHeight').call(this) || 1;
	const left = get(Element, 'clientLeft').call(this) + parseFloat(cs.paddingLeft), top = get(Element, 'clientTop').call(this) + parseFloat(cs.paddingTop);
	let box = boxOf.call(this), px, py;
	const place = () => {
		box = boxOf.call(this);
		px = box.left + (left + x) * box.width / w, py = box.top + (top + y) * box.height / h;
		return px >= 0 && py >= 0 && px < innerWidth && py < innerHeight;
	};
	if (!place()) Element.prototype.scrollIntoView.call(this, { block: 'center', inline: 'center', behavior: 'instant' });
	if (!place()) scrollBy({ left: px - innerWidth / 2, top: py - innerHeight / 2, behavior: 'instant' });
	place();
	const root = Node.prototype.getRootNode.call(this);
	const at = root instanceof ShadowRoot ? ShadowRoot.prototype.elementFromPoint.call(root, px, py) : Document.prototype.elementFromPoint.call(document, px, py);
	let by = '';
	if (at !== this) {
		by = at ? get(Element, 'localName').call(at) : 'outside of the window';
		const text = at && at instanceof HTMLElement ? get(HTMLElement, 'innerText').call(at).trim().replace(/\s+/g, ' ').slice(0, 60) : '';
		if (text) by += ' "' + text + '"';
	}
	return px + ' ' + py + ' ' + JSON.stringify(by);
}`
