package tab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass/internal/cdp"
	"github.com/bellglass/bellglass/internal/look"
)

// LiveOptions say how a tab is used that serves a session.
type LiveOptions struct {
	// Timeout bounds the time until a document is there and parsed. Required.
	Timeout time.Duration
	// MaxBytes bounds the decoded bodies that one call may load; zero is no
	// bound.
	MaxBytes int64
	// Header names a response header of main documents that [State] reports.
	Header string
	// Check judges the URL of a frame before anything of it is looked at. If
	// nil, all may.
	Check func(url string) error
	// Send judges a request for a document before it is sent: those of the
	// main frames of all pages, whoever asked for them, redirects included.
	// Form says that a form is what sends it. If nil, all may.
	Send func(method, url string, form bool) error
	// SendFrame is Send for the documents of frames within pages.
	SendFrame func(method, url string, form bool) error
	// Unstick is as in [Request].
	Unstick func(silent time.Duration)
	// Real leaves pages on the real clock, for those that live on sockets and
	// heartbeats. Otherwise time stands still between two calls.
	Real bool
	// Quiet is how long nothing may be in flight before a page on the real
	// clock counts as settled. If zero, 300 ms.
	Quiet time.Duration
	// Span is told of the parts of calls when they have ended: navigate, aim,
	// act, settle, extract. If nil, nobody is.
	Span func(ctx context.Context, part string, start, end time.Time)
}

// Live is a tab in use by a session: it is navigated, looked at and operated
// call after call, and adopts the popups of its pages. Its calls must not
// overlap. The tab is closed as any other.
type Live struct {
	host  *Host
	o     LiveOptions
	spans spanFunc

	mu      sync.Mutex
	pages   []*Tab    // by number, from 1; nil where closed
	shown   int       // number of the page that calls are about
	opened  []int     // pages adopted since the last Events
	looked  time.Time // when the last look at a whole page had ended
	accept  bool      // dialogs are accepted
	forms   forms     // what forms are taking to another document
	events  []Event
	dropped int // events beyond the bound
}

// Bounds of what pages can make a session keep.
const (
	// maxPages is how many pages of a session may be open at one time; a popup
	// beyond is closed before it runs.
	maxPages = 5
	// maxPageNumber ends a session's popups for good.
	maxPageNumber = 100
	// maxEvents is what one call reports.
	maxEvents = 20
)

// Live turns a blank tab into one of a session. It must not have been used.
func (t *Tab) Live(ctx context.Context, o LiveOptions) (*Live, error) {
	l := &Live{host: t.host, o: o, spans: o.Span, pages: []*Tab{t}, shown: 1, forms: forms{frames: map[cdpt.FrameID]bool{}}}
	t.mu.Lock()
	if t.visit != nil || !t.live.CompareAndSwap(nil, l) {
		t.mu.Unlock()
		return nil, errors.New("tab: live: this tab has been used")
	}
	t.mu.Unlock()
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	for _, p := range l.enable(t) {
		if _, err := p.Wait(ctx); err != nil {
			return nil, fmt.Errorf("tab: live: %w", crashedOr(err))
		}
	}
	return l, nil
}

// crashedOr tells the end of a page's session for what it is.
func crashedOr(err error) error {
	if errors.Is(err, cdp.ErrDetached) || errors.Is(err, cdp.ErrClosed) {
		return fmt.Errorf("%w: %w", ErrCrashed, err)
	}
	return err
}

// Every document is asked about before it is requested; nothing is dropped.
var documentPatterns = []*fetch.RequestPattern{{URLPattern: "*", ResourceType: network.ResourceTypeDocument}}

// enable sends what a page of a session needs beyond [Tab.enable].
func (l *Live) enable(t *Tab) []cdp.Pending[cdpt.Empty] {
	s, yes := t.main, true
	cdp.On(s, page.FileChooserOpened, func(*page.EventFileChooserOpened) {
		l.note(Event{Kind: EventFileChooser})
	})
	watch(s)
	return []cdp.Pending[cdpt.Empty]{
		cdp.Go(s, fetch.Enable, fetch.EnableParams{Patterns: documentPatterns}),
		cdp.Go(s, page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true, Cancel: &yes}),
		// Else a page behind another one never has the focus.
		cdp.Go(s, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}),
	}
}

// watch sends what the pages of a session and their frames have in common: each
// document notices which fields are of type password, from before the page's
// own scripts run, and what the page asks a person for; and keeps the function
// that looks.
func watch(s *cdp.Session) {
	cdp.Go(s, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: secretsScript, WorldName: world})
	watchRequests(s)
}

var secretsScript = look.WatchScript() + ";" + look.KeepScript()

// patterns are the requests that pause for a verdict: those of a session, or of a read.
func (t *Tab) patterns(reading []*fetch.RequestPattern) []*fetch.RequestPattern {
	if t.live.Load() != nil {
		return documentPatterns
	}
	return reading
}

