package tab

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	cdpt "github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/bellglass/bellglass/internal/cdp"
)

// ErrGone: the element, its document or its frame is not there any more.
var ErrGone = errors.New("tab: the element is gone")

// Node names an element that a look has numbered.
type Node struct {
	Frame string
	Node  int64
}

//go:embed fill.js
var fillJS string

// on calls one of the functions of fill.js with an element.
func (t *Tab) on(ctx context.Context, n Node, function string, arg string) (string, error) {
	quoted, err := jsonv2.Marshal(arg)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	f := t.frames[cdpt.FrameID(n.Frame)]
	t.mu.Unlock()
	if f == nil {
		return "", ErrGone
	}
	w, err := cdpt.Call(ctx, f.session, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: f.id, WorldName: world})
	if err != nil {
		return "", lostElement(ctx, err)
	}
	yes := true
	r, err := cdpt.Call(ctx, f.session, runtime.Evaluate, runtime.EvaluateParams{
		ContextID: w.ExecutionContextID, Silent: &yes,
		Expression: "(el => {'use strict'; if (!el) return null;" + fillJS + "return api." + function + "(el, " + string(quoted) + ") })" +
			"(globalThis[Symbol.for('bellglass.look')]?.get(document)?.nodes.get(" + strconv.FormatInt(n.Node, 10) + ")?.deref())",
	})
	if err != nil {
		return "", lostElement(ctx, err)
	}
	if r.Result != nil && r.Result.Subtype == "null" {
		return "", ErrGone
	}
	return stringOf(r.ExceptionDetails, r.Result)
}

// lostElement tells an element that went away from a page that does not
// answer.
func lostElement(ctx context.Context, err error) error {
	var refused *cdp.Error
	switch {
	case errors.As(err, &refused), errors.Is(err, cdp.ErrDetached):
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return unresponsive(ctx, err)
}

// stringOf is the string that a script yielded.
func stringOf(x *runtime.ExceptionDetails, r *runtime.RemoteObject) (string, error) {
	if x != nil {
		what := x.Text
		if x.Exception != nil {
			what = x.Exception.Description
		}
		return "", fmt.Errorf("tab: script: %s", what)
	}
	var out string
	if r == nil || jsonv2.Unmarshal(r.Value, &out, jsonv2.AllowInvalidUTF8(true)) != nil {
		return "", errors.New("tab: script: no string")
	}
	return out, nil
}
