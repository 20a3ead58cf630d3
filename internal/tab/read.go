package tab

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"strings"
	"sync"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"

	"github.com/bellglass/bellglass/internal/cdp"
	"github.com/bellglass/bellglass/internal/extract"
)

// Request is one read.
type Request struct {
	URL string
	// Timeout bounds the time until a document is there and parsed. Required.
	Timeout time.Duration
	// MaxBytes bounds the decoded bodies of the whole page; zero is no bound.
	MaxBytes int64
	// Header names a response header of the main document whose value the
	// Page reports. May be empty.
	Header string
	// Check judges a URL that the main frame is about to leave for by script,
	// and the URL of each frame before its text is used. If nil, all may.
	Check func(url string) error
	// Permit is asked before the main frame requests a document that a redirect
	// or a script leads it to, and may take its time. Its error ends the read, and
	// the page beside it has that URL. If nil, all may.
	Permit func(ctx context.Context, url string) error
	// Unstick is asked to cut the tab's connections that have been silent for
	// so long, because the parser waits for what will not come. If nil, such
	// a page is read at Timeout.
	Unstick func(silent time.Duration)
	// Take says of a media type, in lower case and without parameters, that a
	// response of it to the first document is wanted as it came ([Page].Body)
	// and not rendered. If nil, none is. It needs Intercept; without, such a
	// response ends the read with [ErrTake].
	Take func(mediaType string) bool
	// Intercept pauses the answer to the first document until it is known
	// whether it is to be taken. It costs an exchange with the browser.
	Intercept bool
	// Render is asked about each body that was taken: the content type under
	// which the browser is to render it after all, or "". If nil, none is.
	Render func(mediaType, charset string, body []byte) string
	// Head, if not zero, is how much of the answer's body is wanted, as it came
	// and whatever its type: nothing of it is rendered, nor run. It needs
	// Intercept, and takes the place of Take and Render.
	Head int
	// Hidden keeps the text that nobody can see, in [extract.Doc].Hidden.
	Hidden bool
	// NoScripts reads the page as a browser without scripts shows it.
	NoScripts bool
	// Real leaves the page on the real clock; Quiet is as in [LiveOptions].
	Real  bool
	Quiet time.Duration
	// pictures are loaded, and waited for no longer than event streams.
	pictures bool
	// Given, if not nil, is the document at URL, which is then not fetched.
	Given *Given
	// Span is told of the parts of the read when they have ended: navigate,
	// settle, extract. If nil, nobody is.
	Span func(ctx context.Context, part string, start, end time.Time)
}

// Page is what a read found.
type Page struct {
	URL         string // where it ended, with fragment
	Status      int    // of the HTTP response
	ContentType string // without parameters
	Header      string // the value of the header that Request names
	RetryAfter  string // the header of that name
	// Doc is the rendered document; nil when Raw or Body hold the content.
	Doc *extract.Doc
	// Raw is the body, as text, of a response that is text but not HTML; Body
	// is one that [Request].Take asked for.
	Raw   string
	Body  *Body
	IsRaw bool
	// Blank: the page shows nothing, or hardly anything compared to what it
	// keeps for browsers without scripts. It may be worth a read with
	// [Request].NoScripts; Scriptless says that this was one.
	Blank, Scriptless bool
	// Unlaid: Doc was made without layout, and not by this package.
	Unlaid bool
	// TimedOut: the document was still being parsed; what is here is a part.
	TimedOut bool
	// Partial: the response broke off, or the document was too large to be
	// walked whole.
	Partial bool

	Redirects int
	Popups    int // closed
	Dialogs   int // answered
	Dropped   int // images, media and fonts not loaded
	// FramesLeftOut counts frames that Check refused or that did not answer.
	FramesLeftOut int
	Downloads     []Download // refused
	// Hop is where the page wanted to go and was not let.
	Hop *Hop
}

// Download is a file that a page wanted saved. Name is the site's word.
type Download struct{ URL, Name string }

// Hop is a navigation that Check refused with Err.
type Hop struct {
	URL string
	Err error
}

