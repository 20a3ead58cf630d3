package tab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/browser"
	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass/internal/cdp"
	"github.com/bellglass/bellglass/internal/look"
)

// Viewport of every page, in CSS pixels.
const (
	viewportWidth  = 1280
	viewportHeight = 800
)

// Config of one tab.
type Config struct {
	// Proxy is host:port of the proxy of this tab's context. Required.
	Proxy string
}

// Tab is one page in its own browser context. Open makes it, blank and warm;
// one Read uses it; Close throws the context away. A tab serves one call at a
// time and one principal in its life.
type Tab struct {
	host  *Host
	ctxID cdpt.BrowserContextID
	main  *cdp.Session
	ready chan struct{} // closed when main is set

	setup []func(context.Context) error // answers to collect
	wake  chan struct{}                 // capacity 1: something changed

	live atomic.Pointer[Live] // set while a session uses the tab

	helpers sync.WaitGroup // goroutines that end with the session

	mu       sync.Mutex
	sessions map[*cdp.Session]*frameSession
	frames   map[cdpt.FrameID]*frame
	workers  int
	visit    *visit
	crashed  bool
	died     chan struct{} // closed when crashed is set
}

// frameSession is a session that has frames: the page's own, or that of a
// cross-origin frame in another process.
type frameSession struct {
	*cdp.Session
	expired bool // its virtual-time budget is used up

	revealing sync.Mutex // held while revealer is at work
	revealer  look.Revealer
	revealed  map[cdpt.FrameID]string // the documents that it was used on
}

// frame is one frame of the page.
type frame struct {
	id, parent cdpt.FrameID
	session    *cdp.Session
	url        string // with fragment
	mime       string
	children   []cdpt.FrameID // in the order of window[0], window[1], …
}

// Open makes a fresh context with a blank page, set up and paused, so that a
// read costs only navigation and looking. The error is [ErrLeft], too, if the
// context could not be disposed of.
func (h *Host) Open(ctx context.Context, c Config) (*Tab, error) {
	if c.Proxy == "" {
		return nil, errors.New("tab: open: Config.Proxy is required")
	}
	yes := true
	made, err := cdpt.Call(ctx, h.conn.Browser, target.CreateBrowserContext, target.CreateBrowserContextParams{
		DisposeOnDetach: &yes,
		ProxyServer:     "http://" + c.Proxy,
		// Per context: without it this context would reach loopback directly,
		// whatever the process's own bypass list says.
		ProxyBypassList: "<-loopback>",
	})
	if err != nil {
		return nil, fmt.Errorf("tab: open: %w", err)
	}
	return h.openIn(ctx, made.BrowserContextID)
}

// openIn opens the page of a context that has none.
func (h *Host) openIn(ctx context.Context, id cdpt.BrowserContextID) (*Tab, error) {
	t := &Tab{
		host: h, ctxID: id,
		ready: make(chan struct{}), wake: make(chan struct{}, 1), died: make(chan struct{}),
		sessions: map[*cdp.Session]*frameSession{}, frames: map[cdpt.FrameID]*frame{},
	}
	h.mu.Lock()
	h.tabs[t.ctxID] = t
	h.mu.Unlock()
	inLife, cancel := t.whileAlive(ctx)
	defer cancel()
	if err := t.open(inLife); err != nil {
		err = fmt.Errorf("tab: open: %w", err)
		if left := t.Close(context.WithoutCancel(ctx)); left != nil {
			err = fmt.Errorf("%w; %w: %w", err, ErrLeft, left)
		}
		return nil, err
	}
	return t, nil
}

// whileAlive returns a context that ends with the page's process, too: what is
// asked of a dead one is never answered, and nothing else tells.
func (t *Tab) whileAlive(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := make(chan struct{})
	died := t.end()
	go func() {
		select {
		case <-died:
			cancel(ErrCrashed)
		case <-stop:
		}
	}()
	return ctx, sync.OnceFunc(func() { close(stop); cancel(nil) })
}

// end returns a channel that is closed when the page's present process dies.
func (t *Tab) end() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.died
}

// Crashed reports that the page's process has died.
func (t *Tab) Crashed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.crashed
}

