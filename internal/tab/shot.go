package tab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/bellglass/bellglass/digest"
)

// Limits of a screenshot, in pixels: of its height, and what a picture may
// have at most to fit into the memory of whoever looks at it.
const maxShotHeight = 10_000

// ErrMask: a field that must not be shown could not be painted over.
var ErrMask = errors.New("tab: a protected field could not be masked")

// ErrUnopened: nothing was opened yet that a picture could be taken of.
var ErrUnopened = errors.New("tab: no page is open yet")

// Shot is a picture of a page.
type Shot struct {
	PNG []byte
	// X and Y say where in the document, in CSS pixels, the picture begins.
	// ScrollX and ScrollY are where the window was.
	X, Y, ScrollX, ScrollY float64
	Cut                    bool // the page is higher than a picture may be
	// Late: the page's time went on after its protected fields were painted.
	Late bool
}

// Screenshot takes a picture of the window, or of the whole page from its top.
// What is protected, in any frame, is painted black first.
func (l *Live) Screenshot(ctx context.Context, full bool, protected []digest.Element) (*Shot, error) {
	t, err := l.page()
	if err != nil {
		return nil, err
	}
	if t.unopened() {
		return nil, ErrUnopened
	}
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	t.awaitPictures(ctx)
	defer t.unmask(context.WithoutCancel(ctx), protected)
	for _, e := range protected {
		did, err := t.on(ctx, Node{e.Frame, e.Node}, "mask", "")
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if did != "yes" {
			return nil, ErrMask
		}
	}
	t.drawFrames(ctx, fewFrames)
	raw, err := t.evaluateIn(ctx, t.mainFrame(), sizeScript)
	if err != nil {
		return nil, unresponsive(ctx, err)
	}
	var d struct{ W, H, X, Y float64 }
	if err := json.Unmarshal([]byte(raw), &d); err != nil {
		return nil, fmt.Errorf("tab: screenshot: %w", err)
	}
	shot := &Shot{X: d.X, Y: d.Y, ScrollX: d.X, ScrollY: d.Y}
	p := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng}
	if full {
		yes := true
		shot.X, shot.Y, shot.Cut = 0, 0, d.H > maxShotHeight
		p.CaptureBeyondViewport = &yes
		p.Clip = &page.Viewport{Width: min(d.W, 4*viewportWidth), Height: min(d.H, maxShotHeight), Scale: 1}
	}
	if shot.PNG, shot.Late, err = l.capture(ctx, t, p); err != nil {
		return nil, unresponsive(ctx, err)
	}
	return shot, nil
}

// captureTimeout is after how long a picture that has not come gets time of the
// page's.
const captureTimeout = 400 * time.Millisecond

// capture takes the picture. On a busy machine the frame that it is to be taken
// of may not have been drawn before the page's time stood still, and no other is
// drawn for it then, real frames or not (seen on 156 beside six busy processes on
// two processors, within the first three pages each time). So its time is let go
// on, a hundredth of a second after the other, until the picture is there; late
// reports that it was.
func (l *Live) capture(ctx context.Context, t *Tab, p page.CaptureScreenshotParams) (png []byte, late bool, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var r page.CaptureScreenshotResult
		r, err = cdpt.Call(ctx, t.main, page.CaptureScreenshot, p)
		png = r.Data
	}()
	timer := time.NewTimer(captureTimeout)
	defer timer.Stop()
	select {
	case <-done:
		return png, false, err
	case <-timer.C:
	}
	for !l.o.Real && !t.blank() {
		l.turn(t, observedSpan)
		stood := l.run(ctx, t)
		select {
		case <-done:
			return png, true, err
		default:
		}
		if stood != nil {
			break
		}
	}
	<-done
	return png, true, err
}

const sizeScript = `JSON.stringify((() => {
	const get = name => Object.getOwnPropertyDescriptor(Element.prototype, name).get, root = Object.getOwnPropertyDescriptor(Document.prototype, 'documentElement').get.call(document);
	return { W: Math.max(innerWidth, get('scrollWidth').call(root)), H: Math.max(innerHeight, get('scrollHeight').call(root)), X: scrollX, Y: scrollY };
})())`

// unmask takes the paint away.
func (t *Tab) unmask(ctx context.Context, protected []digest.Element) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for _, e := range protected {
		t.on(ctx, Node{e.Frame, e.Node}, "unmask", "")
	}
}

// picturesWait is how long pictures that are on their way are waited for.
const picturesWait = 1500 * time.Millisecond

// awaitPictures waits for requests in flight, for a short while.
func (t *Tab) awaitPictures(ctx context.Context) {
	timer := time.NewTimer(picturesWait)
	defer timer.Stop()
	for {
		t.mu.Lock()
		_, pictures, _ := t.visit.waiting()
		t.mu.Unlock()
		if pictures == 0 {
			return
		}
		select {
		case <-t.wake:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
