package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/cdp"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/tab"
	"github.com/bellglass/bellglass/policy"
)

// rendering is a page after its scripts ran: the walker's output for the main
// frame and for each of its frames, and what innerText says.
type rendering struct {
	Streams   []string
	InnerText string

	blank   bool // see [tab.Page]
	textLen int
}

// doc puts the frames together as a read does.
func (r *rendering) doc() (*extract.Doc, error) {
	var top *extract.Doc
	for i, s := range r.Streams {
		d, err := extract.Parse(s)
		switch {
		case i == 0 && err != nil:
			return nil, err
		case i == 0:
			top = d
		case err == nil:
			top.Graft(i-1, d, "", true)
		}
	}
	return top, nil
}

// renderer is one browser whose only internet is the page that is being read.
type renderer struct {
	proc  *chrome.Process
	proxy *egress.Proxy
	host  *tab.Host
	rules *policy.Rules
	web   *http.Server
	addr  string

	mu   sync.Mutex
	html []byte
	main *cdp.Session // of the tab opened last
}

const pageHost = "page.example"

var errOffline = errors.New("only the page itself can be reached")

func newRenderer(ctx context.Context) (*renderer, error) {
	r := &renderer{host: tab.NewHost()}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r.addr = ln.Addr().String()
	r.web = &http.Server{Handler: http.HandlerFunc(r.serve)}
	go r.web.Serve(ln)
	r.proxy = egress.NewProxy(&egress.Gate{
		Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
			if name != pageHost {
				return nil, errOffline
			}
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", r.addr)
		},
	}, egress.Options{})
	if r.rules, err = policy.Compile(policy.Config{Mode: policy.ModePublic, AllowInsecureHTTP: true}); err != nil {
		return nil, err
	}
	own, err := r.proxy.Listen()
	if err != nil {
		return nil, err
	}
	bin, err := chrome.Find(chrome.FindOptions{})
	if err != nil {
		return nil, err
	}
	r.proc, err = chrome.Start(ctx, chrome.Options{Binary: bin, Proxy: own.Addr().String(), OnAttach: r.attach})
	if err != nil {
		return nil, err
	}
	return r, r.host.Bind(ctx, r.proc.Conn)
}

func (r *renderer) close() {
	r.proc.Close()
	r.proxy.Close()
	r.web.Close()
}

func (r *renderer) attach(parent, child *cdp.Session, ev *target.EventAttachedToTarget) {
	if child.Type == "page" {
		r.mu.Lock()
		r.main = child
		r.mu.Unlock()
	}
	r.host.Attach(parent, child, ev)
}

func (r *renderer) serve(w http.ResponseWriter, q *http.Request) {
	if q.URL.Path != "/" {
		http.NotFound(w, q)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(r.html)
}

// render reads a page as bellglass does: once more without scripts, if it
// shows nothing with them.
func (r *renderer) render(ctx context.Context, html []byte) (*rendering, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := r.read(ctx, html, false)
	if err != nil || !out.blank {
		return out, err
	}
	again, err := r.read(ctx, html, true)
	if err != nil || again.textLen <= out.textLen {
		return out, nil
	}
	return again, nil
}

// read reads a page once, then has every frame walked and innerText evaluated
// in the page as it stands.
func (r *renderer) read(ctx context.Context, html []byte, noScripts bool) (*rendering, error) {
	r.mu.Lock()
	r.html = html
	r.mu.Unlock()
	end, err := r.proxy.Listen()
	if err != nil {
		return nil, err
	}
	defer end.Close()
	t, err := r.host.Open(ctx, tab.Config{Proxy: end.Addr().String()})
	if err != nil {
		return nil, err
	}
	defer t.Close(context.WithoutCancel(ctx))
	r.mu.Lock()
	main := r.main
	r.mu.Unlock()
	end.Assign(egress.NewRun(egress.RunConfig{Tenant: "bench", ID: "extract", Rules: r.rules, MaxRequests: -1}))
	p, err := t.Read(ctx, tab.Request{URL: "http://" + pageHost + "/", Timeout: 15 * time.Second, NoScripts: noScripts, Check: stay})
	if err != nil {
		return nil, err
	}
	tree, err := cdpt.Call(ctx, main, page.GetFrameTree, cdpt.Empty{})
	if err != nil {
		return nil, err
	}
	out := rendering{blank: p.Blank}
	if p.Doc != nil {
		out.textLen = p.Doc.TextLen
	}
	if out.InnerText, err = evaluate(ctx, main, tree.FrameTree.Frame.ID, "document.body ? document.body.innerText : ''"); err != nil {
		return nil, err
	}
	frames := []cdpt.FrameID{tree.FrameTree.Frame.ID}
	for _, f := range tree.FrameTree.ChildFrames {
		frames = append(frames, f.Frame.ID)
	}
	for i, f := range frames {
		s, err := evaluate(ctx, main, f, walker)
		if i == 0 && err != nil {
			return nil, err
		}
		out.Streams = append(out.Streams, s)
	}
	return &out, nil
}

// stay lets no script leave the page: there is nothing else.
func stay(url string) error {
	if !strings.HasPrefix(url+"?", "http://"+pageHost+"/?") {
		return errOffline
	}
	return nil
}

var walker = extract.Script(extract.ScriptOptions{})

// evaluate runs an expression in an isolated world of a frame.
func evaluate(ctx context.Context, s *cdp.Session, f cdpt.FrameID, expression string) (string, error) {
	w, err := cdpt.Call(ctx, s, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: f, WorldName: "bellglass"})
	if err != nil {
		return "", err
	}
	r, err := cdpt.Call(ctx, s, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ContextID: w.ExecutionContextID})
	if err != nil {
		return "", err
	}
	if r.ExceptionDetails != nil {
		return "", fmt.Errorf("evaluate: %s", r.ExceptionDetails.Text)
	}
	var text string
	return text, json.Unmarshal(r.Result.Value, &text)
}
