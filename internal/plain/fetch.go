package plain

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"github.com/bellglass/bellglass/policy"
)

// accept is what browsers send when a person opens a page.
const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// maxHeader is the most bytes of a response's head: as many as the proxy lets
// through.
const maxHeader = 256 << 10

// stall is how long a server may be silent in the middle of a document before
// what is there is taken for the whole: as long as the browser's parser is let
// wait for what never comes.
const stall = 4 * time.Second

// Fetch fetches one document. The error is an [*Error], or ctx's cause.
func (c *Client) Fetch(ctx context.Context, r Request) (*Response, error) {
	outer := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, ErrTimeout)
	defer cancel()
	t := c.transport()
	defer t.CloseIdleConnections()
	at, redirects := r.URL, 0
	for {
		resp, next, err := c.hop(ctx, t, r, at)
		if err != nil {
			if outer.Err() != nil {
				return nil, context.Cause(outer)
			}
			return nil, &Error{URL: at, Status: statusOf(resp), Err: err}
		}
		if next == "" {
			resp.Redirects = redirects
			return resp, nil
		}
		to, err := follow(at, next)
		if err == nil && r.Check != nil {
			err = r.Check(to)
		}
		if err != nil {
			return nil, &Error{URL: cmpURL(to, at), Err: err, Refused: true}
		}
		if redirects++; redirects > MaxRedirects {
			return nil, &Error{URL: at, Err: ErrTooManyRedirects}
		}
		at = to
	}
}

func statusOf(r *Response) int {
	if r == nil {
		return 0
	}
	return r.Status
}

func cmpURL(a, b *policy.URL) *policy.URL {
	if a != nil {
		return a
	}
	return b
}

// transport makes the connections of one fetch, which no other shares.
func (c *Client) transport() *http.Transport {
	return &http.Transport{
		// The name stands for the proxy, and is never looked up.
		Proxy:       http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.invalid:80"}),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.Dial(ctx) },
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			return &Answer{Reason: resp.Header.Get(c.ReasonHeader)}
		},
		TLSClientConfig:        &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // undone here, with a limit
		MaxResponseHeaderBytes: maxHeader,
	}
}

// hop sends one request. If its response leads elsewhere, next says where to.
// The response beside an error may be nil.
func (c *Client) hop(ctx context.Context, t *http.Transport, r Request, at *policy.URL) (out *Response, next string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	resp, err := t.RoundTrip(c.request(ctx, r, at))
	if err != nil {
		return nil, "", networkError(ctx, err)
	}
	defer resp.Body.Close()
	out = &Response{URL: at, Status: resp.StatusCode, Header: resp.Header}
	if at.Scheme == "http" && c.ReasonHeader != "" && resp.Header.Get(c.ReasonHeader) != "" {
		return nil, "", &Answer{Reason: resp.Header.Get(c.ReasonHeader)}
	}
	if to := resp.Header.Get("Location"); to != "" && isRedirect(resp.StatusCode) {
		return out, to, nil
	}
	if resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusResetContent || resp.StatusCode == http.StatusNotModified {
		return out, "", nil
	}
	if r.Wanted != nil && !r.Wanted(resp.StatusCode, resp.Header) {
		out.Unread = true
		return out, "", nil
	}
	if err := out.read(ctx, cancel, resp, r); err != nil {
		return out, "", err
	}
	if r.Refresh {
		if to, ok := out.refresh(); ok {
			return out, to, nil
		}
	}
	return out, "", nil
}

