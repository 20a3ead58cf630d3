package tab

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/bellglass/bellglass/internal/extract"
)

// Content reads the page shown, or what is in the elements that a CSS selector
// means in its main frame, as [Tab.Read] does. The error is [ErrSelector] or
// [ErrGone] if the selector is none, or means nothing.
func (l *Live) Content(ctx context.Context, within string) (*extract.Doc, error) {
	t, err := l.page()
	if err != nil {
		return nil, err
	}
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	if within != "" {
		if err := t.selects(ctx, within); err != nil {
			return nil, err
		}
	}
	s, err := t.evaluateIn(ctx, t.mainFrame(), extract.Script(extract.ScriptOptions{FinishAnimations: true, Within: within}))
	if err != nil {
		return nil, unresponsive(ctx, err)
	}
	doc, err := extract.Parse(s)
	if err != nil {
		return nil, err
	}
	p := &Page{}
	if within == "" {
		t.graft(ctx, doc, t.mainFrame(), p, 0)
		return doc, nil
	}
	t.graftPlaced(ctx, doc)
	return doc, nil
}

// graftPlaced puts those child frames into doc whose places are in it.
func (t *Tab) graftPlaced(ctx context.Context, doc *extract.Doc) {
	t.mu.Lock()
	var kids []frame
	if f := t.frames[t.mainFrame()]; f != nil {
		for _, c := range f.children {
			if k := t.frames[c]; k != nil {
				kids = append(kids, *k)
			} else {
				kids = append(kids, frame{})
			}
		}
	}
	top, check := originOf(t.visit.doc.url), t.visit.req.Check
	t.mu.Unlock()
	for i, k := range kids {
		if k.id == "" || !doc.Placed(i) || !mayLook(k.url, check) {
			continue
		}
		d, err := t.walk(ctx, k.id, true)
		if err != nil {
			continue
		}
		t.graft(ctx, d, k.id, &Page{}, 1)
		origin := originOf(k.url)
		if origin == top {
			origin = ""
		}
		doc.Graft(i, d, origin, true)
	}
}

// selects checks a selector.
func (t *Tab) selects(ctx context.Context, selector string) error {
	quoted, err := json.Marshal(selector)
	if err != nil {
		return err
	}
	out, err := t.evaluateIn(ctx, t.mainFrame(), fmt.Sprintf(
		`(() => { try { return Document.prototype.querySelector.call(document, %s) ? 'some' : 'none' } catch { return 'wrong' } })()`, quoted))
	switch {
	case err != nil:
		return unresponsive(ctx, err)
	case out == "wrong":
		return ErrSelector
	case out == "none":
		return ErrGone
	}
	return nil
}

//go:embed html.js
var htmlJS string

// HTML returns what the elements that a CSS selector means look like as HTML:
// what is in sight of them, without scripts, styles, values of fields and what
// would load something.
func (l *Live) HTML(ctx context.Context, selector string) (string, error) {
	t, err := l.page()
	if err != nil {
		return "", err
	}
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	if err := t.selects(ctx, selector); err != nil {
		return "", err
	}
	quoted, err := json.Marshal(selector)
	if err != nil {
		return "", err
	}
	s, err := t.evaluateIn(ctx, t.mainFrame(), fmt.Sprintf("(function(selector){'use strict';\n%s%s})(%s)", extract.Sight(), htmlJS, quoted))
	if err != nil {
		return "", unresponsive(ctx, err)
	}
	return s, nil
}
