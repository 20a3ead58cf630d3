package tab

import (
	"slices"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"

	"github.com/bellglass/bellglass/internal/cdp"
)

// EventKind says what happened beside a session's pages.
type EventKind string

// What happens and never blocks: all of it is answered at once.
const (
	EventDialog      EventKind = "dialog"       // What is its type, Text its message, Accepted the answer
	EventDownload    EventKind = "download"     // refused; Text is the file name, URL where it would come from
	EventPopup       EventKind = "popup"        // adopted; Page is its number
	EventPopupClosed EventKind = "popup_closed" // closed before it ran: too many are open
	EventPageClosed  EventKind = "page_closed"  // Page is its number
	EventRefused     EventKind = "refused"      // a navigation to URL was refused with Err
	EventFileChooser EventKind = "file_chooser" // cancelled
	EventLogin       EventKind = "login"        // a prompt for name and password, cancelled; URL asks, Text is its realm
	EventPrint       EventKind = "print"        // ignored
	EventPermission  EventKind = "permission"   // denied; What is a name of this package's
)

// Event is something that happened to a session's pages. Texts and URLs are
// the page's words.
type Event struct {
	Kind     EventKind
	What     string
	Text     string
	URL      string
	Page     int
	Accepted bool
	Err      error
}

// note keeps an event for the next call's report.
func (l *Live) note(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case EventLogin, EventPrint, EventPermission: // once says it all
		if slices.Contains(l.events, e) {
			return
		}
	}
	if len(l.events) >= maxEvents {
		l.dropped++
		return
	}
	l.events = append(l.events, e)
}

// Events returns what happened since it was last asked, and how many more
// events there were than are kept.
func (l *Live) Events() (events []Event, more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	events, more = l.events, l.dropped
	l.events, l.dropped = nil, 0
	return events, more
}

// AcceptDialogs sets how dialogs are answered from now on; at first they are
// dismissed. A page that is being left is always let go.
func (l *Live) AcceptDialogs(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accept = yes
}

// dialog answers a dialog on the reading goroutine: until it is answered, the
// page's process stands still.
func (l *Live) dialog(s *cdp.Session, ev *page.EventJavascriptDialogOpening) {
	l.mu.Lock()
	accept := l.accept || ev.Type == page.DialogTypeBeforeunload
	l.mu.Unlock()
	p := page.HandleJavaScriptDialogParams{Accept: accept}
	if accept && ev.Type == page.DialogTypePrompt {
		p.PromptText = ev.DefaultPrompt
	}
	cdp.Go(s, page.HandleJavaScriptDialog, p)
	l.note(Event{Kind: EventDialog, What: string(ev.Type), Text: ev.Message, Accepted: accept})
}

// paused judges a document that a page or frame of the session is about to
// request. What is refused leaves the document as it is.
func (l *Live) paused(t *Tab, s *cdp.Session, ev *fetch.EventRequestPaused) {
	if ev.Request == nil {
		cdp.Go(s, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
		return
	}
	main := ev.FrameID == t.mainFrame()
	url := ev.Request.URL + ev.Request.URLFragment
	form := l.fromForm(t, ev.FrameID, ev.Request.Method, ev.Request.URL)
	judge := l.o.Send
	if !main {
		judge = l.o.SendFrame
	}
	var refused error
	if judge != nil {
		refused = judge(ev.Request.Method, url, form)
	}
	stays := refused != nil
	t.update(func(v *visit, now time.Time) {
		if !main {
			if refused != nil && form && !v.from.IsZero() { // what an act was to send
				v.hop = &Hop{URL: url, Err: refused}
			}
			return
		}
		switch {
		case refused != nil:
			v.hop = &Hop{URL: url, Err: refused}
		case ev.Request.Method == "GET" && v.stays(ev.Request.URL):
			stays = true
		}
		if stays {
			v.leaves("", time.Time{})
		} else {
			v.leaves(ev.NetworkID, now)
		}
	})
	if refused != nil {
		l.note(Event{Kind: EventRefused, URL: url, Err: refused})
	}
	if stays {
		cdp.Go(s, fetch.FailRequest, fetch.FailRequestParams{RequestID: ev.RequestID, ErrorReason: network.ErrorReasonAborted})
		return
	}
	cdp.Go(s, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
}

// download notes a refused download.
func (l *Live) download(t *Tab, ev *browser.EventDownloadWillBegin) bool {
	t.mu.Lock()
	ours := t.frames[ev.FrameID] != nil
	if v := t.visit; ours && v != nil && len(v.downloads) < 20 {
		v.downloads = append(v.downloads, Download{URL: ev.URL, Name: ev.SuggestedFilename})
	}
	t.mu.Unlock()
	if ours {
		l.note(Event{Kind: EventDownload, Text: ev.SuggestedFilename, URL: ev.URL})
		t.notify()
	}
	return ours
}

// downloads passes the news to the page that it is about.
func (l *Live) downloads(ev *browser.EventDownloadWillBegin) {
	l.mu.Lock()
	pages := append([]*Tab(nil), l.pages...)
	l.mu.Unlock()
	for _, t := range pages {
		if t != nil && l.download(t, ev) {
			return
		}
	}
}
