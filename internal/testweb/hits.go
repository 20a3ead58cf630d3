package testweb

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Hit is one request as a server saw it.
type Hit struct {
	Time   time.Time
	Site   string // the name at whose address it arrived, whatever Host says
	Port   uint16
	TLS    bool
	SNI    string // the name in the TLS handshake
	Proto  string // "HTTP/1.1", "HTTP/2.0"
	Method string
	Host   string // the Host header or :authority
	Path   string // as sent, without the query
	Query  string
	Header http.Header
	Remote string // the client's address
}

func (h Hit) String() string {
	scheme := "http"
	if h.TLS {
		scheme = "https"
	}
	s := fmt.Sprintf("%s %s://%s:%d%s", h.Method, scheme, h.Site, h.Port, h.Path)
	if h.Query != "" {
		s += "?" + h.Query
	}
	if h.Host != h.Site {
		s += " (Host: " + h.Host + ")"
	}
	return s
}

// record notes each request and passes it to the site's present handler.
func (w *Web) record(s *site, port uint16) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !w.begin() {
			return
		}
		defer w.wg.Done()
		hit := Hit{
			Time: time.Now(), Site: s.name, Port: port, TLS: r.TLS != nil,
			Proto: r.Proto, Method: r.Method, Host: r.Host,
			Path: r.URL.EscapedPath(), Query: r.URL.RawQuery,
			Header: r.Header.Clone(), Remote: r.RemoteAddr,
		}
		if r.TLS != nil {
			hit.SNI = r.TLS.ServerName
		}
		w.hits.add(hit)
		w.mu.Lock()
		h := s.handler
		w.mu.Unlock()
		h.ServeHTTP(rw, r)
	})
}

// Hits returns the requests that arrived at host so far, oldest first; at any
// host if host is empty.
func (w *Web) Hits(host string) []Hit { return w.hits.all(at(host)) }

// Wait returns the first hit at host (at any, if empty) that match accepts,
// past or future. It returns false when ctx ends first.
func (w *Web) Wait(ctx context.Context, host string, match func(Hit) bool) (Hit, bool) {
	here := at(host)
	return w.hits.wait(ctx, func(h Hit) bool { return here(h) && match(h) })
}

func at(host string) func(Hit) bool {
	host = canonical(host)
	return func(h Hit) bool { return host == "" || h.Site == host }
}