// Time that looking may take beyond the settling of the page.
const (
	lookTimeout  = 10 * time.Second
	probeTimeout = 2 * time.Second
	// lateLook is for pages that did not get ready in time: a wedged one must
	// not cost much more.
	lateLook = 1500 * time.Millisecond
	// frameTimeout is long for a frame at 60 Hz.
	frameTimeout = 50 * time.Millisecond
)

// Read navigates the blank tab to r.URL, waits until the page has settled and
// returns what it shows. The error is one of this package's, or ctx's cause; the
// page beside an error, which may be nil, says how far the read came.
func (t *Tab) Read(ctx context.Context, r Request) (*Page, error) {
	v := newVisit(r)
	t.mu.Lock()
	if t.visit != nil {
		t.mu.Unlock()
		return nil, errors.New("tab: read: this tab has been used")
	}
	t.visit = v
	t.mu.Unlock()

	// Whatever ends this read ends the wait for the answer, too.
	navCtx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	if r.Permit != nil {
		t.mu.Lock()
		v.permit = func(url string) error { return r.Permit(navCtx, url) }
		t.mu.Unlock()
	}
	if r.NoScripts {
		t.disableScripts(navCtx)
	}
	if p := r.patterns(); p != nil {
		cdp.Go(t.main, fetch.Enable, fetch.EnableParams{Patterns: p})
	}
	nav := cdp.Go(t.main, page.Navigate, page.NavigateParams{URL: r.URL})
	wg.Go(func() {
		res, err := nav.Wait(navCtx)
		t.update(func(v *visit, now time.Time) {
			v.answered, v.answer, v.navError, v.isFile = true, now, res.ErrorText, res.IsDownload
			var refused *cdp.Error
			if errors.As(err, &refused) { // "Cannot navigate to invalid URL"
				v.navError = refused.Message
			}
		})
	})
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	err := t.settle(ctx)
	spans := spanFunc(r.Span)
	spans.settled(ctx, t, v.started)
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if v.led != "" {
			return &Page{URL: v.led}, err
		}
		return t.page(v), err
	}
	defer spans.begin(ctx, spanExtract)()
	return t.outcome(ctx)
}

// patterns are the requests that are paused until there is a document, or nil
// for those of every tab.
func (r *Request) patterns() []*fetch.RequestPattern {
	judge := r.Given != nil || r.Permit != nil
	switch {
	case judge && r.Intercept:
		return append(judgePatterns[:len(judgePatterns):len(judgePatterns)], takePattern)
	case judge:
		return judgePatterns
	case r.Intercept:
		return append(dropPatterns[:len(dropPatterns):len(dropPatterns)], takePattern)
	}
	return nil
}

// disableScripts waits until scripts are off. Sent together with the
// navigation, the command now and then came after the new document's parser,
// which takes what is in noscript elements for their text as long as scripts
// are on. If the wait fails, the read goes on and tells why.
func (t *Tab) disableScripts(ctx context.Context) {
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, scriptsOff)
	defer cancel()
	cdpt.Call(ctx, t.main, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// scriptsOff is longer than a tab without a page takes to answer, even on a
// machine that is busy.
const scriptsOff = 5 * time.Second

// outcome turns a settled visit into a page or an error.
func (t *Tab) outcome(ctx context.Context) (*Page, error) {
	t.mu.Lock()
	v := t.visit
	if n := v.taken; n != nil {
		n.late = !n.done
		t.mu.Unlock()
		return t.fromBody(n, v)
	}
	p := t.page(v)
	main := *v.main()
	committed, unreachable, navError, isFile := v.committed, v.doc.unreachable, v.navError, v.isFile
	huge, given := v.doc.bytes > heavy, v.given
	empty := v.doc.whole && v.doc.bytes == 0 && main.status != 0
	t.mu.Unlock()
	switch {
	case isFile, main.attachment:
		return p, contentError(p, main, main.attachment)
	case committed == 0 && navError == "":
		return p, ErrTimeout
	case committed == 0 && p.Status == 0 && navError == "net::ERR_ABORTED" && main.redirected == 0:
		return p, ErrCrashed // nobody but a process that died breaks off like this
	case committed == 0 && p.Status == 0: // an error without any document
		return p, &NetError{URL: p.URL, Text: navError, Status: main.redirected}
	case committed == 0 || unreachable != "":
		if committed > 1 || navError == "" {
			navError = main.failed
		}
		return errorPage(p, unreachable, navError)
	}
	kind := contentKind(main.mime)
	if given != "" && main.mime != "text/plain" {
		kind = kindHTML // it was given back to be rendered
	}
	switch {
	case empty && main.failed != "":
		return p, &NetError{URL: p.URL, Text: main.failed, Status: p.Status}
	case empty && kind == kindHTML:
		return p, ErrEmpty
	case kind == kindOther:
		return p, contentError(p, main, main.attachment)
	case kind == kindText:
		if raw, ok := t.body(ctx); ok {
			p.Raw, p.IsRaw = raw, true
			return p, nil
		}
	}
	if p.TimedOut {
		t.stop()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, lateLook, ErrUnresponsive)
		defer cancel()
	}
	if err := t.look(ctx, p); err != nil {
		if p.TimedOut && huge && (errors.Is(err, ErrTimeout) || errors.Is(err, ErrUnresponsive)) {
			return p, ErrTooLarge // so large that it could neither be parsed nor looked at
		}
		return p, err
	}
	return p, nil
}

