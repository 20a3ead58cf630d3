package look

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/domdebugger"
	"github.com/chromedp/cdproto/runtime"
)

// Revealer tells the world of a frame what only the browser knows: the closed
// shadow roots of the elements that the last look found suspicious, and which
// elements listen for clicks. The zero value is ready; one serves all frames
// of one session with the browser, one call at a time.
//
// What it does not find: a closed root of a built-in element (div, section, …)
// that shows all children of its element in slots, beside controls of its own.
type Revealer struct {
	// Ears is a context of the same frame in a world that nothing else uses, in
	// which listeners are asked for. The browser goes through the frames in the
	// frame, too, and wraps their nodes in that world's objects of the wrong
	// frame: in the world of the scripts these would be instances of nothing
	// (seen on 156). If zero, the world of the scripts: for frames without
	// frames.
	Ears runtime.ExecutionContextID

	heard map[cdpt.BackendNodeID]bool // asked already
}

// Reveal reports how much there is that the world did not know; if there is
// any, another look shows more. s is the frame's session and world the
// execution context of the scripts in it.
func (v *Revealer) Reveal(ctx context.Context, s cdpt.Session, world runtime.ExecutionContextID) (int, error) {
	r := revealing{s: s, world: world, ears: cmp.Or(v.Ears, world)}
	memory, err := r.object(ctx, "globalThis[Symbol.for('bellglass.look')]?.get(document)||{}")
	if err != nil {
		return 0, err
	}
	defer cdpt.Call(context.WithoutCancel(ctx), s, runtime.ReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: group})
	roots, err := r.roots(ctx, memory)
	if err != nil {
		return 0, err
	}
	if len(v.heard) > maxHeard || v.heard == nil {
		v.heard = map[cdpt.BackendNodeID]bool{}
	}
	ears, err := r.listeners(ctx, v.heard)
	if err != nil {
		return 0, err
	}
	return r.hand(ctx, memory, append(roots, ears...))
}

type revealing struct {
	s     cdpt.Session
	world runtime.ExecutionContextID
	ears  runtime.ExecutionContextID
}

// group holds the objects that a reveal takes hold of in the browser.
const group = "bellglass-reveal"

// object evaluates an expression to an object in the world.
func (r revealing) object(ctx context.Context, expression string) (runtime.RemoteObjectID, error) {
	yes := true
	v, err := cdpt.Call(ctx, r.s, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ContextID: r.world, ObjectGroup: group, Silent: &yes})
	if err != nil {
		return "", err
	}
	if v.ExceptionDetails != nil || v.Result == nil || v.Result.ObjectID == "" {
		return "", errors.New("look: reveal: no object")
	}
	return v.Result.ObjectID, nil
}

// roots asks about the suspects, and returns their closed roots.
func (r *revealing) roots(ctx context.Context, memory runtime.RemoteObjectID) ([]cdpt.BackendNodeID, error) {
	list, err := cdpt.Call(ctx, r.s, runtime.CallFunctionOn, runtime.CallFunctionOnParams{FunctionDeclaration: takeSuspects, ObjectID: memory, ObjectGroup: group})
	if err != nil || list.ExceptionDetails != nil || list.Result == nil || list.Result.ObjectID == "" {
		return nil, err
	}
	own := true
	props, err := cdpt.Call(ctx, r.s, runtime.GetProperties, runtime.GetPropertiesParams{ObjectID: list.Result.ObjectID, OwnProperties: &own})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []cdpt.BackendNodeID
	var wg sync.WaitGroup
	for _, p := range props.Result {
		if p.Value == nil || p.Value.Subtype != "node" || p.Value.ObjectID == "" {
			continue
		}
		wg.Go(func() {
			roots := r.closedRoots(ctx, p.Value.ObjectID)
			mu.Lock()
			defer mu.Unlock()
			found = append(found, roots...)
		})
	}
	wg.Wait()
	return found, nil
}

// takeSuspects hands the suspects out, once.
const takeSuspects = `function(){const a=this.suspected||[];this.suspected=[];this.revealed=this.walked;for(const e of a)this.asked.set(e,this.signature(e));return a}`

// closedRoots are the closed shadow root of a node and those within it.
func (r *revealing) closedRoots(ctx context.Context, object runtime.RemoteObjectID) []cdpt.BackendNodeID {
	d, err := cdpt.Call(ctx, r.s, dom.DescribeNode, dom.DescribeNodeParams{ObjectID: object})
	if err != nil {
		return nil
	}
	found := closedIn(d.Node, nil)
	if len(found) == 0 {
		return nil
	}
	all, yes := int64(-1), true
	if d, err = cdpt.Call(ctx, r.s, dom.DescribeNode, dom.DescribeNodeParams{BackendNodeID: found[0], Depth: &all, Pierce: &yes}); err != nil {
		return found
	}
	return closedIn(d.Node, found)
}

// closedIn adds the closed roots below a node, outer ones first.
func closedIn(n *cdpt.Node, found []cdpt.BackendNodeID) []cdpt.BackendNodeID {
	if n == nil || len(found) > maxListeners {
		return found
	}
	for _, root := range n.ShadowRoots {
		if root.ShadowRootType == cdpt.ShadowRootTypeClosed {
			found = append(found, root.BackendNodeID)
		}
		found = closedIn(root, found)
	}
	for _, c := range n.Children {
		found = closedIn(c, found)
	}
	return found
}

