package tab

import (
	"context"
	"sync"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/bellglass/bellglass/internal/look"
)

// armPress has the document of an element, and those around it, let the next press
// through to that element only. It returns the frames, the element's first.
func (t *Tab) armPress(ctx context.Context, n Node) ([]cdpt.FrameID, error) {
	id, node := cdpt.FrameID(n.Frame), n.Node
	armed := []cdpt.FrameID{id}
	if _, err := t.looker(ctx, id, look.ArmScript(node, false)); err != nil {
		return nil, lostElement(ctx, err)
	}
	for depth := 0; id != t.mainFrame(); depth++ {
		parent := t.around(id)
		if parent == nil || depth > maxFrameDepth+3 {
			return nil, ErrGone
		}
		w, err := cdpt.Call(ctx, parent.session, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: parent.id, WorldName: world})
		if err != nil {
			return nil, lostElement(ctx, err)
		}
		if node, err = look.FrameNode(ctx, parent.session, w.ExecutionContextID, id); err != nil {
			return nil, lostElement(ctx, err)
		}
		if _, err := t.looker(ctx, parent.id, look.ArmScript(node, true)); err != nil {
			return nil, lostElement(ctx, err)
		}
		id = parent.id
		armed = append(armed, id)
	}
	return armed, nil
}

// disarmTimeout bounds the question what was pressed, of a page that may have
// better things to do.
const disarmTimeout = 500 * time.Millisecond

// disarmPress tells what was pressed instead of the element; nil if that was
// pressed, or if the documents that could tell are gone.
func (t *Tab) disarmPress(ctx context.Context, armed []cdpt.FrameID) error {
	ctx, cancel := context.WithTimeout(ctx, disarmTimeout)
	defer cancel()
	missed := make([]*CoveredError, len(armed))
	var wg sync.WaitGroup
	for i, id := range armed {
		wg.Go(func() {
			s, err := t.looker(ctx, id, look.DisarmScript())
			if err != nil {
				return
			}
			state, by := look.ParseArmed(s)
			if state == look.Missed || state == look.Unheard && i == 0 {
				missed[i] = &CoveredError{By: by}
			}
		})
	}
	wg.Wait()
	for _, m := range missed {
		if m != nil && m.By != "" {
			return m
		}
	}
	if len(missed) > 0 && missed[0] != nil {
		return missed[0]
	}
	return nil
}
