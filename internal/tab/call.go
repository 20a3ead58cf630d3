package tab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass/internal/cdp"
)

// State is where a page of a session is.
type State struct {
	URL         string // with fragment
	Status      int    // of the document's HTTP response
	ContentType string
	Header      string // the value of the header that [LiveOptions] names
	TimedOut    bool   // the document was still being parsed
	Document    string // names the document; another one has another name
	// Hop is where the page wanted to go during the last call and was not let.
	Hop *Hop
}

// How much of its own time a page is given.
const (
	// actSpan is for an act: toasts that stay for a few seconds are still
	// there, debounced inputs (300 ms, rarely more than 500) have answered.
	actSpan = time.Second
	// lookSpan is for a look at a page that the caller comes back to.
	lookSpan = 250 * time.Millisecond
)

// next returns the visit of a further call to the page as it is.
func (v *visit) next(r Request, span time.Duration) *visit {
	n := newVisit(r)
	n.from, n.span = n.started, span
	n.doc, n.virtual, n.sockets, n.pace = v.doc, v.virtual, v.sockets, v.pace
	n.committed = min(v.committed, 1)
	n.reloads = -1 // whoever acts may come back to the same page
	if nav := v.navs[v.doc.loader]; nav != nil {
		n.navs[v.doc.loader] = nav
	}
	// What was in flight and given up is not waited for again, and must not
	// stop the page's time.
	for id, p := range v.pending {
		p.stuck = true
		n.pending[id] = p
	}
	if len(n.pending) > 0 {
		n.policy = emulation.VirtualTimePolicyAdvance
	}
	return n
}

// turn begins a call: what the page's events say from now on belongs to it.
func (l *Live) turn(t *Tab, span time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.visit == nil {
		t.visit = newVisit(l.request(""))
		return
	}
	t.visit = t.visit.next(l.request(t.visit.doc.url), span)
}

// Step lets the page run for a while of its own time, and waits for what that
// asks of the network.
func (l *Live) Step(ctx context.Context, span time.Duration) error {
	t, err := l.page()
	if err != nil {
		return err
	}
	if t.blank() {
		return nil
	}
	l.turn(t, span)
	return l.run(ctx, t)
}

// Look is a [Live.Step] of the time that a look takes.
func (l *Live) Look(ctx context.Context) error { return l.Step(ctx, lookSpan) }

// Wait is a [Live.Step] for a page that has not reacted yet: it gets real
// frames, too.
func (l *Live) Wait(ctx context.Context, span time.Duration) error {
	t, err := l.page()
	if err != nil {
		return err
	}
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	t.drawFrames(ctx, manyFrames)
	return l.Step(ctx, span)
}

// blank reports that the page has never had a document.
func (t *Tab) blank() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.visit == nil || t.visit.committed == 0
}

// run gives the page the time of its turn, and settles.
func (l *Live) run(ctx context.Context, t *Tab) error {
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	t.mu.Lock()
	v := t.visit
	late := !l.o.Real && !v.doc.dcl.IsZero()
	t.mu.Unlock()
	if late {
		t.arm(false)
	}
	return l.settle(ctx, t)
}

// settle waits until the page has settled, and then the pages that it opened.
func (l *Live) settle(ctx context.Context, t *Tab) error {
	start := time.Now()
	err := t.settle(ctx)
	l.spans.settled(ctx, t, start)
	if err != nil {
		return err
	}
	return l.popups(ctx, t)
}

// popups waits for the pages that were opened in this call, and goes to the
// last one.
func (l *Live) popups(ctx context.Context, opener *Tab) error {
	for {
		l.mu.Lock()
		if len(l.opened) == 0 {
			l.mu.Unlock()
			return nil
		}
		n := l.opened[0]
		l.opened = l.opened[1:]
		t := l.pages[n-1]
		l.mu.Unlock()
		if t == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, afterLoad)
		t.awaitFirst(ctx)
		err := t.settle(ctx)
		cancel()
		t.mu.Lock()
		empty := t.visit.committed == 0 || t.visit.doc.url == "" || t.visit.doc.url == "about:blank"
		hop, url := t.visit.hop, t.visit.doc.url
		t.mu.Unlock()
		if empty && hop != nil || err != nil && errors.Is(err, ErrCrashed) {
			// It was to show what it may not, or went at once.
			l.shut(t)
			continue
		}
		l.note(Event{Kind: EventPopup, Page: n, URL: url})
		l.Show(ctx, n)
	}
}

// awaitFirst gives a page that was opened without an address, for its opener
// to write into, a document of its own.
func (t *Tab) awaitFirst(ctx context.Context) {
	timer := time.NewTimer(leaveGrace)
	defer timer.Stop()
	for {
		t.mu.Lock()
		v := t.visit
		begun := v.committed > 0 || v.leaving != "" || v.last != nil || v.hop != nil || isHTTP(v.req.URL)
		if v.hop != nil && v.committed == 0 {
			v.committed, v.doc.url, v.doc.dcl, v.doc.committed = 1, "about:blank", time.Now(), time.Now()
		}
		t.mu.Unlock()
		if begun {
			return
		}
		select {
		case <-t.wake:
		case <-timer.C:
			t.mu.Lock()
			v.committed, v.doc.url, v.doc.dcl, v.doc.committed = 1, "about:blank", time.Now(), time.Now()
			t.mu.Unlock()
			t.arm(false)
			return
		case <-ctx.Done():
			return
		}
	}
}

