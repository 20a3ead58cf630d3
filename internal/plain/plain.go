// Package plain reads pages without a browser: it fetches one document over
// HTTP, by way of the egress proxy, and turns it into the tree that package
// extract works on.
//
// [Fetch] follows redirects hop by hop, undoes content codings and keeps to
// limits; [Response.Doc] parses HTML and works out, as far as that can be done
// without layout, what a person could see of it; [Doc.Needs] says why a document had better be read by a browser.
//
// It runs no script, loads nothing besides the document, keeps no cookie, and
// judges no host: who may be reached is for the proxy and for [Request].Check
// to say.
package plain

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// MaxRedirects is how many redirects one fetch follows, those of refresh
// headers and meta elements included.
const MaxRedirects = 10

// Client says how to get out.
type Client struct {
	// Dial connects to the egress proxy. Required.
	Dial func(ctx context.Context) (net.Conn, error)
	// Roots are the authorities to trust. If nil, the system's.
	Roots *x509.CertPool
	// UserAgent is sent with every request. Required.
	UserAgent string
	// ReasonHeader names the response header in which the proxy says why it
	// refused. It counts only where no site could have sent it.
	ReasonHeader string
}

// Request is one document to fetch.
type Request struct {
	URL *policy.URL // judged by the caller
	// Timeout bounds the time until the whole document is there; what came
	// until then is returned. Required.
	Timeout time.Duration
	// MaxBytes is the most bytes of the body, decoded. Required. A longer one
	// is an error, or with Head its beginning is returned.
	MaxBytes int64
	Head     bool
	// Check judges the target of every redirect before anything is sent there.
	// Its error ends the fetch. If nil, all may.
	Check func(*policy.URL) error
	// Wanted decides by status and header whether a body is read at all. If
	// nil, every body is.
	Wanted func(status int, h http.Header) bool
	// Refresh follows Refresh headers and meta elements, too.
	Refresh bool
	// Accept is the value of the field of that name. If empty, a browser's.
	Accept string
}

// Response is what came back.
type Response struct {
	URL    *policy.URL // where it came from, after redirects
	Status int
	Header http.Header
	Body   []byte // without content coding; nil if not wanted
	Unread bool   // the body was not wanted
	// Partial: the body broke off, or its server fell silent. TimedOut: it was
	// still coming when time was up.
	Partial, TimedOut bool
	Redirects         int

	doc *Doc
}

// What can go wrong, besides what [Request].Check says.
var (
	// ErrTimeout: nothing of a document within Request.Timeout.
	ErrTimeout = errors.New("plain: no document in time")
	// ErrTooLarge: more than Request.MaxBytes.
	ErrTooLarge = errors.New("plain: response too large")
	// ErrTooManyRedirects: more than [MaxRedirects].
	ErrTooManyRedirects = errors.New("plain: too many redirects")
	// ErrTLS: no secure connection to the host that was asked for.
	ErrTLS = errors.New("plain: TLS failed")
	// ErrCoding: the body is not in the content coding that it claims, or in
	// one that is not known.
	ErrCoding = errors.New("plain: content coding")
	// ErrConnection: the server was not reached, or broke off.
	ErrConnection = errors.New("plain: connection failed")
)

// Answer is an error: the proxy answered in the site's place.
type Answer struct {
	Reason string // the proxy's word; empty if it gave none
}

func (a *Answer) Error() string { return "plain: the proxy answered: " + a.Reason }

// Error is a fetch that came to nothing.
type Error struct {
	URL    *policy.URL // the hop it failed at
	Status int         // of the response, if there was one
	Err    error       // one of the above, or what Request.Check said; may be joined with a cause
	// Refused: Check refused URL, and nothing was sent there.
	Refused bool
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }
