package tab

import (
	"context"
	"errors"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/look"
)

// How often a point to click is looked for: an element that moves is waited
// for, and so is a layer that may be on its way out.
const (
	maxAims   = 12
	aimFrames = 2
	// aimStep is the page's own time that passes between two looks.
	aimStep = 100 * time.Millisecond
)

// coverSteps is the same for an element under something else, which passes at
// once where the page's clock is stepped: a layer that is not gone after it is
// there to stay.
var coverSteps = []time.Duration{aimStep, 400 * time.Millisecond, time.Second}

// ErrUnclickable: the element lets everything through to what is behind it.
var ErrUnclickable = errors.New("tab: the element takes no pointer events")

// calm is how long after a look an element that is where it was counts as
// standing still: three frames.
const calm = 50 * time.Millisecond

// Aim scrolls an element into view and finds a point of the main frame's
// viewport at which a click reaches it. now is the element as it was when that
// point was found; nil if it has to be asked for ([Live.Describe]). The error
// is [ErrGone] or a [*CoveredError] if there is none after a short wait.
func (l *Live) Aim(ctx context.Context, n Node) (x, y float64, now *digest.Element, err error) {
	t, err := l.page()
	if err != nil {
		return 0, 0, nil, err
	}
	defer l.spans.begin(ctx, spanAim)()
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	var last error
	still, covers := false, 0
	for i := range maxAims {
		script := look.PointScript(n.Node)
		if i == 0 && time.Since(l.looked) > calm {
			script = look.CalmPointScript(n.Node)
		}
		p, err := t.aim(ctx, n, script)
		switch {
		case err != nil:
			if _, covered := err.(*CoveredError); !covered {
				return 0, 0, nil, err
			}
			last = err
		case p.Moved || !still && moved(x, y, p):
			last = &CoveredError{By: "its own movement"}
		default:
			return p.X, p.Y, l.seen(t, n, p), nil
		}
		if _, covered := err.(*CoveredError); covered {
			if p, err := t.on(ctx, n, "pointer", ""); err == nil && p == "none" {
				return 0, 0, nil, ErrUnclickable
			}
		}
		step := aimStep
		if err != nil && !l.o.Real {
			if covers == len(coverSteps) {
				break
			}
			step = coverSteps[covers]
			covers++
		}
		still = err == nil
		x, y = p.X, p.Y
		t.endAnimations(ctx, cdpt.FrameID(n.Frame))
		t.drawFrames(ctx, aimFrames)
		if err := l.Step(ctx, step); err != nil {
			return 0, 0, nil, err
		}
	}
	return 0, 0, nil, last
}

// seen is the element as it was when the point was found. In other frames than
// the main one scrolling goes on after that, so there it is asked for.
func (l *Live) seen(t *Tab, n Node, p look.Point) *digest.Element {
	if cdpt.FrameID(n.Frame) != t.mainFrame() {
		return nil
	}
	e, _, err := look.ParseNode(p.Now)
	if err != nil {
		return nil
	}
	e.Frame = n.Frame
	return &e
}

// moved reports whether a point is another than one looked for before.
func moved(x, y float64, p look.Point) bool {
	return x != 0 && y != 0 && (x-p.X > 1 || p.X-x > 1 || y-p.Y > 1 || p.Y-y > 1)
}

// aim looks for the point once.
func (t *Tab) aim(ctx context.Context, n Node, script string) (look.Point, error) {
	s, err := t.looker(ctx, cdpt.FrameID(n.Frame), script)
	if err != nil {
		return look.Point{}, lostElement(ctx, err)
	}
	p, err := look.ParsePoint(s)
	switch {
	case err != nil:
		return p, err
	case p.Gone:
		return p, ErrGone
	case p.Covered != "":
		return p, &CoveredError{By: p.Covered}
	}
	p.X, p.Y, err = t.point(ctx, cdpt.FrameID(n.Frame), p.X, p.Y)
	return p, err
}

// Click clicks on an element at a point that [Live.Aim] found for it, and waits
// until the page has settled. What is under the pointer when the button goes
// down is looked at once more: if that is not the element, the page hears
// nothing of it, and the error is a [*CoveredError].
func (l *Live) Click(ctx context.Context, n Node, x, y float64) error {
	t, err := l.page()
	if err != nil {
		return err
	}
	alive, stop := t.whileAlive(ctx)
	defer stop()
	armed, err := t.armPress(alive, n)
	if err != nil {
		return err
	}
	err = l.act(ctx, func(alive context.Context, t *Tab) error {
		_, err := t.press(alive, x, y)
		return unresponsive(alive, err)
	})
	if missed := t.disarmPress(alive, armed); err == nil && missed != nil {
		return missed
	}
	return err
}

// Press presses a key where the focus is, and waits until the page has
// settled.
func (l *Live) Press(ctx context.Context, k Key) error {
	return l.act(ctx, func(alive context.Context, t *Tab) error {
		_, err := t.key(alive, k, 0)
		return unresponsive(alive, err)
	})
}

// act does something to the page shown, and waits until that has settled. The
// context of do ends with the page's process, too.
func (l *Live) act(ctx context.Context, do func(alive context.Context, t *Tab) error) error {
	t, err := l.page()
	if err != nil {
		return err
	}
	alive, stop := t.whileAlive(ctx)
	defer stop()
	l.turn(t, actSpan)
	acted := l.spans.begin(ctx, spanAct)
	err = do(alive, t)
	acted()
	if err != nil {
		return l.after(ctx, t, err)
	}
	return l.after(ctx, t, l.run(ctx, t))
}

// after forgives an act the end of the page it was done on, if another page is
// there to be shown: what closes a window is done in that window.
func (l *Live) after(ctx context.Context, t *Tab, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if p, lost := l.page(); lost == nil && p != t {
		return l.popups(ctx, p)
	}
	return err
}
