package tab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bellglass/bellglass/internal/cdp"
	"github.com/bellglass/bellglass/internal/extract"
	cdpt "github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// look walks every frame and puts the documents together.
func (t *Tab) look(ctx context.Context, p *Page) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, ErrUnresponsive)
	defer cancel()
	doc, untouched, err := t.walkMain(ctx, true)
	for again := 0; err == nil && !p.TimedOut && t.wantsMore(ctx, doc, untouched, again); again++ {
		t.arm(true)
		if err := t.settle(ctx); err != nil {
			return err
		}
		doc, untouched, err = t.walkMain(ctx, true)
	}
	if p.TimedOut && (err != nil && ctx.Err() == nil || err == nil && doc.TextLen == 0) {
		return ErrTimeout // nothing was there
	}
	if err != nil {
		return unresponsive(ctx, err)
	}
	t.mu.Lock()
	p.URL = t.visit.doc.url
	t.mu.Unlock()
	t.graft(ctx, doc, t.mainFrame(), p, 0)
	p.Doc, p.Partial = doc, p.Partial || doc.Cut
	p.Blank = doc.TextLen == 0 || doc.Thin() && doc.NoScript >= max(fallbackText, 10*doc.TextLen)
	return nil
}

// hardlyAnything is the number of characters below which a page is suspected
// to be still drawing itself.
const hardlyAnything = 20

// fallbackText is how many characters a page must keep for browsers without
// scripts to be read as one of them does.
const fallbackText = 200

// blankLooks is how often a page without any text is looked at in any case:
// neither the virtual clock nor the network knows of databases, compilation
// and cryptography.
const blankLooks = 4

// wantsMore reports whether a page that was just looked at asks for another
// look, and waits for what may change it: real frames at first, for ended
// animations and for text drawn by requestAnimationFrame; then, while the page
// seems unfinished and workers, sockets or slow requests may still bring
// something, for these.
func (t *Tab) wantsMore(ctx context.Context, d *extract.Doc, untouched bool, again int) bool {
	unfinished := d.Busy || d.TextLen == 0 || d.TextLen < hardlyAnything && untouched
	switch {
	case again == 0 && unfinished:
		t.drawFrames(ctx, manyFrames)
		return true
	case again == 0 && d.Finished > 0:
		t.drawFrames(ctx, fewFrames)
		return true
	}
	t.mu.Lock()
	v := t.visit
	hope := t.workers > 0 || len(v.sockets) > 0 || v.mayBringText() ||
		d.Busy || d.TextLen == 0 && again < blankLooks
	left := time.Until(v.limit())
	t.mu.Unlock()
	if !unfinished || !hope || left <= 0 {
		return false
	}
	select {
	case <-time.After(min(left, stall)):
	case <-ctx.Done():
	}
	return true
}

// unresponsive tells a page that cannot be looked at from one that went away.
func unresponsive(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, cdp.ErrDetached), errors.Is(err, cdp.ErrClosed):
		return ErrCrashed
	case errors.Is(err, context.Canceled):
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrUnresponsive):
		return ErrUnresponsive
	}
	return err
}

// Frames that a page is given, at 60 a second: for the answer to an animation
// that was ended, and for a page that seems to be drawing itself.
const (
	fewFrames  = 2
	manyFrames = 8
)

// drawFrames lets the page draw n real frames.
func (t *Tab) drawFrames(ctx context.Context, n int) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(n)*frameTimeout)
	defer cancel()
	yes := true
	// A page whose rendering is blocked draws none, and costs the time-out.
	t.evaluate(ctx, t.main, t.mainFrame(), runtime.EvaluateParams{
		Expression:   fmt.Sprintf("new Promise(done => { let n = %d; const f = () => n-- > 0 ? requestAnimationFrame(f) : done(''); f() })", n),
		AwaitPromise: &yes,
	})
}

// thin reports whether hardly any text is there yet.
func (t *Tab) thin(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	d, err := t.walk(ctx, t.mainFrame(), false)
	return err == nil && (d.Sparse() || d.Busy)
}

// walk runs the walker in one frame.
func (t *Tab) walk(ctx context.Context, id cdpt.FrameID, finish bool) (*extract.Doc, error) {
	s, err := t.evaluateIn(ctx, id, t.walker(finish))
	if err != nil {
		return nil, err
	}
	return extract.Parse(s)
}

// walkMain walks the main frame. It also reports whether, before the walk, the
// document had scripts and none had changed it since it was parsed.
func (t *Tab) walkMain(ctx context.Context, finish bool) (d *extract.Doc, untouched bool, err error) {
	s, err := t.evaluateIn(ctx, t.mainFrame(), touchScript+t.walker(finish))
	if err != nil {
		return nil, false, err
	}
	rest, untouched := strings.CutPrefix(s, "untouched ")
	d, err = extract.Parse(rest)
	return d, untouched, err
}

func (t *Tab) evaluateIn(ctx context.Context, id cdpt.FrameID, script string) (string, error) {
	t.mu.Lock()
	f := t.frames[id]
	t.mu.Unlock()
	if f == nil {
		return "", fmt.Errorf("tab: walk: %w", cdp.ErrDetached)
	}
	return t.evaluate(ctx, f.session, id, runtime.EvaluateParams{Expression: script})
}

const touchScript = "(document.scripts.length > 0 && !globalThis.changed ? 'untouched ' : '')+"

func (t *Tab) walker(finish bool) string {
	t.mu.Lock()
	hidden := t.visit != nil && t.visit.req.Hidden
	t.mu.Unlock()
	switch {
	case hidden:
		return extract.Script(extract.ScriptOptions{FinishAnimations: finish, Hidden: true})
	case finish:
		return walkScriptFinish
	}
	return walkScript
}

var (
	walkScript       = extract.Script(extract.ScriptOptions{})
	walkScriptFinish = extract.Script(extract.ScriptOptions{FinishAnimations: true})
)

// world is the name of our isolated world: the page's scripts cannot see it,
// its DOM prototypes are its own.
const world = "bellglass"

// evaluate runs an expression in the frame's isolated world and returns the
// string it yields.
func (t *Tab) evaluate(ctx context.Context, s *cdp.Session, id cdpt.FrameID, p runtime.EvaluateParams) (string, error) {
	w, err := cdpt.Call(ctx, s, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: id, WorldName: world})
	if err != nil {
		return "", err
	}
	yes := true
	p.ContextID, p.Silent = w.ExecutionContextID, &yes
	r, err := cdpt.Call(ctx, s, runtime.Evaluate, p)
	if err != nil {
		return "", err
	}
	if r.ExceptionDetails != nil {
		what := r.ExceptionDetails.Text
		if x := r.ExceptionDetails.Exception; x != nil {
			what = x.Description
		}
		return "", fmt.Errorf("tab: walker: %s", what)
	}
	var out string
	if r.Result == nil || jsonv2.Unmarshal(r.Result.Value, &out, jsonv2.AllowInvalidUTF8(true)) != nil {
		return "", errors.New("tab: walker: no string")
	}
	return out, nil
}
