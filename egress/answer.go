package egress

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/bellglass/bellglass/policy"
)

// ReasonHeader is the response header that carries the reason word of every
// answer that is the proxy's own. It is removed from what origins send.
const ReasonHeader = "Bellglass-Reason"

// reasonOf returns the reason word of an error and a few words about it, which
// hold no address. The reason of nil is "".
func reasonOf(err error) (policy.Reason, string) {
	var (
		refusal *policy.Refusal
		failure *Error
		head    *badHead
	)
	switch {
	case err == nil:
		return "", ""
	case errors.As(err, &refusal):
		return refusal.Reason, refusal.What
	case errors.As(err, &failure):
		return failure.Reason, failure.What
	case errors.As(err, &head):
		return or(head.reason, ReasonMalformed), head.what
	case errors.Is(err, errGone):
		return "", "connection broken off"
	}
	return ReasonConnection, "connection broken off"
}

// statusOf returns the HTTP status that goes with an error. It is never 407,
// which a browser would take for a wish for credentials.
func statusOf(err error) int {
	var (
		failure *Error
		head    *badHead
	)
	switch {
	case errors.As(err, &head):
		return head.status
	case errors.As(err, &failure):
		var timeout interface{ Timeout() bool }
		switch {
		case failure.Reason == ReasonBudget:
			return http.StatusTooManyRequests
		case errors.As(failure.Err, &timeout) && timeout.Timeout():
			return http.StatusGatewayTimeout
		}
		return http.StatusBadGateway
	}
	switch reason, _ := reasonOf(err); reason {
	case policy.ReasonInvalidURL, policy.ReasonCredentials:
		return http.StatusBadRequest
	case ReasonConnection:
		return http.StatusBadGateway
	}
	return http.StatusForbidden
}

// answer writes the proxy's own answer about err, after which the connection
// is closed. It tells the reason word and nothing else.
func (c *conn) answer(err error) {
	reason, _ := reasonOf(err)
	status := statusOf(err)
	body := "bellglass: " + string(reason) + "\n"
	c.write(fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n"+
		"Content-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\n"+
		"Cache-Control: no-store\r\n"+
		ReasonHeader+": %s\r\n"+
		"Connection: close\r\n\r\n%s", status, http.StatusText(status), len(body), reason, body))
}
