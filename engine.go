package bellglass

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/content"
	"github.com/bellglass/bellglass/internal/plain"
	"github.com/bellglass/bellglass/internal/tab"
	"github.com/bellglass/bellglass/policy"
)

// Engine is what reads pages.
type Engine string

const (
	// EngineBrowser renders every page in Chromium.
	EngineBrowser Engine = "browser"
	// EngineHTTP fetches the document alone and runs nothing. What is hidden
	// can then be recognised only in part; see [Head].HiddenUnknown.
	EngineHTTP Engine = "http"
	// EngineAuto fetches the document, and hands it to Chromium if it seems to
	// need its scripts.
	EngineAuto Engine = "auto"
)

var engines = []Engine{EngineBrowser, EngineHTTP, EngineAuto}

func (o Options) checkEngine() error {
	if !slices.Contains(engines, o.Engine) {
		return fmt.Errorf("Engine %q is none of browser, http, auto", o.Engine)
	}
	return nil
}

// plainUserAgent says who asks when no browser does.
const plainUserAgent = "Mozilla/5.0 (compatible; bellglass/0.1)"

// roots are the authorities that the plain engine trusts: the system's and
// those of CAFile. Nil stands for the system's alone.
func (o Options) roots() (*x509.CertPool, error) {
	if o.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in PEM")
	}
	return pool, nil
}

// load reads the page with the engine that the options name, if the site lets
// it. Where there was none to read it with, release is nil.
func (b *Browser) load(ctx context.Context, u *policy.URL, r Request, run *egress.Run) (page *tab.Page, release func(), err error) {
	tenant := r.Principal.Tenant
	if err := b.manners.pace(tenant, u.Host.String(), b.o.HostRate); err != nil {
		return nil, nil, err
	}
	permit, err := b.permit(ctx, u, tenant, run)
	if err != nil {
		return nil, nil, err
	}
	page, release, err = b.engage(ctx, u, r, run, permit)
	if page == nil || page.Hop != nil {
		return page, release, err
	}
	if wait := b.manners.note(tenant, page); wait > 0 && errors.Is(err, tab.ErrEmpty) {
		return page, release, busy(wait)
	}
	if final, bad := policy.ParseURL(page.URL); err == nil && bad == nil && page.Header == "" && b.rules.CheckURL(final) == nil {
		if err = b.permitted(ctx, final, tenant, run); unverified(err) && b.o.Engine != EngineHTTP {
			release() // what was read is here; its tab is not needed
			release, err = b.robotsByBrowser(ctx, final, tenant, run)
		}
	}
	return page, release, err
}

// engage has the page read. Permit is waited for before the site is asked.
func (b *Browser) engage(ctx context.Context, u *policy.URL, r Request, run *egress.Run, permit func(context.Context) error) (page *tab.Page, release func(), err error) {
	tenant, want := r.Principal.Tenant, tab.Request{URL: u.String(), Hidden: r.ShowHidden}
	if b.o.Engine == EngineBrowser {
		page, release, err = b.visit(ctx, want, tenant, run, permit)
		if !unverified(err) || release == nil {
			return page, release, err
		}
		// Chromium may know an authority, or find a certificate in between,
		// that we do not.
		release()
		if release, err = b.robotsByBrowser(ctx, u, tenant, run); err != nil {
			return nil, release, err
		}
		return b.visit(ctx, want, tenant, run, unasked)
	}
	done := func() {} // there is no page to give back
	if err := permit(ctx); err != nil {
		return nil, done, err
	}
	resp, page, err := b.fetch(ctx, u, tenant, run)
	if b.o.Engine == EngineHTTP || err != nil || !needsBrowser(resp) {
		return page, done, err
	}
	want.URL, want.Given = resp.URL.String(), given(resp)
	return b.visit(ctx, want, tenant, run, permit)
}

// client makes the way out of one run. The caller must close its endpoint.
func (b *Browser) client(run *egress.Run) (*plain.Client, *egress.Inside) {
	end := b.proxy.Inside()
	end.Assign(run)
	agent := b.o.UserAgent
	if agent == "" {
		agent = plainUserAgent
	}
	return &plain.Client{Dial: end.Dial, Roots: b.roots, UserAgent: agent, ReasonHeader: egress.ReasonHeader}, end
}

// needsBrowser decides whether a document that was fetched is better read by
// Chromium.
func needsBrowser(resp *plain.Response) bool {
	switch typ := renderedType(resp); typ {
	case "":
		return false
	case "text/html", "application/xhtml+xml":
	default: // SVG, and XML with a style sheet
		return true
	}
	doc, err := resp.Doc()
	return err != nil || doc.Needs() != ""
}

// renderedType is the media type of a response that is read as a document in
// markup, or "".
func renderedType(resp *plain.Response) string {
	typ := resp.MediaType()
	if resp.Body == nil || plain.IsHTML(typ) || !wants(typ) {
		return typ
	}
	if typ = rendered(typ, charsetOf(resp), resp.Body); typ == "text/plain" {
		return "" // its encoding is worked out here
	}
	return typ
}

// charsetOf is the charset that a response declares.
func charsetOf(resp *plain.Response) string {
	_, params, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return strings.ToLower(params["charset"])
}

// given hands a response to the browser, which then need not ask for it again;
// nil if it is not whole, or if the browser would read it otherwise.
func given(resp *plain.Response) *tab.Given {
	if resp.Partial || resp.TimedOut || !plain.IsHTML(plain.DeclaredType(resp.Header)) {
		return nil
	}
	return &tab.Given{Status: resp.Status, Header: resp.Header, Body: resp.Body}
}

