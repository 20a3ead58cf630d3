package tab

import (
	"net/http"
	"strings"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/bellglass/bellglass/internal/cdp"
)

// Given is a document that was fetched already. The browser gets it as the
// answer to its first request, and the site is not asked twice.
type Given struct {
	Status int
	Header http.Header // as the site sent it
	Body   []byte      // without content coding
}

// claim returns the document that answers a request of the main frame, once.
// The caller holds Tab.mu.
func (v *visit) claim(ev *fetch.EventRequestPaused, mainFrame bool) *Given {
	g := v.req.Given
	if g == nil || !mainFrame || ev.ResourceType != network.ResourceTypeDocument || ev.Request == nil ||
		v.committed > 0 || sansFragment(ev.Request.URL) != sansFragment(v.req.URL) {
		return nil
	}
	v.req.Given = nil
	return g
}

// give answers an intercepted request with g. What describes the bytes on the
// wire, which are no longer these, is left out.
func (t *Tab) give(s *cdp.Session, id fetch.RequestID, g *Given) {
	var fields []*fetch.HeaderEntry
	for name, values := range g.Header {
		switch strings.ToLower(name) {
		case "content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive":
			continue
		}
		for _, v := range values {
			fields = append(fields, &fetch.HeaderEntry{Name: strings.ToValidUTF8(name, "_"), Value: strings.ToValidUTF8(v, "?")})
		}
	}
	cdp.Go(s, fetch.FulfillRequest, fetch.FulfillRequestParams{
		RequestID: id, ResponseCode: int64(g.Status), ResponseHeaders: fields, Body: g.Body,
	})
}
