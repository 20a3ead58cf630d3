package bellglass

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/guard"
	"github.com/bellglass/bellglass/internal/plain"
	"github.com/bellglass/bellglass/internal/pool"
	"github.com/bellglass/bellglass/internal/tab"
	"github.com/bellglass/bellglass/policy"
)

// Error is why a call came to nothing. Status, Reason and Hint may be shown to
// a model; Err is for logs and may hold addresses and paths.
type Error struct {
	Op     string
	Status Status
	Reason Reason
	Hint   string
	Err    error
	// RetryAfter is when to try again, if Status is busy.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	s := "bellglass: " + e.Op + ": " + string(e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// errStart wraps whatever kept the browser from starting.
var errStart = errors.New("browser did not start")

// causes maps sentinels to reasons, first match first: what fails because the
// call has ended says that, and a deadline inside a start is a failed start.
var causes = []struct {
	is     error
	reason Reason
}{
	{pool.ErrBusy, ReasonPoolFull},
	{pool.ErrTenantBusy, ReasonTenantQuota},
	{pool.ErrDraining, ReasonDraining},
	{errDeadline, ReasonCallDeadline},
	{context.Canceled, ReasonCancelled},
	{ErrClosed, ReasonCancelled},
	{errFind, ReasonBrowserMissing},
	{errSeal, ReasonSeal},
	{errStart, ReasonBrowserStart},
	{guard.ErrCommand, ReasonGuardInput},
	{guard.ErrOutput, ReasonGuardOutput},
	{guard.ErrTool, ReasonToolDenied},
	{errSessionOver, ReasonUnknownSession},
	{errAction, ReasonActionTimeout},
	{tab.ErrGone, ReasonStale},
	{digest.ErrNoSuch, ReasonNoElement},
	{tab.ErrUnclickable, ReasonCovered},
	{tab.ErrNoHistory, ReasonInvalidArgument},
	{tab.ErrFocus, ReasonNotEditable},
	{tab.ErrValue, ReasonNotEditable},
	{tab.ErrTimeout, ReasonNavigationTimeout},
	{plain.ErrTimeout, ReasonNavigationTimeout},
	{tab.ErrUnresponsive, ReasonUnresponsive},
	{tab.ErrCrashed, ReasonBrowserCrashed},
	{tab.ErrTooLarge, ReasonTooLarge},
	{tab.ErrTooManyRedirects, ReasonRedirects},
	{tab.ErrEmpty, ReasonEmpty},
	{context.DeadlineExceeded, ReasonCallDeadline},
	{pool.ErrClosed, ReasonBrowserCrashed},
}

// netErrors maps prefixes of Chromium's names for network errors to reasons,
// first match first. The list of names is net/base/net_error_list.h.
var netErrors = []struct {
	prefix string
	reason Reason
}{
	{"ERR_NAME_", ReasonDNS},
	{"ERR_DNS_", ReasonDNS},
	{"ERR_ICANN_NAME_COLLISION", ReasonDNS},
	{"ERR_PROXY_", ReasonProxy},
	{"ERR_TUNNEL_", ReasonProxy},
	{"ERR_UNEXPECTED_PROXY_AUTH", ReasonProxy},
	{"ERR_CERT_", ReasonTLS},
	{"ERR_SSL_", ReasonTLS},
	{"ERR_BAD_SSL_", ReasonTLS},
	{"ERR_ECH_", ReasonTLS},
	{"ERR_TOO_MANY_REDIRECTS", ReasonRedirects},
	{"ERR_UNSAFE_REDIRECT", ReasonScheme},
	{"ERR_DISALLOWED_URL_SCHEME", ReasonScheme},
	{"ERR_UNKNOWN_URL_SCHEME", ReasonScheme},
	{"ERR_UNSAFE_PORT", ReasonPort},
	{"ERR_INVALID_URL", ReasonInvalidURL},
	{"ERR_INVALID_REDIRECT", ReasonInvalidURL},
	{"ERR_INVALID_AUTH_CREDENTIALS", ReasonAuth},
	{"ERR_CONTENT_DECODING_", ReasonContent},
	{"ERR_CONTENT_LENGTH_MISMATCH", ReasonConnection},
	{"ERR_TIMED_OUT", ReasonConnection},
	{"ERR_", ReasonConnection}, // connection, socket, HTTP/2, address, …
}

func netReason(text string) Reason {
	text = strings.TrimPrefix(text, "net::")
	for _, n := range netErrors {
		if strings.HasPrefix(text, n.prefix) {
			return n.reason
		}
	}
	if strings.Contains(strings.ToLower(text), "invalid url") {
		return ReasonInvalidURL // the browser's refusal of the command
	}
	return ReasonInternal
}

// explain turns any cause into an Error. run, which may be nil, knows what the
// proxy decided about the connections of this call.
func explain(op string, err error, run *egress.Run) *Error {
	var done *Error
	if errors.As(err, &done) {
		return done
	}
	reason, about := reasonOf(err, run)
	if about != "" {
		about = "(" + about + ")"
	}
	e := reasonError(op, reason, about, err)
	var wait *pool.BackoffError
	if e.Status == StatusBusy && errors.As(err, &wait) {
		e.RetryAfter = max(time.Until(wait.Until).Round(time.Millisecond), time.Millisecond)
	}
	return e
}

// reasonError makes an error of a reason and what there is to add.
func reasonError(op string, r Reason, more string, err error) *Error {
	k := reasons[r]
	hint := k.hint
	if more != "" {
		hint += " " + more
	}
	e := &Error{Op: op, Status: k.status, Reason: r, Hint: hint, Err: err}
	if e.Status == StatusBusy {
		e.RetryAfter = retryAfter
	}
	return e
}

func reasonOf(err error, run *egress.Run) (reason Reason, about string) {
	var (
		refusal *policy.Refusal
		network *tab.NetError
		content *tab.ContentError
		missing *chrome.NotFoundError
		failed  *egress.Error
		covered *tab.CoveredError
		options *tab.OptionError
		stale   *digest.Stale
		fetched *plain.Error
		crashes *pool.BackoffError
	)
	switch {
	case errors.As(err, &refusal):
		return refusal.Reason, refusal.What
	case errors.As(err, &fetched):
		return plainCause(fetched, run)
	case errors.As(err, &network):
		return netCause(network, run)
	case errors.As(err, &content):
		if content.Attachment {
			return ReasonDownload, ""
		}
		return ReasonContent, ""
	case errors.As(err, &missing):
		return ReasonBrowserMissing, ""
	case errors.As(err, &covered):
		return ReasonCovered, ""
	case errors.As(err, &options):
		return ReasonNoOption, ""
	case errors.As(err, &stale):
		return ReasonStale, ""
	case errors.As(err, &failed):
		return failed.Reason, ""
	case errors.As(err, &crashes) && crashes.Err == nil:
		return ReasonPoolFull, ""
	}
	for _, c := range causes {
		if errors.Is(err, c.is) {
			return c.reason, ""
		}
	}
	return ReasonInternal, ""
}

// netCause prefers the proxy's own account of a failed connection to the
// browser's, to whom all its refusals look alike.
func netCause(e *tab.NetError, run *egress.Run) (Reason, string) {
	reason := netReason(e.Text)
	if e.Text == "net::ERR_ABORTED" && (e.Status == 301 || e.Status == 302 || e.Status == 303 || e.Status == 307 || e.Status == 308) {
		reason = ReasonScheme // a redirect that the browser knows no way to follow
	}
	if e.Status == 304 {
		reason = ReasonEmpty
	}
	u, err := policy.ParseURL(shownURL(e.URL))
	if err != nil || run == nil {
		return reason, ""
	}
	if reason == ReasonProxy || reason == ReasonConnection || reason == ReasonEmpty || reason == ReasonTLS {
		if o, ok := run.Outcome(u.Host.String(), u.Port); ok && o.Reason != "" {
			return o.Reason, u.Host.String()
		}
	}
	return reason, ""
}
