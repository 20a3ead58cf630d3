package tab

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/cdp"
	"github.com/bellglass/bellglass/internal/look"
)

// glanceTimeout is after how long a page does not respond: 10,000 elements take
// a fifth of a second on an idle machine.
const glanceTimeout = 5 * time.Second

// Glance looks at the page shown: its controls and the first of its text, in
// all frames that may be looked at.
func (l *Live) Glance(ctx context.Context, o look.Options) (*digest.Frame, error) {
	t, err := l.page()
	if err != nil {
		return nil, err
	}
	if t.unopened() { // it holds what it was primed with, which is nobody's page
		return &digest.Frame{ID: string(t.mainFrame()), URL: "about:blank"}, nil
	}
	defer l.spans.begin(ctx, spanExtract)()
	patience := glanceTimeout
	if t.parsing() {
		patience = lateLook
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrUnresponsive)
	defer cancel()
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	var asked sync.WaitGroup
	asked.Go(func() { l.asked(ctx, t) })
	f, err := t.glance(ctx, t.mainFrame(), look.Script(o), 0)
	asked.Wait()
	l.looked = time.Now()
	if err != nil {
		return nil, unresponsive(ctx, err)
	}
	return f, nil
}

// parsing reports that the document shown was still being parsed when it was
// given up.
func (t *Tab) parsing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.visit != nil && t.visit.committed > 0 && t.visit.doc.dcl.IsZero()
}

// unopened reports that nothing was opened in the page yet, not even by the page
// that opened it.
func (t *Tab) unopened() bool {
	if !t.blank() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frames[t.mainFrame()] == nil
}

// glance looks at a frame and, all at once, at those in it.
func (t *Tab) glance(ctx context.Context, id cdpt.FrameID, script string, depth int) (*digest.Frame, error) {
	f, err := t.lookAt(ctx, id, script)
	if err == nil && f.Suspects > 0 && t.reveal(ctx, id, f.Doc) {
		f, err = t.lookAt(ctx, id, script)
	}
	if err != nil {
		return nil, err
	}
	f.ID = string(id)
	t.mu.Lock()
	var kids []frame
	if fr := t.frames[id]; fr != nil && depth < maxFrameDepth {
		for _, c := range fr.children {
			if k := t.frames[c]; k != nil {
				kids = append(kids, *k)
			} else {
				kids = append(kids, frame{})
			}
		}
	}
	var check func(string) error
	if t.visit != nil {
		check = t.visit.req.Check
	}
	t.mu.Unlock()
	seen := make([]*digest.Frame, len(kids))
	var wg sync.WaitGroup
	for i, k := range kids {
		if k.id == "" || !mayLook(k.url, check) {
			continue
		}
		wg.Go(func() { seen[i], _ = t.glance(ctx, k.id, script, depth+1) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t.graftAll(ctx, id, f, kids, seen)
	return f, nil
}

// graftAll puts what was seen of child frames into their places, by the
// elements that hold them: window[i] leaves out those in shadow trees.
func (t *Tab) graftAll(ctx context.Context, id cdpt.FrameID, f *digest.Frame, kids []frame, seen []*digest.Frame) {
	if len(kids) == 0 {
		return
	}
	t.mu.Lock()
	var s *cdp.Session
	if parent := t.frames[id]; parent != nil {
		s = parent.session
	}
	t.mu.Unlock()
	if s == nil {
		return
	}
	w, err := cdpt.Call(ctx, s, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: id, WorldName: world})
	if err != nil {
		return
	}
	nodes := make([]int64, len(kids))
	var wg sync.WaitGroup
	for i, k := range seen {
		if k != nil {
			wg.Go(func() { nodes[i], _ = look.FrameNode(ctx, s, w.ExecutionContextID, kids[i].id) })
		}
	}
	wg.Wait()
	for i, k := range seen {
		if k != nil && nodes[i] != 0 {
			f.Graft(-1, nodes[i], k)
		}
	}
}

// lookAt looks at one frame.
func (t *Tab) lookAt(ctx context.Context, id cdpt.FrameID, script string) (*digest.Frame, error) {
	s, err := t.looker(ctx, id, script)
	if err != nil {
		return nil, err
	}
	return look.Parse(s)
}

// looker evaluates a script of package look. They all are one function, which
// the world keeps: where it is there already, only what it is asked is sent.
func (t *Tab) looker(ctx context.Context, id cdpt.FrameID, script string) (string, error) {
	i := strings.LastIndex(script, ")({mode:")
	if i < 0 {
		return t.evaluateIn(ctx, id, script)
	}
	s, err := t.evaluateIn(ctx, id, "(globalThis[Symbol.for('bellglass.looker')]??(()=>'none'))"+script[i+1:])
	if err == nil && s == "none" {
		return t.evaluateIn(ctx, id, script)
	}
	return s, err
}

// reveal tells our world of a frame of closed shadow roots, and of elements
// that listen for clicks. It reports whether it had not known of all.
func (t *Tab) reveal(ctx context.Context, id cdpt.FrameID, doc string) bool {
	t.mu.Lock()
	f := t.frames[id]
	var fs *frameSession
	if f != nil {
		fs = t.sessions[f.session]
	}
	t.mu.Unlock()
	if fs == nil {
		return false
	}
	w, err := cdpt.Call(ctx, fs.Session, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: id, WorldName: world})
	if err != nil {
		return false
	}
	fs.revealing.Lock()
	defer fs.revealing.Unlock()
	// The browser's numbers of nodes begin anew with a process, and what was
	// asked about in one document says nothing of another.
	if fs.revealed[id] != doc {
		fs.revealer = look.Revealer{}
		if fs.revealed == nil || len(fs.revealed) > maxTracked {
			fs.revealed = map[cdpt.FrameID]string{}
		}
		fs.revealed[id] = doc
	}
	n, err := fs.revealer.Reveal(ctx, fs.Session, w.ExecutionContextID)
	return err == nil && n > 0
}

// mayLook says whether anything of a frame may be looked at: about:blank and
// srcdoc frames hold what their parent put there.
func mayLook(url string, check func(string) error) bool {
	if isHTTP(url) {
		return check == nil || check(url) == nil
	}
	return strings.HasPrefix(url, "about:") || url == ""
}

// Describe looks at one element again; the error is [ErrGone] if it is not
// there any more.
func (l *Live) Describe(ctx context.Context, n Node) (*digest.Element, error) {
	t, err := l.page()
	if err != nil {
		return nil, err
	}
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	s, err := t.looker(ctx, cdpt.FrameID(n.Frame), look.NodeScript(n.Node))
	if err != nil {
		return nil, lostElement(ctx, err)
	}
	e, _, err := look.ParseNode(s)
	if errors.Is(err, look.ErrGone) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	e.Frame = n.Frame
	return &e, nil
}

// FrameURL is the address of a frame of the page shown; of one without an
// address of its own, that of the frame around it.
func (l *Live) FrameURL(id string) string {
	t, err := l.page()
	if err != nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for f := t.frames[cdpt.FrameID(id)]; f != nil; f = t.frames[f.parent] {
		if f.id == t.mainFrame() && t.visit != nil {
			return t.visit.doc.url
		}
		if isHTTP(f.url) {
			return f.url
		}
	}
	return ""
}

// endAnimations ends what is moving, so that it is where it will be.
func (t *Tab) endAnimations(ctx context.Context, id cdpt.FrameID) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	t.evaluateIn(ctx, id, `(() => {
	for (const a of Document.prototype.getAnimations.call(document)) {
		const t = a.effect?.getComputedTiming();
		if (t && Number.isFinite(t.endTime) && a.playState === 'running') try { a.finish() } catch {}
	}
	return '';
})()`)
}
