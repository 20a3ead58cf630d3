package testweb

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/bellglass/bellglass/internal/vectors"
)

// What the pages that change say before and after. A reader that is too early
// returns EarlyText without LateText.
const (
	EarlyText = "early text is here"
	LateText  = "late text has arrived"
)

//go:embed site
var siteFS embed.FS

var siteTemplates = template.Must(template.ParseFS(siteFS, "site/*.html"))

// Page is one of the ready pages. All are parameterised by their query; a Page
// is one sensible setting.
type Page struct {
	Path string // with the query
	// Early is visible as soon as the first document is parsed, Late once
	// the page has done all that it will do. Either may be empty.
	Early, Late string
	// Stuck says that the load event never fires.
	Stuck bool
	// RealTime says that Late needs real frames, sockets or workers, which a
	// virtual clock does not hurry.
	RealTime bool
}

// Pages lists the pages that say something, now or later, so that a test can
// ask of each whether it was read completely. other is the origin of a second
// site that serves [Site] too, such as "http://other.test".
func Pages(other string) []Page {
	late := func(path string) Page { return Page{Path: path, Early: EarlyText, Late: LateText} }
	live := func(path string) Page {
		return Page{Path: path, Early: EarlyText, Late: LateText, RealTime: true}
	}
	stuck := func(what string) Page {
		return Page{Path: "/stuck?what=" + what, Early: EarlyText, Late: LateText, Stuck: true}
	}
	frames := func(late string, src ...string) Page {
		q := url.Values{"src": src}
		if late != "" {
			q.Set("after", late)
		}
		return Page{Path: "/frames?" + q.Encode(), Early: "a page with frames", Late: LateText}
	}
	return []Page{
		{Path: "/tiny", Early: "A tiny page"},
		{Path: Cards(100), Early: "Product number 99"},
		{Path: "/shadow", Early: "text in an open shadow root", Late: "text in a closed shadow root"},
		{Path: "/slow?ms=300", Early: "first half", Late: "second half"},
		{Path: "/redirect?n=3&to=/tiny", Early: "A tiny page"},
		{Path: "/refresh?n=2", Late: "A tiny page"},
		{Path: "/move?ms=100&to=/late?ms=50", Late: LateText},
		{Path: "/move?ms=100&to=" + url.QueryEscape(other+"/late?ms=50"), Late: LateText},
		late("/late?ms=50"), late("/late?ms=2000"),
		late("/fetched?ms=150"), late("/ticker?ms=10"), late("/busy?ms=10"),
		late("/messages"), late("/idle"), late("/seen"), late("/resources"),
		live("/frame-by-frame?n=6"), live("/events-page?ms=50"),
		live("/socket-page?ms=50"), live("/worker?kind=dedicated"),
		live("/worker?kind=shared"), live("/worker?kind=nested"),
		late("/events-beside"), late("/socket-beside"),
		stuck("image"), stuck("async-script"), stuck("frame"), stuck("style"),
		{Path: "/stuck?what=fetch", Early: EarlyText, Late: LateText},
		frames("", "/late?ms=300"),
		frames("", other+"/late?ms=300"),
		frames("", "/frames?src=/late?ms=300"),
		frames("200", other+"/late?ms=300"),
	}
}

// Site serves every ready page. Its root lists them. The pages are the HTML
// files in the folder site; besides those of [Pages], they are
//
//	/dialog            ?kind=alert|confirm|prompt|print|storm|beforeunload&when=load|later|click
//	/popup             ?when=load|click&to=/tiny
//	/downloads         links; ?when=load starts two by itself
//	/service-worker    registers one, which makes up an answer
//	/permissions       asks for all of them
//	/hidden            two lines that nobody sees
//	/guarded           has an image and a frame behind a password
//	/refresh           ?n=1&s=0&to=/tiny, n=0 for ever
//	/block             the main thread        ?ms=100&for=0 (for ever)
//	/talk              with its frames        ?src=…
//	/hostile           see [Hostile]
//
// Then there are endpoints that misbehave on the level of HTTP:
//
//	/hang              never answers          ?head=1 after the header
//	/slow              half, a pause, half    ?ms=300
//	/drip              one line after another ?every=100&n=0 (for ever)
//	/reset             resets the connection
//	/empty             closes it without a word
//	/cut               closes it in the middle of the body
//	/redirect          a chain                ?n=3&to=/tiny&code=302
//	/loop              redirects to itself
//	/status            any status             ?code=404&text=
//	/auth              401 with a body, whatever the credentials
//	/raw               other types            ?type=json|text|xml|rss|svg|png|pdf|bin|csv
//	/charset           a legacy encoding      ?name=shift_jis&by=header|meta|none
//	/bomb              a small body that grows ?coding=gzip|deflate|br|zstd&mib=64
//	/coded             a page, compressed     ?coding=…
//	/download          an attachment          ?name=report.bin&size=10
//	/events, /socket   EventSource, WebSocket ?ms=100 between messages
//	/api               JSON, later            ?ms=0
//	/echo              the request as text
//	/pixel.png /script.js /style.css          ?ms=0
//
// Durations are whole milliseconds.
func Site() http.Handler { return http.HandlerFunc(serveSite) }

