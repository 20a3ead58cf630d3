package tab

import (
	"context"
	"errors"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"

	"github.com/bellglass/bellglass/internal/cdp"
)

// inputGrace is how long the page may take to have handled an input event
// before its time is let go on: a handler may wait for something that needs
// time, such as a navigation or a synchronous request. A click on a page that
// is idle takes 6 ms (measured).
const inputGrace = 150 * time.Millisecond

// press clicks with the left button at a point of the main frame's viewport,
// and waits until the page has handled it. late reports that it has not.
func (t *Tab) press(ctx context.Context, x, y float64) (late bool, err error) {
	mouse := func(typ input.DispatchMouseEventType, button input.MouseButton, buttons int64) cdp.Pending[cdpt.Empty] {
		clicks := int64(1)
		if typ == input.DispatchMouseEventTypeMouseMoved {
			clicks = 0
		}
		return cdp.Go(t.main, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: typ, X: x, Y: y, Button: button, Buttons: buttons, ClickCount: clicks,
		})
	}
	return t.handled(ctx,
		mouse(input.DispatchMouseEventTypeMouseMoved, input.MouseButtonNone, 0),
		mouse(input.DispatchMouseEventTypeMousePressed, input.MouseButtonLeft, 1),
		mouse(input.DispatchMouseEventTypeMouseReleased, input.MouseButtonLeft, 0))
}

// handled waits for the answers to input events, but not longer than
// inputGrace: then their time must be let go on, and late is true. A page that
// the event closed, or whose process it replaced, has handled it.
func (t *Tab) handled(ctx context.Context, sent ...cdp.Pending[cdpt.Empty]) (late bool, err error) {
	grace, cancel := context.WithTimeout(ctx, inputGrace)
	defer cancel()
	for _, p := range sent {
		_, err := p.Wait(grace)
		switch {
		case err == nil, errors.Is(err, cdp.ErrDetached):
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case grace.Err() != nil:
			return true, nil
		default:
			return false, err
		}
	}
	return false, nil
}

// Key is a key that a fill may end with.
type Key string

// The keys.
const (
	KeyEnter  Key = "Enter"
	KeyEscape Key = "Escape"
	KeyTab    Key = "Tab"
)

// Those that a slider is moved by.
const (
	KeyLeft  Key = "ArrowLeft"
	KeyRight Key = "ArrowRight"
)

var keys = map[Key]struct {
	code int64
	text string
}{
	KeyEnter: {13, "\r"}, KeyEscape: {27, ""}, KeyTab: {9, ""},
	"Backspace": {8, ""}, "Delete": {46, ""}, KeyLeft: {37, ""}, KeyRight: {39, ""},
}

// key presses and releases a key, with everything that a real one comes with:
// keydown, keypress where it makes a character, keyup.
func (t *Tab) key(ctx context.Context, k Key, modifiers int64, commands ...string) (late bool, err error) {
	d := keys[k]
	typ := input.DispatchKeyEventTypeKeyDown
	if d.text == "" {
		typ = input.DispatchKeyEventTypeRawKeyDown
	}
	return t.handled(ctx,
		cdp.Go(t.main, input.DispatchKeyEvent, input.DispatchKeyEventParams{
			Type: typ, Key: string(k), Code: string(k), WindowsVirtualKeyCode: d.code, NativeVirtualKeyCode: d.code,
			Text: d.text, UnmodifiedText: d.text, Modifiers: modifiers, Commands: commands,
		}),
		cdp.Go(t.main, input.DispatchKeyEvent, input.DispatchKeyEventParams{
			Type: input.DispatchKeyEventTypeKeyUp, Key: string(k), Code: string(k), WindowsVirtualKeyCode: d.code, NativeVirtualKeyCode: d.code, Modifiers: modifiers,
		}))
}

// insert types text as an input method does: beforeinput and input events,
// code point for code point what it is given.
func (t *Tab) insert(ctx context.Context, text string) (late bool, err error) {
	return t.handled(ctx, cdp.Go(t.main, input.InsertText, input.InsertTextParams{Text: text}))
}
