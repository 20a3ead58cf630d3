package testweb

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Hostile describes a page that tries every way out which the web platform
// offers: fetch and its relatives, elements, style, frames, forms, popups,
// workers of all kinds, WebSocket, EventSource, WebTransport, WebRTC, hints and
// speculation. Its text ends with "probing finished", and lists for each
// attempt what the page could learn. What really arrived, only the target
// knows: a [Canary], or the hits of a site.
type Hostile struct {
	// Targets are URLs to reach over http and https.
	Targets []string
	// STUN are UDP servers, "host:port", for STUN and for ICE checks.
	STUN []string
	// Only names the vectors to try, such as "img" and "websocket"; all
	// when empty. The vector "location", which leaves the page, is tried
	// only when named here. The vector "headers" is what the response
	// itself asks for: a preload, a report of its policy, a network log.
	Only []string
	// Patience is how long an attempt may remain without an answer. If
	// zero, 1.5 s.
	Patience time.Duration
}

// Path returns the path of the page on a host that serves [Site].
func (h Hostile) Path() string {
	q := url.Values{"to": h.Targets, "stun": h.STUN, "only": h.Only}
	if h.Patience > 0 {
		q.Set("ms", strconv.FormatInt(h.Patience.Milliseconds(), 10))
	}
	return "/hostile?" + q.Encode()
}

// hostileHeader adds the headers that make a browser connect by itself.
func hostileHeader(h http.Header, p params) {
	if only := p.List("only"); len(only) > 0 && !slices.Contains(only, "headers") {
		return
	}
	for _, to := range p.List("to") {
		h.Add("Link", fmt.Sprintf("<%s>; rel=preload; as=image", to))
		h.Add("Link", fmt.Sprintf("<%s>; rel=preconnect", to))
		h.Add("Content-Security-Policy-Report-Only", "img-src 'none'; report-uri "+to)
		h.Add("Report-To", fmt.Sprintf(`{"group":"nel","max_age":3600,"endpoints":[{"url":%q}]}`, to))
		h.Add("Reporting-Endpoints", fmt.Sprintf("default=%q", to))
	}
	h.Set("NEL", `{"report_to":"nel","max_age":3600,"success_fraction":1.0}`)
}
