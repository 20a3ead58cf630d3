package tab

import (
	"slices"
	"strings"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"

	"github.com/bellglass/bellglass/internal/cdp"
)

// The network events come once or more per request and carry far more than is
// used here; these cuts of cdproto's types decode in a fraction of the time.
type (
	willBeSent struct {
		RequestID network.RequestID `json:"requestId"`
		Request   struct {
			URL string `json:"url"`
		} `json:"request"`
		RedirectResponse *struct{}            `json:"redirectResponse"`
		Type             network.ResourceType `json:"type"`
		FrameID          cdpt.FrameID         `json:"frameId"`
	}
	responseReceived struct {
		RequestID network.RequestID `json:"requestId"`
		Response  struct {
			URL      string          `json:"url"`
			Status   int64           `json:"status"`
			MimeType string          `json:"mimeType"`
			Headers  network.Headers `json:"headers"`
		} `json:"response"`
	}
	extraInfo struct {
		RequestID  network.RequestID `json:"requestId"`
		StatusCode int               `json:"statusCode"`
	}
	requestEnds struct {
		RequestID  network.RequestID    `json:"requestId"`
		ErrorText  string               `json:"errorText"`
		Type       network.ResourceType `json:"type"`
		DataLength int64                `json:"dataLength"`
	}
)

// listen registers the handlers of a page or frame session. They run on the
// reading goroutine.
func (t *Tab) listen(s *cdp.Session) {
	t.listenPage(s)
	t.listenNetwork(s)
	cdp.On(s, emulation.VirtualTimeBudgetExpired, func(*emulation.EventVirtualTimeBudgetExpired) {
		t.update(func(v *visit, _ time.Time) {
			if fs := t.sessions[s]; fs != nil && v.committed > 0 {
				fs.expired = true
			}
		})
	})
	cdp.On(s, fetch.RequestPaused, func(ev *fetch.EventRequestPaused) { t.paused(s, ev) })
	cdp.On(s, inspector.TargetCrashed, func(*inspector.EventTargetCrashed) {
		t.mu.Lock()
		if s == t.main && !t.crashed {
			t.crashed = true
			close(t.died)
		}
		t.mu.Unlock()
		t.notify()
	})
}

// update changes the visit, if there is one, and wakes its reader.
func (t *Tab) update(f func(v *visit, now time.Time)) {
	t.mu.Lock()
	if v := t.visit; v != nil {
		f(v, time.Now())
	}
	t.mu.Unlock()
	t.notify()
}

func (t *Tab) mainFrame() cdpt.FrameID { return cdpt.FrameID(t.main.TargetID) }

func (t *Tab) listenPage(s *cdp.Session) {
	cdp.On(s, page.FrameAttached, func(ev *page.EventFrameAttached) {
		t.update(func(v *visit, _ time.Time) { t.frameAttached(v, s, ev) })
	})
	cdp.On(s, page.FrameDetached, func(ev *page.EventFrameDetached) {
		t.update(func(*visit, time.Time) {
			if ev.Reason != page.FrameDetachedReasonSwap { // a swap goes on in another process
				t.frameGone(ev.FrameID)
			}
		})
	})
	cdp.On(s, page.FrameNavigated, func(ev *page.EventFrameNavigated) { t.navigated(s, ev.Frame) })
	cdp.On(s, page.NavigatedWithinDocument, func(ev *page.EventNavigatedWithinDocument) {
		t.update(func(v *visit, _ time.Time) {
			if f := t.frames[ev.FrameID]; f != nil {
				f.url = ev.URL
			}
			if ev.FrameID == t.mainFrame() {
				v.doc.url, v.asked = ev.URL, time.Time{}
			}
		})
	})
	cdp.On(s, page.FrameRequestedNavigation, func(ev *page.EventFrameRequestedNavigation) {
		if live := t.live.Load(); live != nil {
			live.requested(ev)
		}
		t.update(func(v *visit, now time.Time) {
			if ev.FrameID == t.mainFrame() && isHTTP(ev.URL) && v.committed > 0 && ev.Disposition == page.ClientNavigationDispositionCurrentTab {
				v.asked = now
			}
		})
	})
	cdp.On(s, page.JavascriptDialogOpening, func(ev *page.EventJavascriptDialogOpening) {
		if live := t.live.Load(); live != nil {
			live.dialog(s, ev)
			return
		}
		cdp.Go(s, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: ev.Type == page.DialogTypeBeforeunload})
		t.update(func(v *visit, _ time.Time) { v.dialogs++ })
	})
	if s != t.main {
		return
	}
	cdp.On(s, page.DomContentEventFired, func(*page.EventDomContentEventFired) {
		start := false
		t.update(func(v *visit, now time.Time) {
			v.doc.dcl = now
			start = (!v.virtual || !v.nudged.IsZero()) && !v.req.Real // what ran out was only a nudge
		})
		if start {
			t.arm(false)
		}
	})
	cdp.On(s, page.LoadEventFired, func(*page.EventLoadEventFired) {
		t.update(func(v *visit, now time.Time) { v.doc.load = now })
	})
}