func serveSite(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	p := params{r.URL.Query(), r.Host}
	if h := endpoints[name]; h != nil {
		h(w, r, p)
		return
	}
	if name == "" {
		name = "index"
	}
	if name == "hostile" {
		hostileHeader(w.Header(), p)
	}
	if t := siteTemplates.Lookup(name + ".html"); t != nil {
		var b bytes.Buffer
		if err := t.Execute(&b, p); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		send(w, "text/html; charset=utf-8", b.Bytes())
		return
	}
	if b, err := siteFS.ReadFile("site/" + name); err == nil && path.Ext(name) == ".js" {
		send(w, "text/javascript", b)
		return
	}
	http.Error(w, "no such page", http.StatusNotFound)
}

// endpoint serves one path that a static file could not.
type endpoint func(http.ResponseWriter, *http.Request, params)

var endpoints = map[string]endpoint{
	"cards":     serveCards,
	"hang":      serveHang,
	"slow":      serveSlow,
	"drip":      serveDrip,
	"reset":     serveReset,
	"empty":     serveEmpty,
	"cut":       serveCut,
	"redirect":  serveRedirect,
	"loop":      serveLoop,
	"status":    serveStatus,
	"auth":      serveAuth,
	"raw":       serveRaw,
	"charset":   serveCharset,
	"bomb":      serveBomb,
	"coded":     serveCoded,
	"download":  serveDownload,
	"events":    serveEvents,
	"socket":    serveSocket,
	"api":       serveAPI,
	"echo":      serveEcho,
	"pixel.png": serveDelayed("image/png", pixel),
	"script.js": serveDelayed("text/javascript", []byte("globalThis.scripts = (globalThis.scripts || 0) + 1;\n")),
	"style.css": serveDelayed("text/css", []byte("p { margin: 0 }\n")),

	"vectors.js": serveDelayed("text/javascript", []byte(vectors.Script)),
}

// params is a request's query with defaults; it is the data of the templates.
type params struct {
	q    url.Values
	host string
}

// Host is the name and port under which the page was asked for.
func (p params) Host() string { return p.host }

// Str returns a parameter or its default.
func (p params) Str(name, def string) string {
	if p.q.Has(name) {
		return p.q.Get(name)
	}
	return def
}

// Int returns a parameter, or its default when it is absent or no number.
func (p params) Int(name string, def int) int {
	if n, err := strconv.Atoi(p.q.Get(name)); err == nil {
		return n
	}
	return def
}

// List returns all values of a parameter.
func (p params) List(name string) []string { return p.q[name] }

// ms returns a parameter that holds milliseconds.
func (p params) ms(name string, def int) time.Duration {
	return time.Duration(p.Int(name, def)) * time.Millisecond
}

// Add returns the query string with one integer parameter increased.
func (p params) Add(name string, by int) string {
	q := make(url.Values, len(p.q)+1)
	for k, v := range p.q {
		q[k] = v
	}
	q.Set(name, strconv.Itoa(p.Int(name, 0)+by))
	return q.Encode()
}

// send answers 200 with a body whose length is declared.
func send(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// pause waits, and returns false when the client left first.
func pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return r.Context().Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// page wraps a body for the endpoints that make HTML themselves.
func page(title, format string, args ...any) []byte {
	return fmt.Appendf(nil, "<!doctype html><html lang=en><meta charset=utf-8><title>%s</title>\n%s\n", title, fmt.Sprintf(format, args...))
}

// HTML answers every request with a page of this body.
func HTML(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		send(w, "text/html; charset=utf-8", []byte("<!doctype html><title>Page</title>"+body))
	})
}
