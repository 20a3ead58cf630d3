package tab

import (
	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// forms knows which documents are asked for by forms: a request tells its
// method only, and a form that is sent by GET looks like a link. It is guarded
// by Live.mu.
type forms struct {
	frames map[cdpt.FrameID]bool // on their way to where a form sends them
	link   bool                  // what asked last for a page of its own, which is not there yet, is no form
	clicks string                // where the link leads that is being clicked, without its fragment
}

// Follows notes where the link leads that the next click is on; "" for none. A
// new page that asks for exactly that is the link's, whatever else could ask:
// a form could send nothing with it.
func (l *Live) Follows(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forms.clicks = sansFragment(url)
}

// requested notes that a page asks for a navigation, of whatever frame. The
// browser tells so in the session of the frame that asks, before the request.
func (l *Live) requested(ev *page.EventFrameRequestedNavigation) {
	form := ev.Reason == page.ClientNavigationReasonFormSubmissionGet || ev.Reason == page.ClientNavigationReasonFormSubmissionPost
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ev.Disposition != page.ClientNavigationDispositionCurrentTab:
		l.forms.link = !form
	case !form:
		delete(l.forms.frames, ev.FrameID)
	case len(l.forms.frames) < maxTracked:
		l.forms.frames[ev.FrameID] = true
	}
}

// fromForm reports whether a form is what asks for the next document of a
// frame, at this URL. Redirects of such a request are the form's, too.
func (l *Live) fromForm(t *Tab, frame cdpt.FrameID, method, url string) bool {
	t.mu.Lock()
	fresh := frame == t.mainFrame() && t.visit != nil && t.visit.committed == 0
	t.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if fresh && t != l.pages[0] {
		// Of a page that may not know its opener, the browser does not tell what
		// asked for it (seen on 156): that could be a form.
		link := l.forms.link || method == "GET" && l.forms.clicks != "" && sansFragment(url) == l.forms.clicks
		if !link && len(l.forms.frames) < maxTracked {
			l.forms.frames[frame] = true
		}
		l.forms.link = false
	}
	// A page with so many frames on their way has lost the right to doubt.
	return l.forms.frames[frame] || len(l.forms.frames) >= maxTracked
}

// sent notes that a frame has a new document, or is sent elsewhere by us.
func (l *Live) sent(frame cdpt.FrameID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.forms.frames, frame)
}