func (t *Tab) open(ctx context.Context) error {
	b := t.host.conn.Browser
	yes := true
	deny := cdp.Go(b, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: t.ctxID, EventsEnabled: &yes,
	})
	t.denyPermissions()
	_, err := cdpt.Call(ctx, b, target.CreateTarget, target.CreateTargetParams{
		URL: "about:blank", BrowserContextID: t.ctxID, Width: viewportWidth, Height: viewportHeight,
	})
	if err != nil {
		return err
	}
	if _, err := deny.Wait(ctx); err != nil {
		return err
	}
	select {
	case <-t.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, wait := range t.setup {
		if err := wait(ctx); err != nil {
			return err
		}
	}
	t.setup = nil
	return nil
}

// Prime has the walker compiled and run once, on a sample in the blank page,
// while nobody waits: the process that shows the blank page will show the
// first document too, and keeps the code. A read works without it, too. It must
// come before the first.
func (t *Tab) Prime(ctx context.Context) error {
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	t.frames[t.mainFrame()] = &frame{id: t.mainFrame(), session: t.main, url: "about:blank"}
	defer delete(t.frames, t.mainFrame())
	for _, script := range []string{sampleScript, touchScript + walkScriptFinish} {
		if _, err := t.evaluate(ctx, t.main, t.mainFrame(), runtime.EvaluateParams{Expression: script}); err != nil {
			return err
		}
	}
	return nil
}

// sampleScript puts up something of each kind that the walker deals with, so
// often that the browser takes the trouble to translate its functions (once
// costs a page of 100 cards 10 to 30 ms more, measured on 156).
const sampleScript = "document.body.innerHTML = `<main><h1>a</h1><p>b <a href=/c>d</a> <b>e</b><br>f</p><ul><li>g</ul>" +
	"<table><tr><th>h<td>i</table><pre>j</pre><p style='opacity:0'>k</p><p style='color:#fff'>l</p><img alt=m><button>n</button></main>`.repeat(12)"

// permissions are what a page could ask for, by the names of the Permissions
// API. A headless browser shows no prompt and grants nothing; saying "denied"
// at once also spares pages the wait for an answer.
var permissions = []string{
	"geolocation", "notifications", "camera", "microphone", "midi", "clipboard-read", "clipboard-write",
	"persistent-storage", "storage-access", "top-level-storage-access", "background-sync", "background-fetch", "periodic-background-sync",
	"idle-detection", "local-fonts", "window-management", "payment-handler", "screen-wake-lock", "system-wake-lock", "display-capture",
	"accelerometer", "gyroscope", "magnetometer", "ambient-light-sensor", "nfc", "local-network-access", "local-network", "loopback-network",
	"keyboard-lock", "pointer-lock", "captured-surface-control", "speaker-selection", "web-app-installation",
}

// denyPermissions does not wait: a name that this browser does not know is no
// permission that it could grant.
func (t *Tab) denyPermissions() {
	for _, name := range permissions {
		cdp.Go(t.host.conn.Browser, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingDenied, BrowserContextID: t.ctxID,
		})
	}
}

// attached is told of every target of this tab, on the reading goroutine.
func (t *Tab) attached(s *cdp.Session, info *target.Info) {
	switch s.Type {
	case "page":
		t.mu.Lock()
		if live := t.live.Load(); live != nil && t.main != nil && info.Subtype == "" {
			t.mu.Unlock()
			live.adopt(s, info)
			return
		}
		first := t.main == nil && info.Subtype == ""
		if first {
			t.main = s
		} else if v := t.visit; v != nil {
			v.popups++
		}
		t.mu.Unlock()
		if !first { // a popup, or a prerendered page
			t.host.discard(s)
			return
		}
		t.begin(s)
		close(t.ready)
	case "iframe":
		t.beginFrame(s)
	case "service_worker":
		refuseRequests(s)
		resume(s)
	default: // dedicated and shared workers, worklets
		t.mu.Lock()
		t.workers++
		t.mu.Unlock()
		autoAttach(s)
		resume(s)
		t.notify()
	}
}

// ended is told of every session's end, possibly twice.
func (t *Tab) ended(s *cdp.Session) {
	t.mu.Lock()
	if _, ok := t.sessions[s]; ok && s != t.main {
		delete(t.sessions, s)
		if v := t.visit; v != nil {
			v.dropSession(s)
		}
	}
	t.mu.Unlock()
	t.notify()
}