// request is a request as a browser sends it, without cookies.
func (c *Client) request(ctx context.Context, r Request, at *policy.URL) *http.Request {
	path := at.Path // encoded as the URL Standard has it, which net/url might change
	host := at.Host.String()
	if at.Scheme == "http" && at.Port != 80 || at.Scheme == "https" && at.Port != 443 {
		host += ":" + strconv.Itoa(int(at.Port))
	}
	u := &url.URL{Scheme: at.Scheme, Host: host, Opaque: path, RawQuery: at.Query}
	if at.Scheme == "http" {
		u.Opaque = "//" + host + path
	}
	req := (&http.Request{Method: http.MethodGet, URL: u, Host: host, Header: http.Header{}}).WithContext(ctx)
	h := req.Header
	h.Set("User-Agent", c.UserAgent)
	h.Set("Accept", accept)
	if r.Accept != "" {
		h.Set("Accept", r.Accept)
	}
	h.Set("Accept-Language", "en-US,en;q=0.9")
	h.Set("Accept-Encoding", "gzip, deflate")
	if at.Scheme == "https" { // elsewhere boxes on the way are known to mangle the newer ones
		h.Set("Accept-Encoding", "gzip, deflate, br, zstd")
	}
	return req
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// urls writes paths as Chromium does: with ^ and | escaped.
var urls = whatwg.NewParser(whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^', '|')))

// follow resolves where a response at one URL leads. The error is a
// [*policy.Refusal].
func follow(at *policy.URL, to string) (*policy.URL, error) {
	base, err := urls.Parse(at.String())
	if err == nil {
		base, err = base.Parse(to)
	}
	if err != nil {
		return nil, &policy.Refusal{Reason: policy.ReasonInvalidURL, What: "redirect to what is no URL"}
	}
	return policy.ParseURL(base.Href(false))
}

// read reads the body and undoes its codings.
func (out *Response) read(ctx context.Context, cancel context.CancelCauseFunc, resp *http.Response, r Request) error {
	src := &watched{r: resp.Body, timer: time.AfterFunc(time.Hour, func() { cancel(errStalled) })}
	defer src.timer.Stop()
	body, err := decode(src, resp.Header.Values("Content-Encoding"))
	if err == nil {
		out.Body, err = io.ReadAll(io.LimitReader(body, r.MaxBytes+1))
		body.Close()
	}
	cause := context.Cause(ctx)
	switch {
	case int64(len(out.Body)) > r.MaxBytes && r.Head:
		out.Body = out.Body[:r.MaxBytes]
		return nil
	case int64(len(out.Body)) > r.MaxBytes:
		out.Body = nil
		return ErrTooLarge
	case errors.Is(err, ErrCoding):
		return err
	case err == nil, !src.seen && src.err == nil && cause == nil: // no body is in any coding
		return nil
	case len(out.Body) == 0 && cause == nil && src.seen && src.err == nil:
		return fmt.Errorf("%w: %w", ErrCoding, err)
	case len(out.Body) == 0 || cause != nil && !errors.Is(cause, errStalled) && !errors.Is(cause, ErrTimeout):
		return networkError(ctx, err)
	}
	out.TimedOut = errors.Is(cause, ErrTimeout)
	out.Partial = !out.TimedOut
	return nil
}

var errStalled = errors.New("plain: the server fell silent")

// watched sees to it that a server which falls silent within a body is not
// waited for.
type watched struct {
	r     io.Reader
	timer *time.Timer
	seen  bool
	err   error // of the connection, io.EOF apart
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if n > 0 {
		w.seen = true
		w.timer.Reset(stall)
	}
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// networkError names the failure of an exchange.
func networkError(ctx context.Context, err error) error {
	var (
		answer    *Answer
		verify    *tls.CertificateVerificationError
		unknown   x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		hostname  x509.HostnameError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		handshake *net.OpError
	)
	switch {
	case errors.As(err, &answer):
		return answer
	case errors.Is(context.Cause(ctx), ErrTimeout) || errors.Is(err, os.ErrDeadlineExceeded):
		return ErrTimeout
	case errors.As(err, &verify), errors.As(err, &unknown), errors.As(err, &invalid), errors.As(err, &hostname),
		errors.As(err, &record), errors.As(err, &alert),
		errors.As(err, &handshake) && (handshake.Op == "remote error" || handshake.Op == "local error"):
		return fmt.Errorf("%w: %w", ErrTLS, err)
	}
	return fmt.Errorf("%w: %w", ErrConnection, err)
}