// adopt takes in a page that one of the session's pages has opened, or ends it.
// It runs on the reading goroutine; the page is paused.
func (l *Live) adopt(s *cdp.Session, info *target.Info) {
	l.mu.Lock()
	open := 0
	var opener *Tab
	for _, p := range l.pages {
		if p == nil {
			continue
		}
		open++
		if p.main.TargetID == info.OpenerID {
			opener = p
		}
	}
	if open >= maxPages || len(l.pages) >= maxPageNumber {
		l.mu.Unlock()
		l.note(Event{Kind: EventPopupClosed, URL: info.URL})
		l.host.discard(s)
		return
	}
	root := l.pages[0]
	if root == nil {
		for _, p := range l.pages {
			if p != nil {
				root = p
			}
		}
	}
	t := &Tab{
		host: l.host, ctxID: info.BrowserContextID, main: s,
		ready: make(chan struct{}), wake: make(chan struct{}, 1), died: make(chan struct{}),
		sessions: map[*cdp.Session]*frameSession{}, frames: map[cdpt.FrameID]*frame{},
	}
	t.live.Store(l)
	l.pages = append(l.pages, t)
	n := len(l.pages)
	l.opened = append(l.opened, n)
	l.mu.Unlock()

	// A page shares the clock of the one that opened it if both are in one
	// process: where that clock is virtual, so is this one's from the start.
	v := newVisit(l.request(info.URL))
	if opener != nil && opener != t {
		opener.mu.Lock()
		v.virtual = opener.visit != nil && opener.visit.virtual
		opener.mu.Unlock()
	}
	v.armed = time.Now()
	t.visit = v
	t.frames[t.mainFrame()] = &frame{id: t.mainFrame(), session: s, url: "about:blank"}

	l.host.mu.Lock()
	l.host.owner[s] = t
	l.host.mu.Unlock()
	s.OnEnd(func() { l.gone(t) })
	t.begin(s)
	l.enable(t)
	if v.virtual {
		setPolicy(s, t.budget(v, true))
	}
	close(t.ready)
	resume(s)
}

// gone is told that a page was closed, by itself or by us, possibly twice.
func (l *Live) gone(t *Tab) {
	l.mu.Lock()
	n := 0
	for i, p := range l.pages {
		if p == t {
			n = i + 1
			l.pages[i] = nil
		}
	}
	if n != 0 && l.shown == n {
		for i := len(l.pages); i > 0; i-- {
			if l.pages[i-1] != nil && l.shown == n {
				l.shown = i
			}
		}
	}
	l.mu.Unlock()
	if n == 0 {
		return
	}
	l.note(Event{Kind: EventPageClosed, Page: n})
	t.mu.Lock()
	if !t.crashed {
		t.crashed = true
		close(t.died)
	}
	t.mu.Unlock()
	t.notify()
}

// request is what a visit of this session is held to.
func (l *Live) request(url string) Request {
	return Request{
		URL: url, Timeout: l.o.Timeout, MaxBytes: l.o.MaxBytes, Header: l.o.Header,
		Check: l.o.Check, Unstick: l.o.Unstick, Real: l.o.Real, Quiet: l.o.Quiet, pictures: true,
	}
}

// page returns the page that calls are about.
func (l *Live) page() (*Tab, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.pages[l.shown-1]
	if t == nil {
		return nil, ErrCrashed
	}
	return t, nil
}

// Shown returns the number of the page that calls are about, from 1.
func (l *Live) Shown() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown
}

// Show makes calls be about the page of that number. It reports whether there
// is one.
func (l *Live) Show(ctx context.Context, n int) bool {
	l.mu.Lock()
	ok := n >= 1 && n <= len(l.pages) && l.pages[n-1] != nil
	var t *Tab
	if ok {
		l.shown, t = n, l.pages[n-1]
	}
	l.mu.Unlock()
	if ok {
		cdp.Go(t.main, page.BringToFront, cdpt.Empty{})
	}
	return ok
}

// Stop ends all loading of all pages, for a call that was given up.
func (l *Live) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.pages {
		if t != nil {
			t.stop()
		}
	}
}

// Pages returns the numbers and URLs of the open pages.
func (l *Live) Pages() []PageInfo {
	l.mu.Lock()
	pages := append([]*Tab(nil), l.pages...)
	l.mu.Unlock()
	var out []PageInfo
	for i, t := range pages {
		if t == nil {
			continue
		}
		t.mu.Lock()
		info := PageInfo{Number: i + 1, URL: "about:blank"}
		if v := t.visit; v != nil && v.doc.url != "" {
			info.URL = v.doc.url
		}
		t.mu.Unlock()
		out = append(out, info)
	}
	return out
}

// PageInfo names an open page.
type PageInfo struct {
	Number int
	URL    string
}
