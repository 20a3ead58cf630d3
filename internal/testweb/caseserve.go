package testweb

import (
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// types are the content types of a case's files. HTML has no charset: the page
// declares its own, and some declare it wrongly.
var types = map[string]string{
	".html": "text/html", ".htm": "text/html",
	".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css",
	".json": "application/json", ".xml": "application/xml", ".txt": "text/plain; charset=utf-8",
	".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif", ".svg": "image/svg+xml",
	".pdf": "application/pdf", ".webmanifest": "application/manifest+json",
}

// Handler serves the case at the root of a host.
func (c *Case) Handler() http.Handler {
	routes := make(map[string]http.Handler, len(c.Server.Routes))
	for _, r := range c.Server.Routes {
		routes[r.Path] = r.handler(c.Dir)
	}
	files := os.DirFS(c.Dir)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
		if h := routes[name]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		if name == "" || strings.HasSuffix(r.URL.Path, "/") {
			name = path.Join(name, "index.html")
		}
		b, err := fs.ReadFile(files, name)
		if err != nil || name == "case.json" {
			http.Error(w, "no such file", http.StatusNotFound)
			return
		}
		contentType := types[path.Ext(name)]
		if contentType == "" {
			contentType = "application/octet-stream"
		}
		send(w, contentType, b)
	})
}

// handler answers a route.
func (r Route) handler(dir string) http.Handler {
	// The body is made at the first request: some are large.
	body := sync.OnceValues(func() ([]byte, error) { return r.body(dir) })
	coded := sync.OnceValues(func() ([]byte, error) { return r.coded(body) })
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !pause(req, ms(r.DelayMS)) {
			return
		}
		if r.Drop {
			serveReset(w, req, params{})
			return
		}
		if !pause(req, ms(r.HangMS)) {
			return
		}
		b, err := coded()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		r.header(w, req)
		if r.Repeat != nil {
			r.repeat(w)
		} else {
			w.Write(b)
		}
		if r.Drip != nil {
			r.Drip.serve(w, req)
		}
	})
}

// header sends the status and exactly the headers that the route lists.
func (r Route) header(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	h["Content-Type"] = nil // do not guess
	for k, v := range r.Headers {
		h.Set(k, v)
	}
	if r.RedirectQuery != "" {
		to := req.URL.Query().Get(r.RedirectQuery)
		if !strings.Contains(to, "://") {
			to = "http://" + to + "/redirected"
		}
		h.Set("Location", to)
	}
	if r.KeepQuery && req.URL.RawQuery != "" {
		h.Set("Location", h.Get("Location")+"?"+req.URL.RawQuery)
	}
	status := r.Status
	if status == 0 {
		status = http.StatusOK
	}
	w.WriteHeader(status)
}

// body returns the plain body, except a repeated one.
func (r Route) body(dir string) ([]byte, error) {
	switch {
	case r.BodyFile != "":
		return fs.ReadFile(os.DirFS(dir), r.BodyFile)
	case r.BodyB64 != "":
		return base64.StdEncoding.DecodeString(r.BodyB64)
	}
	return []byte(r.Body), nil
}

// coded returns the body in its content coding, except a repeated one.
func (r Route) coded(body func() ([]byte, error)) ([]byte, error) {
	b, err := body()
	if err != nil || r.Encode == "" || r.Repeat != nil {
		return b, err
	}
	return encode(r.Encode, b)
}

// repeat sends a repeated body, in its coding, as it is made.
func (r Route) repeat(w io.Writer) error {
	if r.Encode == "" {
		return r.Repeat.writeTo(w)
	}
	e, err := newEncoder(r.Encode, w)
	if err != nil {
		return err
	}
	return errors.Join(r.Repeat.writeTo(e), e.Close())
}

// writeTo writes the chunks in blocks of about 64 KiB.
func (r *Repeat) writeTo(w io.Writer) error {
	if r.Chunk == "" {
		return nil
	}
	per := max(1, (64<<10)/len(r.Chunk))
	block := []byte(strings.Repeat(r.Chunk, per))
	rest := block[:r.Count%per*len(r.Chunk)]
	if d, ok := w.(*deflater); ok {
		return errors.Join(d.copies(block, r.Count/per), d.copies(rest, 1))
	}
	for range r.Count / per {
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	_, err := w.Write(rest)
	return err
}

func (d *Drip) serve(w http.ResponseWriter, req *http.Request) {
	for {
		if _, err := io.WriteString(w, d.Chunk); err != nil {
			return
		}
		if http.NewResponseController(w).Flush() != nil || !pause(req, ms(d.EveryMS)) {
			return
		}
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// Address returns the URL that a step opens, "" when it stays where it is.
// origin is where the case is served, such as "http://case.test". In paths and
// URLs, HOST stands for the host of origin, PORT and CANARY for the port and
// for the "host:port" of a canary.
func (s Step) Address(origin, canary string) string {
	_, host, _ := strings.Cut(origin, "://")
	port := canary[strings.LastIndexByte(canary, ':')+1:]
	fill := strings.NewReplacer("HOST", host, "PORT", port, "CANARY", canary)
	switch {
	case s.URL != "":
		return fill.Replace(s.URL)
	case s.Path != nil:
		return origin + "/" + fill.Replace(*s.Path)
	}
	return ""
}

// String describes a step in a failure.
func (s Step) String() string {
	if s.Call == "" {
		return "wait " + strconv.Itoa(s.WaitMS) + " ms"
	}
	out := s.Call
	if s.Path != nil {
		out += " " + strconv.Quote(*s.Path)
	}
	if s.URL != "" {
		out += " " + strconv.Quote(s.URL)
	}
	if s.Target != "" {
		out += " " + strconv.Quote(s.Target)
	}
	return out
}