// fetch reads a page without a browser.
func (b *Browser) fetch(ctx context.Context, u *policy.URL, tenant string, run *egress.Run) (*plain.Response, *tab.Page, error) {
	client, end := b.client(run)
	defer end.Close()
	resp, err := client.Fetch(ctx, plain.Request{
		URL: u, Timeout: b.o.NavigationTimeout, MaxBytes: b.o.MaxPageBytes, Refresh: true,
		Check: func(to *policy.URL) error {
			if err := b.checkHop(to); err != nil {
				return err
			}
			return b.permitted(ctx, to, tenant, run)
		},
		Wanted: wanted,
	})
	if err != nil {
		return nil, failedPage(err), err
	}
	page, err := plainPage(resp)
	return resp, page, err
}

// checkHop judges where a redirect leads. What the proxy refuses anyway it is
// asked for, so that its events tell of it as of all others.
func (b *Browser) checkHop(u *policy.URL) error {
	err := b.rules.CheckURL(u)
	if err != nil && b.rules.CheckConnect(u.Host, u.Port, u.Scheme == "https") != nil {
		return nil
	}
	return err
}

// wanted decides by a response's head whether there is something to read in
// its body.
func wanted(_ int, h http.Header) bool {
	typ := plain.DeclaredType(h)
	return !attached(h) && (typ == "" || plain.IsHTML(typ) || wants(typ))
}

func attached(h http.Header) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(h.Get("Content-Disposition"))), "attachment")
}

// failedPage is what is known of a page that could not be fetched.
func failedPage(err error) *tab.Page {
	var failed *plain.Error
	if !errors.As(err, &failed) {
		return nil
	}
	p := &tab.Page{URL: failed.URL.String(), Scriptless: true}
	if failed.Refused {
		p.Hop = &tab.Hop{URL: p.URL, Err: failed.Err}
	}
	return p
}

// plainPage makes a page of a response, in the words of the browser path.
func plainPage(resp *plain.Response) (*tab.Page, error) {
	p := &tab.Page{
		URL: resp.URL.String(), Status: resp.Status, ContentType: plain.DeclaredType(resp.Header), Scriptless: true,
		RetryAfter: resp.Header.Get("Retry-After"),
		TimedOut:   resp.TimedOut, Partial: resp.Partial, Redirects: resp.Redirects,
	}
	switch {
	case resp.Unread:
		return p, unread(p, resp)
	case len(resp.Body) == 0 && resp.TimedOut:
		return p, plain.ErrTimeout
	case len(resp.Body) == 0:
		return p, tab.ErrEmpty
	}
	typ := renderedType(resp)
	if !plain.IsHTML(typ) {
		if p.ContentType == "" {
			p.ContentType = resp.MediaType()
		}
		if !wants(p.ContentType) {
			return p, unread(p, resp)
		}
		p.Body, p.IsRaw = &tab.Body{Bytes: resp.Body, Charset: charsetOf(resp)}, true
		if _, known := content.Decode(resp.Body, p.Body.Charset); !known {
			p.Body.Charset = resp.Encoding()
		}
		return p, nil
	}
	if p.ContentType == "" {
		p.ContentType = typ
	}
	doc, err := resp.Doc()
	if err != nil {
		return p, err
	}
	p.Doc, p.Unlaid, p.Partial = doc.Doc, true, p.Partial || doc.Cut
	return p, nil
}

// unread is the error of a response that is no page.
func unread(p *tab.Page, resp *plain.Response) error {
	e := &tab.ContentError{URL: p.URL, Status: p.Status, ContentType: p.ContentType, Attachment: attached(resp.Header), Size: int64(len(resp.Body))}
	if n, err := strconv.ParseInt(resp.Header.Get("Content-Length"), 10, 64); err == nil && resp.Header.Get("Content-Encoding") == "" {
		e.Size = n
	}
	if e.Attachment {
		e.Name = tab.FileName(resp.Header.Get("Content-Disposition"), p.URL)
	}
	return e
}

// plainCause names why a fetch failed. Of failed connections the proxy knows
// more than whoever asked for them.
func plainCause(failed *plain.Error, run *egress.Run) (Reason, string) {
	host := failed.URL.Host.String()
	var answer *plain.Answer
	if errors.As(failed.Err, &answer) {
		if _, known := reasons[Reason(answer.Reason)]; known {
			return Reason(answer.Reason), host
		}
		return ReasonProxy, host
	}
	for _, c := range plainCauses {
		if !errors.Is(failed.Err, c.is) {
			continue
		}
		if c.reason == ReasonConnection || c.reason == ReasonTLS {
			if run != nil {
				if o, ok := run.Outcome(host, failed.URL.Port); ok && o.Reason != "" {
					return o.Reason, host
				}
			}
		}
		return c.reason, ""
	}
	return ReasonInternal, ""
}

var plainCauses = []struct {
	is     error
	reason Reason
}{
	{plain.ErrTimeout, ReasonNavigationTimeout},
	{plain.ErrTooLarge, ReasonTooLarge},
	{plain.ErrTooManyRedirects, ReasonRedirects},
	{plain.ErrCoding, ReasonContent},
	{plain.ErrTLS, ReasonTLS},
	{plain.ErrConnection, ReasonConnection},
}