func (t *Tab) frameAttached(v *visit, s *cdp.Session, ev *page.EventFrameAttached) {
	if len(t.frames) >= maxTracked {
		return
	}
	parent := t.frames[ev.ParentFrameID]
	if parent == nil {
		return
	}
	if t.frames[ev.FrameID] == nil {
		t.frames[ev.FrameID] = &frame{id: ev.FrameID, session: s}
	}
	t.frames[ev.FrameID].parent = parent.id
	if !slices.Contains(parent.children, ev.FrameID) {
		parent.children = append(parent.children, ev.FrameID)
	}
	v.newFrames = true
}

// frameGone forgets a frame and everything below it.
func (t *Tab) frameGone(id cdpt.FrameID) {
	f := t.frames[id]
	if f == nil {
		return
	}
	delete(t.frames, id)
	for _, c := range f.children {
		t.frameGone(c)
	}
	if p := t.frames[f.parent]; p != nil {
		p.children = slices.DeleteFunc(p.children, func(c cdpt.FrameID) bool { return c == id })
	}
}

// navigated handles the commit of a document in any frame. Where time is
// virtual already, there is no way back: the new document gets its budget here,
// at once, for until then it stands still.
func (t *Tab) navigated(s *cdp.Session, f *cdpt.Frame) {
	if f == nil {
		return
	}
	if live := t.live.Load(); live != nil {
		live.sent(f.ID)
	}
	t.mu.Lock()
	v := t.visit
	if v == nil {
		t.mu.Unlock()
		return
	}
	isMain := s == t.main && f.ID == t.mainFrame()
	old := t.frames[f.ID]
	if old != nil {
		for _, c := range slices.Clone(old.children) {
			t.frameGone(c)
		}
	}
	now := &frame{id: f.ID, parent: f.ParentID, session: s, url: f.URL + f.URLFragment, mime: f.MimeType}
	if old != nil && now.parent == "" {
		now.parent = old.parent
	}
	t.frames[f.ID] = now
	first := false
	if isMain {
		v.commit(f, time.Now())
		first = v.committed == 1 && t.live.Load() == nil
		t.workers = 0
	} else {
		v.newFrames = true
	}
	if fs := t.sessions[s]; fs != nil && (isMain || s != t.main) {
		fs.expired = false
	}
	budget, virtual := t.budget(v, isMain), v.virtual
	judged := !v.req.Intercept && v.req.patterns() != nil
	if virtual {
		v.armed = time.Now()
	}
	t.mu.Unlock()

	if virtual && (isMain || s != t.main) {
		setPolicy(s, budget)
	}
	if first && !judged {
		cdp.Go(s, fetch.Enable, fetch.EnableParams{Patterns: judgePatterns})
	}
	t.notify()
}

func (t *Tab) listenNetwork(s *cdp.Session) {
	cdp.On(s, cdpt.Event[willBeSent]{Method: network.RequestWillBeSent.Method}, func(ev *willBeSent) {
		t.update(func(v *visit, now time.Time) {
			v.requestStarts(ev, s == t.main && ev.FrameID == t.mainFrame(), now)
		})
	})
	cdp.On(s, cdpt.Event[responseReceived]{Method: network.ResponseReceived.Method}, func(ev *responseReceived) {
		if live := t.live.Load(); live != nil {
			live.challenged(ev)
		}
		t.update(func(v *visit, now time.Time) { v.responded(ev, now) })
	})
	// The only word of a redirect that the browser does not follow.
	cdp.On(s, cdpt.Event[extraInfo]{Method: network.ResponseReceivedExtraInfo.Method}, func(ev *extraInfo) {
		t.update(func(v *visit, _ time.Time) {
			if n := v.navs[ev.RequestID]; n != nil && ev.StatusCode >= 300 && ev.StatusCode < 400 {
				n.redirected = ev.StatusCode
			}
		})
	})
	cdp.On(s, cdpt.Event[requestEnds]{Method: network.DataReceived.Method}, func(ev *requestEnds) {
		t.update(func(v *visit, now time.Time) { v.received(ev.RequestID, ev.DataLength, now) })
	})
	cdp.On(s, cdpt.Event[requestEnds]{Method: network.LoadingFinished.Method}, func(ev *requestEnds) {
		t.update(func(v *visit, _ time.Time) { v.finished(ev.RequestID, "") })
	})
	cdp.On(s, cdpt.Event[requestEnds]{Method: network.LoadingFailed.Method}, func(ev *requestEnds) {
		t.update(func(v *visit, _ time.Time) { v.finished(ev.RequestID, ev.ErrorText) })
	})
	type socket = requestEnds
	cdp.On(s, cdpt.Event[socket]{Method: network.WebSocketCreated.Method}, func(ev *socket) {
		t.update(func(v *visit, _ time.Time) {
			if len(v.sockets) < maxTracked {
				v.sockets[ev.RequestID] = true
			}
		})
	})
	cdp.On(s, cdpt.Event[socket]{Method: network.WebSocketClosed.Method}, func(ev *socket) {
		t.update(func(v *visit, _ time.Time) { delete(v.sockets, ev.RequestID) })
	})
	cdp.On(s, cdpt.Event[socket]{Method: network.WebSocketFrameReceived.Method}, func(*socket) {
		t.update(func(v *visit, now time.Time) { v.spoke = now })
	})
}

