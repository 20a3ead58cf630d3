package testweb

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// The endpoints that misbehave in time or on the connection.

func serveHang(w http.ResponseWriter, r *http.Request, p params) {
	if p.Str("head", "") != "" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusOK)
		http.NewResponseController(w).Flush()
	}
	<-r.Context().Done()
}

func serveSlow(w http.ResponseWriter, r *http.Request, p params) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(page("Slow", "<p>first half"))
	http.NewResponseController(w).Flush()
	if pause(r, p.ms("ms", 300)) {
		fmt.Fprintln(w, "<p>second half")
	}
}

func serveDrip(w http.ResponseWriter, r *http.Request, p params) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(page("Drip", "<p>"+EarlyText))
	for i, n := 1, p.Int("n", 0); n == 0 || i <= n; i++ {
		if http.NewResponseController(w).Flush() != nil || !pause(r, p.ms("every", 100)) {
			return
		}
		if _, err := fmt.Fprintf(w, "<p>drop %d\n", i); err != nil {
			return
		}
	}
}

// serveReset makes the client's kernel say "connection reset by peer" over
// HTTP/1.1; over HTTP/2 the stream is reset.
func serveReset(w http.ResponseWriter, _ *http.Request, _ params) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	linger0(c)
	c.Close()
}

// linger0 makes Close send RST instead of FIN.
func linger0(c net.Conn) {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	if l, ok := c.(interface{ SetLinger(int) error }); ok {
		l.SetLinger(0)
	}
}

// serveEmpty closes the connection in order, but without a response.
func serveEmpty(w http.ResponseWriter, _ *http.Request, _ params) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	c.Close()
}

// serveCut declares more than it sends.
func serveCut(w http.ResponseWriter, _ *http.Request, _ params) {
	body := page("Cut", "<p>this page ends in the middle of a")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+10_000))
	w.Write(body)
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func serveRedirect(w http.ResponseWriter, r *http.Request, p params) {
	n, to := p.Int("n", 1), p.Str("to", "/tiny")
	if n > 1 {
		to = "/redirect?" + p.Add("n", -1)
	}
	w.Header().Set("Location", to)
	w.WriteHeader(redirectCode(p))
}

func serveLoop(w http.ResponseWriter, r *http.Request, p params) {
	w.Header().Set("Location", "/loop?"+p.Add("round", 1))
	w.WriteHeader(redirectCode(p))
}

func redirectCode(p params) int {
	if code := p.Int("code", 0); code >= 300 && code <= 399 {
		return code
	}
	return http.StatusFound
}

func serveStatus(w http.ResponseWriter, _ *http.Request, p params) {
	code := p.Int("code", http.StatusNotFound)
	if code < 200 || code > 599 {
		code = http.StatusBadRequest
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	text := p.Str("text", "")
	if text == "" || code == http.StatusNoContent || code == http.StatusNotModified {
		w.WriteHeader(code)
		return
	}
	w.WriteHeader(code)
	w.Write(page("Status", "<p>%s", escape(text)))
}

func serveAuth(w http.ResponseWriter, _ *http.Request, _ params) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("WWW-Authenticate", `Basic realm="members"`)
	w.WriteHeader(http.StatusUnauthorized)
	w.Write(page("Members", "<h1>Members only</h1><p>Ask at the desk for a password."))
}

func serveEvents(w http.ResponseWriter, r *http.Request, p params) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := 1; ; i++ {
		if _, err := fmt.Fprintf(w, "data: event %d\n\n", i); err != nil {
			return
		}
		if http.NewResponseController(w).Flush() != nil || !pause(r, p.ms("ms", 100)) {
			return
		}
	}
}

func serveAPI(w http.ResponseWriter, r *http.Request, p params) {
	if !pause(r, p.ms("ms", 0)) {
		return
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	send(w, "application/json", []byte(`{"answer":"`+LateText+`"}`))
}

// serveDelayed serves a fixed body, after a while if asked to.
func serveDelayed(contentType string, body []byte) endpoint {
	return func(w http.ResponseWriter, r *http.Request, p params) {
		if !pause(r, p.ms("ms", 0)) {
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
		send(w, contentType, body)
	}
}

// serveEcho shows the request, for tests of what a browser sends along.
func serveEcho(w http.ResponseWriter, r *http.Request, _ params) {
	w.Header().Set("Cache-Control", "no-store")
	b, err := json.MarshalIndent(struct {
		Method, Host, URI string
		Header            http.Header
	}{r.Method, r.Host, r.URL.RequestURI(), r.Header}, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, "text/plain; charset=utf-8", b)
}

func serveDownload(w http.ResponseWriter, _ *http.Request, p params) {
	size := min(max(p.Int("size", 10), 0), 64<<20)
	w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+url.PathEscape(p.Str("name", "report.bin")))
	send(w, "application/octet-stream", []byte(strings.Repeat("x", size)))
}