// shut closes a page.
func (l *Live) shut(t *Tab) {
	cdp.Go(l.host.conn.Browser, target.CloseTarget, target.CloseTargetParams{TargetID: t.main.TargetID})
	l.gone(t)
}

// Navigate opens a URL in the page shown. The error is one of this package's,
// the refusal of [LiveOptions].Send, or ctx's cause; the page then shows what it
// showed before, or the browser's error page.
func (l *Live) Navigate(ctx context.Context, url string) (State, error) {
	return l.load(ctx, func(t *Tab) func(context.Context) (answer, error) {
		p := cdp.Go(t.main, page.Navigate, page.NavigateParams{URL: url})
		return func(ctx context.Context) (answer, error) {
			res, err := p.Wait(ctx)
			return answer{res.ErrorText, res.IsDownload, res.LoaderID == ""}, err
		}
	}, url)
}

// ErrNoHistory: there is no page to go back to.
var ErrNoHistory = errors.New("tab: no page to go back to")

// Back goes back in the history of the page shown.
func (l *Live) Back(ctx context.Context) (State, error) {
	t, err := l.page()
	if err != nil {
		return State{}, err
	}
	h, err := cdpt.Call(ctx, t.main, page.GetNavigationHistory, cdpt.Empty{})
	if err != nil {
		return State{}, unresponsive(ctx, err)
	}
	i := h.CurrentIndex - 1
	if i < 0 || i >= int64(len(h.Entries)) || !isHTTP(h.Entries[i].URL) {
		return l.state(t), ErrNoHistory
	}
	return l.load(ctx, func(t *Tab) func(context.Context) (answer, error) {
		p := cdp.Go(t.main, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: h.Entries[i].ID})
		return func(ctx context.Context) (answer, error) {
			_, err := p.Wait(ctx)
			// It answers before anything has happened, and leads to another
			// document unless only the fragment or the page's own state differ.
			return answer{}, err
		}
	}, h.Entries[i].URL)
}

// answer is what the browser says to a navigation.
type answer struct {
	failed string // Chromium's name of the failure
	file   bool   // the response is a download
	same   bool   // no new document
}

// load navigates by start, and settles.
func (l *Live) load(ctx context.Context, start func(*Tab) func(context.Context) (answer, error), url string) (State, error) {
	t, err := l.page()
	if err != nil {
		return State{}, err
	}
	revived := t.revive()
	t.mu.Lock()
	before := t.visit
	v := newVisit(l.request(url))
	if before != nil {
		v.virtual = before.virtual // also of a new process: the browser restores that
	}
	if revived {
		before = nil // its document is lost
	}
	t.visit = v
	if t.frames[t.mainFrame()] == nil {
		t.frames[t.mainFrame()] = &frame{id: t.mainFrame(), session: t.main, url: "about:blank"}
	}
	virtual := v.virtual
	t.mu.Unlock()
	l.sent(t.mainFrame()) // what a form began before is over
	if virtual {          // else the navigation hangs
		t.arm(false)
	}
	navCtx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wait := start(t)
	wg.Go(func() {
		res, err := wait(navCtx)
		t.update(func(now *visit, at time.Time) {
			if now != v {
				return
			}
			v.answered, v.answer, v.navError, v.isFile = true, at, res.failed, res.file
			var refused *cdp.Error
			if errors.As(err, &refused) {
				v.navError = refused.Message
			}
			if res.same && err == nil && res.failed == "" && !res.file && before != nil {
				v.stayed = true
			}
		})
	})
	alive, stop := t.whileAlive(ctx)
	defer stop()
	err = t.settleLoad(alive, v, before)
	l.spans.settled(ctx, t, v.started)
	if err == nil {
		err = l.popups(alive, t)
	}
	if err != nil {
		return l.state(t), err
	}
	return l.arrived(ctx, t, v, before)
}

