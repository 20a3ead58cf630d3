package tab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass/internal/cdp"
)

// ErrNotFresh: a context of somebody else's is not one that nobody has used.
var ErrNotFresh = errors.New("tab: the context is not fresh")

// Guest is a browser of somebody else's, in which one context is ours.
type Guest struct {
	host *Host
	id   cdpt.BrowserContextID
}

// Visit takes charge of a context in the browser behind two pipes, which speak
// as Chromium's --remote-debugging-pipe does. The context must be one that was
// made for a single purpose and has seen nothing yet: no pages, no cookies. What
// else a context keeps, its browser does not tell.
func Visit(ctx context.Context, r io.ReadCloser, w io.WriteCloser, contextID string) (*Guest, error) {
	h := NewHost()
	h.guest = true
	g := &Guest{host: h, id: cdpt.BrowserContextID(contextID)}
	conn := cdp.New(r, w, h.Attach)
	if err := h.Bind(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	if err := g.fresh(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return g, nil
}

func (g *Guest) fresh(ctx context.Context) error {
	b := g.host.conn.Browser
	all, err := cdpt.Call(ctx, b, target.GetBrowserContexts, cdpt.Empty{})
	if err != nil {
		return fmt.Errorf("tab: visit: %w", err)
	}
	if g.id == "" || g.id == all.DefaultBrowserContextID || !slices.Contains(all.BrowserContextIDs, g.id) {
		return fmt.Errorf("%w: the browser has no such context, or it is its profile", ErrNotFresh)
	}
	pages, err := cdpt.Call(ctx, b, target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		return fmt.Errorf("tab: visit: %w", err)
	}
	for _, t := range pages.TargetInfos {
		if t.BrowserContextID == g.id {
			return fmt.Errorf("%w: there is a %s in it", ErrNotFresh, t.Type)
		}
	}
	kept, err := cdpt.Call(ctx, b, storage.GetCookies, storage.GetCookiesParams{BrowserContextID: g.id})
	if err != nil {
		return fmt.Errorf("tab: visit: %w", err)
	}
	if len(kept.Cookies) > 0 {
		return fmt.Errorf("%w: there are cookies in it", ErrNotFresh)
	}
	return nil
}

// Probe opens a URL in a page of the context, for the caller to see what
// becomes of the request. The page is closed by the function that it returns.
func (g *Guest) Probe(ctx context.Context, url string) (done func(context.Context) error, err error) {
	made, err := cdpt.Call(ctx, g.host.conn.Browser, target.CreateTarget, target.CreateTargetParams{URL: url, BrowserContextID: g.id})
	if err != nil {
		return nil, fmt.Errorf("tab: probe: %w", err)
	}
	return func(ctx context.Context) error {
		if _, err := cdpt.Call(ctx, g.host.conn.Browser, target.CloseTarget, target.CloseTargetParams(made)); err != nil {
			return fmt.Errorf("tab: probe: %w", err)
		}
		return nil
	}, nil
}

// Open opens a blank page in the context. Closing it disposes of the context.
func (g *Guest) Open(ctx context.Context) (*Tab, error) { return g.host.openIn(ctx, g.id) }

// Lost reports that the connection has ended.
func (g *Guest) Lost() bool { return g.host.conn.Err() != nil }

// Leave ends the connection, and with it the pipes.
func (g *Guest) Leave() error { return g.host.conn.Close() }
