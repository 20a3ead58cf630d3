package tab

import (
	"mime"
	"strings"
	"time"

	"github.com/chromedp/cdproto/browser"
	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"

	"github.com/bellglass/bellglass/internal/cdp"
)

// maxTracked bounds what is remembered of one page: a script can start
// requests faster than anybody wants to count them.
const maxTracked = 10_000

// visit is everything known about one Read. It is guarded by Tab.mu; events
// write it on the reading goroutine, settle reads it.
type visit struct {
	req     Request
	started time.Time

	// The document shown, and how it came.
	doc       document
	committed int // main-frame documents so far, error pages included
	reloads   int // how often in a row the page has come back to itself
	redirects int // server redirects of all main documents
	// navs are the main frame's document requests by loader; last is the one
	// that started last.
	navs     map[network.RequestID]*navigation
	last     *navigation
	leaving  network.RequestID // the one in flight once a document is there
	left     time.Time         // when it began
	asked    time.Time         // a script asked to leave, no request seen yet
	answered bool              // Page.navigate has answered
	answer   time.Time         // when it did
	navError string            // and what it said
	isFile   bool              // and that the response is a download

	taken *taken // the body of the first document, if it is not rendered
	given string // the media type of one that was rendered after all

	virtual   bool // the page's clock is virtual: from the first document's end of parsing on
	policy    emulation.VirtualTimePolicy
	armed     time.Time // when a budget was last sent
	rounds    int       // budgets given after the first one ran out
	newFrames bool      // frames came since the last budget
	grace     time.Time
	graced    bool
	unblocked bool      // a script or style sheet came that the parser may have waited for
	nudged    time.Time // when the parser was last helped
	unstuck   time.Time

	pending map[network.RequestID]*request
	sockets map[network.RequestID]bool
	spoke   time.Time // last socket message

	bytes     int64         // decoded body bytes of everything
	pace      time.Duration // what the last document's answer took to begin
	popups    int
	dialogs   int
	dropped   int // images, media and fonts
	hop       *Hop
	downloads []Download
	fatal     error
	permit    func(url string) error // see [Request].Permit; nil: all may be asked for
	led       string                 // what it refused

	// Of a session's calls only:
	from   time.Time     // when the call began
	span   time.Duration // of its own time that the page is given; zero is virtualBudget
	idle   time.Time     // since when nothing has been in flight, in real time
	stayed bool          // the navigation led to no new document
}

// document is the main frame's current document.
type document struct {
	loader      network.RequestID
	url         string // with fragment
	mime        string
	unreachable string // set on the browser's own error page
	committed   time.Time
	whole       bool          // its bytes have all come
	bytes       int64         // of it so far, decoded
	last        time.Time     // when some came
	pinged      time.Time     // when its process was asked for a sign of life and has not given it
	silent      time.Duration // how long such signs were waited for, in all
	nodes       string        // how many elements there were when they were last counted, before it was parsed
	counting    bool          // they are being counted
	stopped     bool          // the parser has, before the end
	dcl, load   time.Time     // zero until they happened
}

// navigation is one request for a main document.
type navigation struct {
	url        string    // of the last hop
	asked      time.Time // when the last hop began
	status     int
	redirected int    // status of the last redirect
	mime       string // as the browser treats it
	declared   string // as the server says, without parameters; empty if it does not
	attachment bool   // Content-Disposition says so

	disposition string // Content-Disposition
	size        int64  // Content-Length, or 0
	header      string // the one asked for
	retryAfter  string // Retry-After
	failed      string
}

// request is one request in flight.
type request struct {
	typ   network.ResourceType
	last  time.Time // last sign of life
	stuck bool      // was silent when the page was allowed to go on without it
}

func newVisit(r Request) *visit {
	return &visit{
		req: r, started: time.Now(),
		policy:  emulation.VirtualTimePolicyPauseIfNetworkFetchesPending,
		navs:    map[network.RequestID]*navigation{},
		pending: map[network.RequestID]*request{},
		sockets: map[network.RequestID]bool{},
	}
}

// commit notes a new main document.
func (v *visit) commit(f *cdpt.Frame, now time.Time) {
	v.committed++
	if v.committed > 1 {
		v.given = "" // it was about the first
	}
	if v.committed > 1 && sansFragment(f.URL) == sansFragment(v.doc.url) {
		v.reloads++
	} else {
		v.reloads = 0
	}
	v.doc = document{
		loader: network.RequestID(f.LoaderID), url: f.URL + f.URLFragment, mime: f.MimeType,
		unreachable: f.UnreachableURL, committed: now,
	}
	v.policy = emulation.VirtualTimePolicyPauseIfNetworkFetchesPending
	v.span = 0
	v.rounds, v.newFrames, v.graced, v.grace = 0, false, false, time.Time{}
	v.leaves("", time.Time{})
	v.unblocked, v.nudged, v.unstuck = false, time.Time{}, time.Time{}
	// What the last document still had in flight no longer matters.
	for id := range v.pending {
		if id != v.doc.loader {
			delete(v.pending, id)
		}
	}
	clear(v.sockets)
}

// leaves notes that the main frame is on its way to another document, or, with
// an empty id, that it is not.
func (v *visit) leaves(id network.RequestID, now time.Time) {
	if id != v.leaving {
		v.leaving, v.left = id, now
	}
	v.asked = time.Time{}
}

// patience stretches a time, meant for a site and a machine that are quick, by
// how slow this page's own answer was.
func (v *visit) patience(d time.Duration) time.Duration {
	return d * min(max(2*v.pace, stall), thinStall) / stall
}