// page collects what the events said. The caller holds t.mu.
func (t *Tab) page(v *visit) *Page {
	n := v.main()
	p := &Page{
		URL: v.doc.url, Status: n.status, ContentType: cmp.Or(v.given, n.declared, n.mime), Header: n.header, RetryAfter: n.retryAfter,
		TimedOut:  v.doc.dcl.IsZero() && v.committed > 0,
		Redirects: v.redirects, Popups: v.popups, Dialogs: v.dialogs, Dropped: v.dropped,
		Downloads: v.downloads, Hop: v.hop, Scriptless: v.req.NoScripts,
		Partial: v.committed > 0 && n.failed != "",
	}
	if v.committed == 0 {
		p.URL = n.url
	}
	return p
}

// errorPage tells the browser's own error page, which is never content, from
// a response whose empty body made the browser put that page up.
func errorPage(p *Page, unreachable, text string) (*Page, error) {
	if unreachable != "" {
		p.URL = unreachable
	}
	switch {
	case p.Status == 204 || p.Status == 205 || p.Status == 304,
		p.Status >= 400 && (text == "" || text == "net::ERR_ABORTED" || text == "net::ERR_HTTP_RESPONSE_CODE_FAILURE"):
		return p, ErrEmpty
	case text == "":
		text = "net::ERR_FAILED"
	}
	return p, &NetError{URL: p.URL, Text: text, Status: p.Status}
}

func contentError(p *Page, n navigation, attachment bool) error {
	e := &ContentError{URL: p.URL, Status: p.Status, ContentType: p.ContentType, Attachment: attachment, Size: n.size}
	if attachment {
		e.Name = FileName(n.disposition, p.URL)
	}
	return e
}

type contentType int

const (
	kindHTML contentType = iota
	kindText
	kindOther
)

// contentKind says how a response of this type is read: rendered, as text, or
// not at all. Chromium shows only some of the text types; the others, such as
// text/csv, it takes for downloads before this is asked.
func contentKind(t string) contentType {
	t, _, _ = mime.ParseMediaType(t) // an unparsable one is empty: sniffed by the browser
	switch {
	case t == "", t == "text/html", t == "application/xhtml+xml", t == "image/svg+xml":
		return kindHTML
	case strings.HasPrefix(t, "text/"), strings.HasSuffix(t, "+json"), strings.HasSuffix(t, "+xml"):
		return kindText
	}
	switch t {
	case "application/json", "application/xml", "application/javascript", "application/yaml", "application/x-yaml", "application/x-ndjson":
		return kindText
	}
	return kindOther
}

// body returns the main response's body, decoded to text by the browser.
func (t *Tab) body(ctx context.Context) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	t.mu.Lock()
	id := t.visit.doc.loader
	t.mu.Unlock()
	b, err := cdpt.Call(ctx, t.main, network.GetResponseBody, network.GetResponseBodyParams{RequestID: id})
	if err != nil || b.Base64encoded {
		return "", false // too large for the buffer: the viewer's rendering will do
	}
	return string(b.Body), true
}
