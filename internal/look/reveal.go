package look

import (
	"context"
	"errors"
	"slices"
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
// that shows all children of its element in slots, beside controls of its own;
// listeners beyond the first maxRoots shadow roots of a document.
type Revealer struct {
	heard map[cdpt.BackendNodeID]bool // asked already
}

// Reveal reports how much there is that the world did not know; if there is
// any, another look shows more. s is the frame's session and world the
// execution context of the scripts in it.
func (v *Revealer) Reveal(ctx context.Context, s cdpt.Session, world runtime.ExecutionContextID) (int, error) {
	r := revealing{s: s, world: world}
	memory, err := r.object(ctx, "globalThis[Symbol.for('bellglass.look')]?.get(document)||{}")
	if err != nil {
		return 0, err
	}
	defer cdpt.Call(context.WithoutCancel(ctx), s, runtime.ReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: group})
	suspects, err := r.list(ctx, memory, takeSuspects)
	if err != nil {
		return 0, err
	}
	closed := r.each(suspects, func(o runtime.RemoteObjectID) []cdpt.BackendNodeID { return r.closedRoots(ctx, o) })
	trees, err := r.list(ctx, memory, knownTrees)
	if err != nil {
		return 0, err
	}
	roots := r.each(trees, func(o runtime.RemoteObjectID) []cdpt.BackendNodeID {
		d, err := cdpt.Call(ctx, s, dom.DescribeNode, dom.DescribeNodeParams{ObjectID: o})
		if err != nil || d.Node == nil {
			return nil
		}
		return []cdpt.BackendNodeID{d.Node.BackendNodeID}
	})
	if len(v.heard) > maxHeard || v.heard == nil {
		v.heard = map[cdpt.BackendNodeID]bool{}
	}
	return r.hand(ctx, memory, append(closed, r.listeners(ctx, append(roots, closed...), v.heard)...))
}

type revealing struct {
	s     cdpt.Session
	world runtime.ExecutionContextID
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

// list calls a function of the world's memory that returns nodes.
func (r revealing) list(ctx context.Context, memory runtime.RemoteObjectID, function string) ([]runtime.RemoteObjectID, error) {
	list, err := cdpt.Call(ctx, r.s, runtime.CallFunctionOn, runtime.CallFunctionOnParams{FunctionDeclaration: function, ObjectID: memory, ObjectGroup: group})
	if err != nil || list.ExceptionDetails != nil || list.Result == nil || list.Result.ObjectID == "" {
		return nil, err
	}
	own := true
	props, err := cdpt.Call(ctx, r.s, runtime.GetProperties, runtime.GetPropertiesParams{ObjectID: list.Result.ObjectID, OwnProperties: &own})
	if err != nil {
		return nil, err
	}
	var nodes []runtime.RemoteObjectID
	for _, p := range props.Result {
		if p.Value != nil && p.Value.Subtype == "node" && p.Value.ObjectID != "" {
			nodes = append(nodes, p.Value.ObjectID)
		}
	}
	return nodes, nil
}

// each asks about every node at once. The answers are in the nodes' order.
func (r revealing) each(nodes []runtime.RemoteObjectID, ask func(runtime.RemoteObjectID) []cdpt.BackendNodeID) []cdpt.BackendNodeID {
	found := make([][]cdpt.BackendNodeID, len(nodes))
	var wg sync.WaitGroup
	for i, o := range nodes {
		wg.Go(func() { found[i] = ask(o) })
	}
	wg.Wait()
	return slices.Concat(found...)
}

// takeSuspects hands the suspects out, once.
const takeSuspects = `function(){const a=this.suspected||[];this.suspected=[];this.revealed=this.walked;for(const e of a)this.asked.set(e,this.signature(e));return a}`

// knownTrees hands out the document and the shadow roots that the last look
// came by, as many of them as maxRoots allows.
const knownTrees = `function(){return [document,...(this.roots||[]).slice(0,100)]}`

// closedRoots are the closed shadow root of a node and those within it.
func (r revealing) closedRoots(ctx context.Context, object runtime.RemoteObjectID) []cdpt.BackendNodeID {
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
	// maxRoots bounds the shadow trees that are asked about, at three calls each.
	maxRoots = 100
)

// listeners finds elements of some trees on which a script listens for clicks
// and that were not asked about before.
//
// They are asked for tree by tree, and in the page's own world. The browser can
// go through the trees within a tree by itself (pierce), and answer in any
// world; but then it wraps every node on its way in an object of that world,
// those inside of its own input elements and those of other frames' documents
// too. The latter are instances of nothing there, and of the former the page's
// process dies soon after (a segmentation fault while garbage is collected, seen
// on 156 in every fourth document with an input).
func (r revealing) listeners(ctx context.Context, trees []cdpt.BackendNodeID, heard map[cdpt.BackendNodeID]bool) []cdpt.BackendNodeID {
	objects := r.resolve(ctx, trees[:min(len(trees), maxRoots)], 0)
	listening := r.each(objects, func(tree runtime.RemoteObjectID) (found []cdpt.BackendNodeID) {
		all := int64(-1)
		l, err := cdpt.Call(ctx, r.s, domdebugger.GetEventListeners, domdebugger.GetEventListenersParams{ObjectID: tree, Depth: &all})
		if err != nil { // the tree may be gone
			return nil
		}
		for _, e := range l.Listeners {
			switch e.Type {
			case "click", "mousedown", "mouseup", "pointerdown", "pointerup", "touchstart", "touchend":
				found = append(found, e.BackendNodeID)
			}
		}
		return found
	})
	var found []cdpt.BackendNodeID
	for _, id := range listening {
		if id != 0 && !heard[id] && len(found) < maxListeners {
			heard[id] = true
			found = append(found, id)
		}
	}
	return found
}

// resolve takes hold of nodes in a context, or with zero in the page's own
// world; "" stands for those that cannot be had.
func (r revealing) resolve(ctx context.Context, nodes []cdpt.BackendNodeID, in runtime.ExecutionContextID) []runtime.RemoteObjectID {
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
func (r revealing) hand(ctx context.Context, memory runtime.RemoteObjectID, nodes []cdpt.BackendNodeID) (int, error) {
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