// main returns the navigation behind the document shown, or, before there is
// any, the one under way.
func (v *visit) main() *navigation {
	n := v.navs[v.doc.loader]
	if v.committed == 0 {
		n = v.last
	}
	if n == nil {
		n = &navigation{url: v.req.URL}
	}
	return n
}

func (v *visit) requestStarts(ev *willBeSent, mainFrame bool, now time.Time) {
	if mainFrame && ev.Type == network.ResourceTypeDocument && isHTTP(ev.Request.URL) {
		n := v.navs[ev.RequestID]
		if n == nil {
			if len(v.navs) >= maxTracked {
				return
			}
			n = &navigation{}
			v.navs[ev.RequestID] = n
		}
		n.url, n.asked, v.last = ev.Request.URL, now, n
		if ev.RedirectResponse != nil {
			v.redirects++
		}
		if v.committed > 0 {
			v.leaves(ev.RequestID, now)
		}
	}
	switch ev.Type {
	case network.ResourceTypePing, network.ResourceTypeCSPViolationReport, network.ResourceTypePrefetch,
		network.ResourceTypeManifest, network.ResourceTypeWebSocket:
		return // nothing of these ends up on the page, or is tracked elsewhere
	}
	if len(v.pending) < maxTracked {
		v.pending[ev.RequestID] = &request{typ: ev.Type, last: now}
	}
}

func (v *visit) responded(ev *responseReceived, now time.Time) {
	if n := v.navs[ev.RequestID]; n != nil {
		n.url, n.status, n.mime = ev.Response.URL, int(ev.Response.Status), ev.Response.MimeType
		n.header, n.attachment, n.declared, n.retryAfter = "", false, "", ""
		n.disposition, n.size = "", 0
		v.pace = now.Sub(n.asked)
		for name, val := range ev.Response.Headers {
			s, _ := val.(string)
			switch {
			case strings.EqualFold(name, "content-type"):
				n.declared, _, _ = mime.ParseMediaType(s) // empty if it cannot be parsed
			case strings.EqualFold(name, "content-disposition"):
				n.attachment, n.disposition = isAttachment(s), s
			case strings.EqualFold(name, "content-length"):
				n.size = size(s)
			case v.req.Header != "" && strings.EqualFold(name, v.req.Header):
				n.header = s
			case strings.EqualFold(name, "retry-after"):
				n.retryAfter = s
			}
		}
		answer := n.status < 300 || n.status >= 400
		if answer && v.committed == 0 && !v.req.Intercept && v.req.Take != nil && n.declared != "" && !n.attachment && v.req.Take(n.declared) {
			v.fatal = ErrTake
		}
	}
	if p := v.pending[ev.RequestID]; p != nil {
		p.last, p.stuck = now, false
	}
}

func (v *visit) received(id network.RequestID, n int64, now time.Time) {
	v.bytes += n
	if limit := v.req.MaxBytes; limit > 0 && v.bytes > limit && v.fatal == nil {
		v.fatal = ErrTooLarge
	}
	if id == v.doc.loader {
		v.doc.bytes += n
		v.doc.last = now
	}
	if p := v.pending[id]; p != nil {
		p.last, p.stuck = now, false
	}
}

func (v *visit) finished(id network.RequestID, failed string) {
	if n := v.navs[id]; n != nil {
		n.failed = failed
		if id == v.leaving && failed != "" {
			v.leaving = ""
		}
	}
	if id == v.doc.loader {
		v.doc.whole = true
	}
	if p := v.pending[id]; p != nil && v.doc.dcl.IsZero() && v.committed > 0 {
		switch p.typ {
		case network.ResourceTypeScript, network.ResourceTypeStylesheet:
			v.unblocked = true
		}
	}
	delete(v.pending, id)
}

// dropSession forgets a frame's session; its requests can say no more.
func (v *visit) dropSession(*cdp.Session) { v.newFrames = true }

// waiting counts what is in flight: requests that were not given up (event
// streams apart), event streams, and when the last sign of life came.
func (v *visit) waiting() (n, streams int, last time.Time) {
	for _, p := range v.pending {
		switch {
		case p.stuck:
		case p.typ == network.ResourceTypeEventSource,
			v.req.pictures && (p.typ == network.ResourceTypeImage || p.typ == network.ResourceTypeMedia || p.typ == network.ResourceTypeFont):
			streams++
		default:
			n++
			if p.last.After(last) {
				last = p.last
			}
		}
	}
	return n, streams, last
}

// mayBringText reports whether a request in flight, given up or not, could
// still change the text of the main document by way of a script.
func (v *visit) mayBringText() bool {
	for _, p := range v.pending {
		switch p.typ {
		case network.ResourceTypeXHR, network.ResourceTypeFetch, network.ResourceTypeScript, network.ResourceTypePreflight,
			network.ResourceTypeEventSource:
			return true
		}
	}
	return false
}

// giveUp marks everything in flight as not worth waiting for.
func (v *visit) giveUp() {
	for _, p := range v.pending {
		p.stuck = true
	}
}

func (t *Tab) download(ev *browser.EventDownloadWillBegin) {
	if live := t.live.Load(); live != nil {
		live.downloads(ev)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.visit
	if v == nil || t.frames[ev.FrameID] == nil || len(v.downloads) >= 20 {
		return
	}
	v.downloads = append(v.downloads, Download{URL: ev.URL, Name: ev.SuggestedFilename})
}
