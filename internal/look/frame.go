package look

import (
	"context"
	"errors"
	"strconv"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
)

// FrameNode is the walker's number of the element that holds a child frame,
// for [digest.Frame.Graft]; zero if the last look did not come by it. s is the
// parent's session and world the parent's execution context of the scripts.
// It also knows frames in shadow trees, which window[i] leaves out.
func FrameNode(ctx context.Context, s cdpt.Session, world runtime.ExecutionContextID, frame cdpt.FrameID) (int64, error) {
	owner, err := cdpt.Call(ctx, s, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: frame})
	if err != nil {
		return 0, err
	}
	n, err := cdpt.Call(ctx, s, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: owner.BackendNodeID, ExecutionContextID: world})
	if err != nil {
		return 0, err
	}
	if n.Object == nil || n.Object.ObjectID == "" {
		return 0, errors.New("look: frame: no element")
	}
	defer cdpt.Call(context.WithoutCancel(ctx), s, runtime.ReleaseObject, runtime.ReleaseObjectParams{ObjectID: n.Object.ObjectID})
	yes := true
	v, err := cdpt.Call(ctx, s, runtime.CallFunctionOn, runtime.CallFunctionOnParams{FunctionDeclaration: numberOf, ObjectID: n.Object.ObjectID, ReturnByValue: &yes, Silent: &yes})
	if err != nil {
		return 0, err
	}
	if v.ExceptionDetails != nil || v.Result == nil {
		return 0, errors.New("look: frame: no number")
	}
	return strconv.ParseInt(string(v.Result.Value), 10, 64)
}

const numberOf = `function(){return globalThis[Symbol.for('bellglass.look')]?.get(document)?.numbers.get(this)||0}`