// paused answers an intercepted request: pictures, media and fonts are
// dropped, the main frame's further documents are judged.
func (t *Tab) paused(s *cdp.Session, ev *fetch.EventRequestPaused) {
	if live := t.live.Load(); live != nil {
		live.paused(t, s, ev)
		return
	}
	if ev.ResponseStatusCode != 0 || ev.ResponseErrorReason != "" {
		t.answered(s, ev)
		return
	}
	verdict := network.ErrorReason("")
	var given *Given
	ask := false // where the main frame is led to
	t.update(func(v *visit, now time.Time) {
		if given = v.claim(ev, s == t.main && ev.FrameID == t.mainFrame()); given != nil {
			return
		}
		switch {
		case ev.ResourceType == network.ResourceTypeDocument && v.committed == 0:
			ask = ev.RedirectedRequestID != "" && ev.FrameID == t.mainFrame()
		case ev.ResourceType != network.ResourceTypeDocument:
			v.dropped++
			verdict = network.ErrorReasonBlockedByClient
		case ev.FrameID == t.mainFrame() && ev.Request != nil && v.stays(ev.Request.URL):
			// "Aborted" leaves the document as it is; any other reason would
			// put an error page in its place.
			verdict = network.ErrorReasonAborted
			v.leaves("", time.Time{})
		case ev.FrameID == t.mainFrame():
			v.leaves(ev.NetworkID, now)
			ask = true
		}
		ask = ask && v.permit != nil && ev.Request != nil && isHTTP(ev.Request.URL)
	})
	if ask {
		t.helpers.Go(func() { t.askFor(s, ev) })
		return
	}
	if given != nil {
		t.give(s, ev.RequestID, given)
		return
	}
	if verdict == "" {
		cdp.Go(s, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
		return
	}
	cdp.Go(s, fetch.FailRequest, fetch.FailRequestParams{RequestID: ev.RequestID, ErrorReason: verdict})
}

// askFor has a document of the main frame permitted, or ends the read.
func (t *Tab) askFor(s *cdp.Session, ev *fetch.EventRequestPaused) {
	t.mu.Lock()
	permit := t.visit.permit
	t.mu.Unlock()
	err := permit(ev.Request.URL)
	if err == nil {
		cdp.Go(s, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
		return
	}
	t.update(func(v *visit, _ time.Time) {
		if v.fatal == nil {
			v.fatal, v.led = err, ev.Request.URL
		}
	})
	cdp.Go(s, fetch.FailRequest, fetch.FailRequestParams{RequestID: ev.RequestID, ErrorReason: network.ErrorReasonAborted})
}

// stays decides whether the page must not leave for url: because it may not be
// opened, because the page only reloads itself, or because there were too many
// hops already.
func (v *visit) stays(url string) bool {
	if v.req.Check != nil {
		if err := v.req.Check(url); err != nil {
			v.hop = &Hop{URL: url, Err: err}
			return true
		}
	}
	if sansFragment(url) == sansFragment(v.doc.url) {
		return v.reloads >= maxSelfReloads
	}
	return v.committed > maxHops
}

// A page may reload itself once (cookie walls do), and move on by script or
// meta refresh as often as a server may redirect.
const (
	maxSelfReloads = 1
	maxHops        = 10
)

func sansFragment(u string) string {
	u, _, _ = strings.Cut(u, "#")
	return u
}

func isHTTP(u string) bool {
	return strings.HasPrefix(u, "http://") || strings.HasPrefix(u, "https://")
}
