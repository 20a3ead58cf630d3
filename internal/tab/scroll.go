package tab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/look"
)

// Scroll scrolls the page shown by so many heights of its window.
func (l *Live) Scroll(ctx context.Context, pages float64) error {
	t, err := l.page()
	if err != nil {
		return err
	}
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	if err := l.observed(ctx, t); err != nil {
		return err
	}
	_, err = t.evaluateIn(ctx, t.mainFrame(), fmt.Sprintf(scrollScript, strconv.FormatFloat(pages, 'g', -1, 64)))
	if err != nil {
		return unresponsive(ctx, err)
	}
	t.drawFrames(ctx, fewFrames) // what watches the scrolling hears of it with the next frame
	return nil
}

// observedSpan is the page's own time in which it hears of what was drawn.
const observedSpan = 10 * time.Millisecond

// observed has the page hear of what it observes as it is now: what watches
// elements come into view is told with a frame, and frames are real. Without
// this the news of before and after come in one, of which many read the first
// only (lists that load more when their end is seen).
func (l *Live) observed(ctx context.Context, t *Tab) error {
	if t.blank() || l.o.Real {
		return nil
	}
	t.drawFrames(ctx, 1)
	l.turn(t, observedSpan)
	return l.run(ctx, t)
}

// Observed is for a page that was just loaded and watches what comes into view:
// what is in view at first, it hears with its first frame.
func (l *Live) Observed(ctx context.Context) error {
	t, err := l.page()
	if err != nil {
		return err
	}
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	if watches, err := t.evaluateIn(ctx, t.mainFrame(), "globalThis[Symbol.for('bellglass.observer')]?'yes':''"); err != nil || watches == "" {
		return unresponsive(ctx, err)
	}
	return l.observed(ctx, t)
}

// scrollScript scrolls the document or, where that cannot be, the largest box
// in it that can.
const scrollScript = `(() => {
	'use strict';
	const by = innerHeight * %s, get = (n) => Object.getOwnPropertyDescriptor(Element.prototype, n).get, before = scrollY;
	scrollBy({ top: by, behavior: 'instant' });
	if (scrollY !== before || by === 0) return '';
	let best = null, area = 0;
	for (const e of Document.prototype.querySelectorAll.call(document, '*')) {
		if (get('scrollHeight').call(e) <= get('clientHeight').call(e) + 1 || !/auto|scroll/.test(getComputedStyle(e).overflowY)) continue;
		const a = get('clientHeight').call(e) * get('clientWidth').call(e);
		if (a > area) best = e, area = a;
	}
	if (best) Element.prototype.scrollBy.call(best, { top: by, behavior: 'instant' });
	return '';
})()`

// ScrollTo scrolls an element into view.
func (l *Live) ScrollTo(ctx context.Context, n Node) error {
	t, err := l.page()
	if err != nil {
		return err
	}
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	_, err = t.aim(ctx, n, look.PointScript(n.Node))
	var covered *CoveredError
	if err != nil && !errors.As(err, &covered) {
		return err
	}
	t.drawFrames(ctx, fewFrames)
	return nil
}

// Shows reports whether the page shows a text, given in lower case and with
// single spaces, in any frame that may be looked at.
func (l *Live) Shows(ctx context.Context, text string) (bool, error) {
	t, err := l.page()
	if err != nil {
		return false, err
	}
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	f, err := t.glance(ctx, t.mainFrame(), look.Script(look.Options{Text: maxShown}), 0)
	if err != nil {
		return false, unresponsive(ctx, err)
	}
	return shows(f, text), nil
}

// maxShown is how much of a page's text is looked through for what a caller
// waits for.
const maxShown = 1 << 20

// Select finds the one element that a CSS selector means, in the main frame.
// The error is [ErrGone] if there is none that can be operated, and
// [ErrSeveral] if there are more.
func (l *Live) Select(ctx context.Context, selector string) (Node, error) {
	t, err := l.page()
	if err != nil {
		return Node{}, err
	}
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	quoted, err := json.Marshal(selector)
	if err != nil {
		return Node{}, err
	}
	// The look before numbers the nodes.
	if _, err := t.looker(ctx, t.mainFrame(), look.Script(look.Options{})); err != nil {
		return Node{}, unresponsive(ctx, err)
	}
	out, err := t.evaluateIn(ctx, t.mainFrame(), fmt.Sprintf(selectScript, quoted))
	if err != nil {
		return Node{}, unresponsive(ctx, err)
	}
	switch out {
	case "none":
		return Node{}, ErrGone
	case "several":
		return Node{}, ErrSeveral
	case "wrong":
		return Node{}, ErrSelector
	}
	n, err := strconv.ParseInt(out, 10, 64)
	return Node{Frame: string(t.mainFrame()), Node: n}, err
}

var (
	// ErrSeveral: a selector means more than one element.
	ErrSeveral = errors.New("tab: the selector means several elements")
	// ErrSelector: it is no selector.
	ErrSelector = errors.New("tab: not a CSS selector")
)

const selectScript = `(() => {
	'use strict';
	let all;
	try { all = Document.prototype.querySelectorAll.call(document, %s) } catch { return 'wrong' }
	const numbers = globalThis[Symbol.for('bellglass.look')]?.get(document)?.numbers, found = [];
	for (const e of all) { const n = numbers?.get(e); if (n && Element.prototype.checkVisibility.call(e, { opacityProperty: true, visibilityProperty: true })) found.push(n) }
	return found.length === 0 ? 'none' : found.length > 1 ? 'several' : String(found[0]);
})()`

func shows(f *digest.Frame, text string) bool {
	if strings.Contains(strings.ToLower(oneSpace(strings.Join(f.Lines, " "))), text) {
		return true
	}
	for _, p := range f.Places {
		if p.Child != nil && p.Shown && shows(p.Child, text) {
			return true
		}
	}
	return false
}