const (
	maxListeners = 100   // elements that listen and are asked about in one call
	maxHeard     = 20000 // that are remembered
)

// listeners finds elements on which a script listens for clicks and that were
// not asked about before.
func (r *revealing) listeners(ctx context.Context, heard map[cdpt.BackendNodeID]bool) ([]cdpt.BackendNodeID, error) {
	doc, err := revealing{s: r.s, world: r.ears}.object(ctx, "document")
	if err != nil {
		return nil, err
	}
	all, yes := int64(-1), true
	l, err := cdpt.Call(ctx, r.s, domdebugger.GetEventListeners, domdebugger.GetEventListenersParams{ObjectID: doc, Depth: &all, Pierce: &yes})
	if err != nil {
		return nil, err
	}
	var found []cdpt.BackendNodeID
	for _, e := range l.Listeners {
		switch e.Type {
		case "click", "mousedown", "mouseup", "pointerdown", "pointerup", "touchstart", "touchend":
			if id := e.BackendNodeID; id != 0 && !heard[id] && len(found) < maxListeners {
				heard[id] = true
				found = append(found, id)
			}
		}
	}
	return r.own(ctx, found)
}

// own leaves out the nodes of other frames. They are looked at in the world in
// which that does no harm.
func (r *revealing) own(ctx context.Context, nodes []cdpt.BackendNodeID) ([]cdpt.BackendNodeID, error) {
	if len(nodes) == 0 || r.ears == r.world {
		return nodes, nil
	}
	objects := r.resolve(ctx, nodes, r.ears)
	var ids []cdpt.BackendNodeID
	var args []*runtime.CallArgument
	for i, o := range objects {
		if o != "" {
			ids, args = append(ids, nodes[i]), append(args, &runtime.CallArgument{ObjectID: o})
		}
	}
	if len(args) == 0 {
		return nil, nil
	}
	yes := true
	v, err := cdpt.Call(ctx, r.s, runtime.CallFunctionOn, runtime.CallFunctionOnParams{FunctionDeclaration: ofDocument, ExecutionContextID: r.ears, Arguments: args, ReturnByValue: &yes, Silent: &yes})
	if err != nil {
		return nil, err
	}
	var is string
	if v.ExceptionDetails != nil || v.Result == nil || json.Unmarshal(v.Result.Value, &is) != nil || len(is) != len(ids) {
		return nil, errors.New("look: reveal: no answer")
	}
	var mine []cdpt.BackendNodeID
	for i, id := range ids {
		if is[i] == '1' {
			mine = append(mine, id)
		}
	}
	return mine, nil
}

// ofDocument tells for each node whether it is the frame's own.
const ofDocument = `function(...nodes){const doc=Object.getOwnPropertyDescriptor(Node.prototype,'ownerDocument').get;return nodes.map(n=>doc.call(n)===document?1:0).join('')}`

// resolve takes hold of nodes in a context; "" stands for those that cannot be
// had.
func (r *revealing) resolve(ctx context.Context, nodes []cdpt.BackendNodeID, in runtime.ExecutionContextID) []runtime.RemoteObjectID {
	objects := make([]runtime.RemoteObjectID, len(nodes))
	var wg sync.WaitGroup
	for i, id := range nodes {
		wg.Go(func() {
			n, err := cdpt.Call(ctx, r.s, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: id, ExecutionContextID: in, ObjectGroup: group})
			if err == nil && n.Object != nil {
				objects[i] = n.Object.ObjectID
			}
		})
	}
	wg.Wait()
	return objects
}

// hand gives nodes to the world's memory, and returns how many were new to it.
func (r *revealing) hand(ctx context.Context, memory runtime.RemoteObjectID, nodes []cdpt.BackendNodeID) (int, error) {
	if len(nodes) == 0 {
		return 0, nil
	}
	objects := r.resolve(ctx, nodes, r.world)
	var args []*runtime.CallArgument
	for _, o := range objects {
		if o != "" {
			args = append(args, &runtime.CallArgument{ObjectID: o})
		}
	}
	yes := true
	v, err := cdpt.Call(ctx, r.s, runtime.CallFunctionOn, runtime.CallFunctionOnParams{FunctionDeclaration: register, ObjectID: memory, Arguments: args, ReturnByValue: &yes, Silent: &yes})
	if err != nil {
		return 0, err
	}
	if v.ExceptionDetails != nil || v.Result == nil {
		return 0, errors.New("look: reveal: the world did not take what was found")
	}
	n, err := strconv.Atoi(string(v.Result.Value))
	return n, err
}

// register remembers closed roots and elements that listen.
const register = `function(...nodes){let n=0;const host=Object.getOwnPropertyDescriptor(ShadowRoot.prototype,'host').get;
for(const x of nodes){if(x instanceof ShadowRoot){const h=host.call(x);if(!this.closed.has(h))this.closed.set(h,x),n++}
else if(x instanceof Element&&!this.heard.has(x)){this.heard.add(x);this.ears=true;if(!/^(?:a|button|input|select|textarea|html|body)$/.test(x.localName))n++}}
return n}`