// settleLoad is settle for a navigation, which may turn out to be none.
func (t *Tab) settleLoad(ctx context.Context, v, before *visit) error {
	timer := time.NewTimer(v.req.Timeout)
	defer timer.Stop()
	for {
		t.mu.Lock()
		known := v.committed > 0 || v.answered && (v.navError != "" || v.isFile || v.stayed) || t.crashed || v.fatal != nil
		stayed := v.stayed && v.committed == 0
		if stayed { // the document is still the one before
			url := v.doc.url
			t.visit = before.next(v.req, actSpan)
			t.visit.hop, t.visit.downloads = v.hop, v.downloads
			t.visit.doc.url = cmp.Or(url, v.req.URL)
		}
		t.mu.Unlock()
		if stayed {
			t.arm(false)
		}
		if known {
			return t.settle(ctx)
		}
		select {
		case <-t.wake:
		case <-timer.C:
			return t.settle(ctx)
		case <-t.main.Done():
			return ErrCrashed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// arrived says what came of a navigation.
func (l *Live) arrived(ctx context.Context, t *Tab, v, before *visit) (State, error) {
	t.mu.Lock()
	p, main := t.page(v), *v.main()
	committed, unreachable, navError, isFile, hop, stayed := v.committed, v.doc.unreachable, v.navError, v.isFile, v.hop, v.stayed
	empty := v.doc.whole && v.doc.bytes == 0 && main.status != 0
	if committed == 0 && before != nil && t.visit == v {
		t.visit = before.next(v.req, 0)
		t.visit.hop, t.visit.downloads = v.hop, v.downloads
	}
	t.mu.Unlock()
	err := error(nil)
	switch {
	case stayed && committed == 0:
	case committed == 0 && hop != nil:
		err = hop.Err
	case isFile, main.attachment:
		err = contentError(p, main, main.attachment || isFile && kindOf(p))
	case committed == 0 && navError == "":
		err = ErrTimeout
	case committed == 0 && p.Status == 0 && navError == "net::ERR_ABORTED" && main.redirected == 0:
		err = ErrCrashed
	case committed == 0 && p.Status == 0:
		err = &NetError{URL: p.URL, Text: navError, Status: main.redirected}
	case committed == 0 || unreachable != "":
		if committed > 1 || navError == "" {
			navError = main.failed
		}
		_, err = errorPage(p, unreachable, navError)
	case empty && main.failed != "":
		err = &NetError{URL: p.URL, Text: main.failed, Status: p.Status}
	case empty && contentKind(main.mime) == kindHTML:
		err = ErrEmpty
	}
	s := l.state(t)
	if err != nil {
		s.Status, s.ContentType = p.Status, p.ContentType
	}
	return s, err
}

// kindOf reports whether a response that the browser took for a file has a
// type that it would have shown.
func kindOf(p *Page) bool { return contentKind(p.ContentType) != kindOther }

// state tells where the page is.
func (l *Live) state(t *Tab) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.visit
	if v == nil {
		return State{URL: "about:blank"}
	}
	n := v.navs[v.doc.loader]
	if n == nil {
		n = &navigation{}
	}
	return State{
		URL: v.doc.url, Status: n.status, ContentType: cmp.Or(n.declared, n.mime), Header: n.header, Hop: v.hop,
		TimedOut: v.committed > 0 && v.doc.dcl.IsZero(), Document: string(v.doc.loader),
	}
}

// State tells where the page shown is.
func (l *Live) State() (State, error) {
	t, err := l.page()
	if err != nil {
		return State{}, err
	}
	return l.state(t), nil
}

// revive readies a page whose process has died for another navigation.
func (t *Tab) revive() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.crashed {
		return false
	}
	t.crashed, t.died = false, make(chan struct{})
	t.frames = map[cdpt.FrameID]*frame{}
	for s := range t.sessions {
		if s != t.main {
			delete(t.sessions, s)
		}
	}
	return true
}

// Kill ends the process of a page that does not respond any more. The page can
// be navigated again; what it was is lost.
func (l *Live) Kill(ctx context.Context) error {
	t, err := l.page()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	died := t.end()
	cdp.Go(t.main, page.Crash, cdpt.Empty{})
	select {
	case <-died:
		return nil
	case <-t.main.Done():
		return ErrCrashed
	case <-ctx.Done():
		return fmt.Errorf("tab: kill: %w", context.Cause(ctx))
	}
}

// aliveTimeout is how long a page has to give a sign of life that has not
// responded for seconds.
const aliveTimeout = 400 * time.Millisecond

// Alive asks the page's process for a sign of life.
func (l *Live) Alive(ctx context.Context) error {
	t, err := l.page()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, aliveTimeout, ErrUnresponsive)
	defer cancel()
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	if _, err := cdpt.Call(ctx, t.main, runtime.Evaluate, runtime.EvaluateParams{Expression: "0"}); err != nil {
		return unresponsive(ctx, err)
	}
	return nil
}

// realQuiet is how long nothing may be in flight before a page on the real
// clock counts as settled, unless [LiveOptions] say otherwise.
const realQuiet = 300 * time.Millisecond

// decideReal is decide for a parsed page on the real clock.
func (v *visit) decideReal(now, limit time.Time) (action, time.Time) {
	n, _, last := v.waiting()
	if n > 0 {
		v.idle = time.Time{}
		if due := last.Add(v.patience(stall)); now.Before(due) {
			return actWait, earlier(due, limit)
		}
		v.giveUp()
	}
	if v.idle.IsZero() {
		v.idle = now
	}
	if due := later(v.idle, v.from).Add(cmp.Or(v.req.Quiet, realQuiet)); now.Before(due) {
		return actWait, earlier(due, limit)
	}
	return actRead, now
}
