package tab

import (
	"context"
	"strings"
	"sync"

	cdpt "github.com/chromedp/cdproto/cdp"

	"github.com/bellglass/bellglass/internal/extract"
)

// maxFrameDepth bounds the nesting of frames that are read.
const maxFrameDepth = 5

// graft reads the child frames of one frame, all at once, and puts their
// documents into doc.
func (t *Tab) graft(ctx context.Context, doc *extract.Doc, id cdpt.FrameID, p *Page, depth int) {
	t.mu.Lock()
	var kids []frame
	if f := t.frames[id]; f != nil && depth < maxFrameDepth {
		for _, c := range f.children {
			if k := t.frames[c]; k != nil {
				kids = append(kids, *k)
			} else {
				kids = append(kids, frame{})
			}
		}
	}
	top := originOf(t.visit.doc.url)
	check := t.visit.req.Check
	t.mu.Unlock()

	docs := make([]*extract.Doc, len(kids))
	seen := make([]bool, len(kids))
	left := make([]int, len(kids))
	var wg sync.WaitGroup
	for i, k := range kids {
		if k.id == "" {
			continue
		}
		// about:blank and srcdoc frames hold what their parent put there.
		if isHTTP(k.url) && check != nil && check(k.url) != nil {
			left[i]++
			continue
		}
		if !isHTTP(k.url) && !strings.HasPrefix(k.url, "about:") {
			left[i]++
			continue
		}
		wg.Go(func() {
			sub := &Page{}
			d, err := t.walk(ctx, k.id, true)
			if err != nil {
				left[i]++
				return
			}
			t.graft(ctx, d, k.id, sub, depth+1)
			docs[i], left[i] = d, left[i]+sub.FramesLeftOut
			seen[i] = doc.Placed(i) || t.inSight(ctx, k)
		})
	}
	wg.Wait()
	for i, d := range docs {
		p.FramesLeftOut += left[i]
		if d == nil {
			continue
		}
		origin := originOf(kids[i].url)
		if origin == top {
			origin = ""
		}
		doc.Graft(i, d, origin, seen[i])
	}
}

// originOf returns scheme://host:port, or "" for a document without its own.
func originOf(u string) string {
	if !isHTTP(u) {
		return ""
	}
	scheme, rest, _ := strings.Cut(u, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return scheme + "://" + rest
}
