// Package tab reads pages: one [Tab] is one page in one fresh browser context
// with its own proxy, and a read is go, settle, look.
//
// A [Host] belongs to one browser process and brings every target that appears
// in it (popups, cross-origin frames, workers) to the tab that it belongs to,
// paused, before any of its code runs.
//
// The package judges nothing by itself and starts nothing: what may be opened is
// asked through functions, and the boundary is the proxy, not the interception
// done here. It reports failures as the browser states them ([NetError]); the
// caller, who also knows what the proxy decided, turns them into reasons.
package tab

import (
	"context"
	"fmt"
	"sync"

	"github.com/chromedp/cdproto/browser"
	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass/internal/cdp"
)

// Host drives the tabs of one browser. Make it with [NewHost], give its Attach
// to the connection, then Bind it.
type Host struct {
	conn  *cdp.Conn
	guest bool // the browser has other users

	mu    sync.Mutex
	tabs  map[cdpt.BrowserContextID]*Tab
	owner map[*cdp.Session]*Tab
}

// NewHost returns a host that is not bound to a browser yet.
func NewHost() *Host {
	return &Host{tabs: map[cdpt.BrowserContextID]*Tab{}, owner: map[*cdp.Session]*Tab{}}
}

// flatten asks for sessions multiplexed over the one connection.
var flatten = true

// Bind takes charge of the browser behind conn, whose attach function must be
// h.Attach.
func (h *Host) Bind(ctx context.Context, conn *cdp.Conn) error {
	h.conn = conn
	cdp.On(conn.Browser, browser.DownloadWillBegin, h.downloadWillBegin)
	_, err := cdpt.Call(ctx, conn.Browser, target.SetAutoAttach, target.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &flatten,
	})
	if err != nil {
		return fmt.Errorf("tab: bind: %w", err)
	}
	return nil
}

// Attach is a [cdp.AttachFunc].
func (h *Host) Attach(parent, child *cdp.Session, ev *target.EventAttachedToTarget) {
	h.mu.Lock()
	t := h.owner[parent]
	if t == nil {
		t = h.tabs[ev.TargetInfo.BrowserContextID]
	}
	if t != nil {
		h.owner[child] = t
	}
	h.mu.Unlock()
	if t == nil && h.guest { // somebody else's, and none of our business
		resume(child)
		cdp.Go(parent, target.DetachFromTarget, target.DetachFromTargetParams{SessionID: target.SessionID(child.ID())})
		return
	}
	if t == nil {
		return // the browser's own first page, say: it stays paused for ever
	}
	child.OnEnd(func() {
		h.mu.Lock()
		delete(h.owner, child)
		h.mu.Unlock()
		t.ended(child)
	})
	t.attached(child, ev.TargetInfo)
}

func (h *Host) downloadWillBegin(ev *browser.EventDownloadWillBegin) {
	h.mu.Lock()
	var tabs []*Tab
	for _, t := range h.tabs {
		tabs = append(tabs, t)
	}
	h.mu.Unlock()
	for _, t := range tabs {
		t.download(ev)
	}
}

// discard ends a page that must not run: a popup, or one rendered ahead. It is
// paused and has run nothing. Resuming it, with every request of it refused,
// is needed: a page that is closed while paused keeps the one that opened it
// waiting for ever (measured on 156).
func (h *Host) discard(s *cdp.Session) {
	refuseRequests(s)
	cdp.Go(h.conn.Browser, target.CloseTarget, target.CloseTargetParams{TargetID: s.TargetID})
	resume(s)
}

func resume(s *cdp.Session) {
	cdp.Go(s, runtime.RunIfWaitingForDebugger, cdpt.Empty{})
}

func autoAttach(s *cdp.Session) cdp.Pending[cdpt.Empty] {
	return cdp.Go(s, target.SetAutoAttach, target.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &flatten,
	})
}

// refuseRequests lets no request of a target out. A service worker comes up
// far enough to be refused its own script, so that the page's register() is
// rejected as if the network had failed; closing the paused target instead
// leaves that promise pending for ever, and with it each page that awaits it
// (measured on 156). It attaches twice, below the browser and below the page,
// and only the second session sees the request for its script.
func refuseRequests(s *cdp.Session) {
	cdp.On(s, fetch.RequestPaused, func(ev *fetch.EventRequestPaused) {
		cdp.Go(s, fetch.FailRequest, fetch.FailRequestParams{RequestID: ev.RequestID, ErrorReason: network.ErrorReasonBlockedByClient})
	})
	cdp.Go(s, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*"}}})
}