// Read mode drops these by type. Intercepting every request would cost
// 2 to 7 ms a page and protect nothing: the proxy is the boundary. It begins
// before the first document is asked for: later, on a busy machine, the first
// pictures get through.
var (
	dropPatterns = []*fetch.RequestPattern{
		{URLPattern: "*", ResourceType: network.ResourceTypeImage},
		{URLPattern: "*", ResourceType: network.ResourceTypeMedia},
		{URLPattern: "*", ResourceType: network.ResourceTypeFont},
	}
	// Once the first document is there, further ones are asked about before
	// they start: a script that leaves for a refused host then keeps its page.
	judgePatterns = append(dropPatterns[:len(dropPatterns):len(dropPatterns)],
		&fetch.RequestPattern{URLPattern: "*", ResourceType: network.ResourceTypeDocument})
)

// bodyBuffer bounds what the browser keeps of response bodies for us, in bytes.
// Only the bodies of documents that are not HTML are ever asked for.
const bodyBuffer = 8 << 20

// begin sets up the page's own session; the commands are collected in open.
func (t *Tab) begin(s *cdp.Session) {
	t.mu.Lock()
	t.sessions[s] = &frameSession{Session: s}
	t.mu.Unlock()
	t.listen(s)
	wait(t, t.enable(s, t.patterns(dropPatterns))...)
	watch := cdp.Go(s, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watchScript, WorldName: world})
	t.setup = append(t.setup, func(ctx context.Context) error { _, err := watch.Wait(ctx); return err })
	wait(t, cdp.Go(s, inspector.Enable, cdpt.Empty{}), autoAttach(s))
	resume(s)
}

// watchScript notes, in our own world, whether anything was changed after the
// document was parsed: a page with little text that its scripts have not
// touched may be about to draw itself.
const watchScript = `addEventListener('DOMContentLoaded', () => {
	const o = new MutationObserver(() => { globalThis.changed = true; o.disconnect() });
	o.observe(document, { childList: true, characterData: true, subtree: true });
})`

func wait(t *Tab, ps ...cdp.Pending[cdpt.Empty]) {
	for _, p := range ps {
		t.setup = append(t.setup, func(ctx context.Context) error { _, err := p.Wait(ctx); return err })
	}
}

// enable sends what page and frame sessions have in common.
func (t *Tab) enable(s *cdp.Session, patterns []*fetch.RequestPattern) []cdp.Pending[cdpt.Empty] {
	total, none := int64(bodyBuffer), int64(0)
	return []cdp.Pending[cdpt.Empty]{
		cdp.Go(s, page.Enable, page.EnableParams{}),
		cdp.Go(s, network.Enable, network.EnableParams{MaxTotalBufferSize: &total, MaxResourceBufferSize: &total, MaxPostDataSize: &none}),
		cdp.Go(s, fetch.Enable, fetch.EnableParams{Patterns: patterns}),
	}
}

// beginFrame sets up a cross-origin frame that runs in a process of its own.
func (t *Tab) beginFrame(s *cdp.Session) {
	t.mu.Lock()
	t.sessions[s] = &frameSession{Session: s}
	id := cdpt.FrameID(s.TargetID) // a frame target is named after its frame
	if f := t.frames[id]; f != nil {
		f.session = s
	} else {
		t.frames[id] = &frame{id: id, session: s}
	}
	v := t.visit
	var budget emulation.SetVirtualTimePolicyParams
	virtual := v != nil && v.virtual
	if v != nil {
		v.newFrames = true
		budget = t.budget(v, false)
		if virtual {
			v.armed = time.Now()
		}
	}
	t.mu.Unlock()
	t.listen(s)
	t.enable(s, t.patterns(dropPatterns))
	if t.live.Load() != nil {
		watch(s)
	}
	autoAttach(s)
	if virtual {
		setPolicy(s, budget)
	}
	resume(s)
	t.notify()
}

// notify wakes the goroutine that waits for the page, if any.
func (t *Tab) notify() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// closeTimeout bounds the disposal of a context, in which Chromium kills the
// renderers that do not answer.
const closeTimeout = 5 * time.Second

// Close disposes the context with all its pages, frames and workers. An error
// means that something may have survived: the caller should end the browser.
func (t *Tab) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	_, err := cdpt.Call(ctx, t.host.conn.Browser, target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: t.ctxID})
	t.host.mu.Lock()
	delete(t.host.tabs, t.ctxID)
	for s, owner := range t.host.owner {
		if owner == t {
			delete(t.host.owner, s)
		}
	}
	t.host.mu.Unlock()
	if err != nil {
		return fmt.Errorf("tab: close: %w", err)
	}
	t.helpers.Wait()
	return nil
}
