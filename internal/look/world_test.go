package look_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	cdpt "github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/cdp"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/look"
)

// One browser serves all tests of this package. It has no network: its pages
// are what the tests write into them.
var (
	proc     *chrome.Process
	sessions sync.Map // target.ID to *cdp.Session
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	root, err := os.MkdirTemp("", "bellglass-look-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	bin, err := chrome.Find(chrome.FindOptions{})
	if err == nil {
		proc, err = chrome.Start(context.Background(), chrome.Options{Binary: bin, Proxy: "127.0.0.1:9", ProfileRoot: root,
			OnAttach: func(_, s *cdp.Session, _ *target.EventAttachedToTarget) { sessions.Store(s.TargetID, s) }})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer proc.Close()
	return m.Run()
}

// tab is a blank page in a context of its own.
type tab struct {
	t *testing.T
	s *cdp.Session
	v look.Revealer
}

func newTab(t *testing.T) *tab {
	t.Helper()
	ctx := t.Context()
	c, err := cdpt.Call(ctx, proc.Browser, target.CreateBrowserContext, target.CreateBrowserContextParams{})
	check(t, err)
	made, err := cdpt.Call(ctx, proc.Browser, target.CreateTarget, target.CreateTargetParams{URL: "about:blank", BrowserContextID: c.BrowserContextID, Width: 1280, Height: 800})
	check(t, err)
	flat := true
	_, err = cdpt.Call(ctx, proc.Browser, target.AttachToTarget, target.AttachToTargetParams{TargetID: made.TargetID, Flatten: &flat})
	check(t, err)
	s, ok := sessions.Load(made.TargetID)
	if !ok {
		t.Fatal("not attached")
	}
	t.Cleanup(func() {
		cdpt.Call(context.Background(), proc.Browser, target.DisposeBrowserContext, target.DisposeBrowserContextParams(c))
	})
	return &tab{t: t, s: s.(*cdp.Session)}
}

func check(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// world makes, or finds, our world in the main frame.
func (p *tab) world() runtime.ExecutionContextID {
	p.t.Helper()
	tree, err := cdpt.Call(p.t.Context(), p.s, page.GetFrameTree, cdpt.Empty{})
	check(p.t, err)
	w, err := cdpt.Call(p.t.Context(), p.s, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: tree.FrameTree.Frame.ID, WorldName: "bellglass"})
	check(p.t, err)
	return w.ExecutionContextID
}

func (p *tab) eval(world runtime.ExecutionContextID, script string) string {
	p.t.Helper()
	params := runtime.EvaluateParams{Expression: script, ContextID: world}
	yes := true
	params.AwaitPromise = &yes
	r, err := cdpt.Call(p.t.Context(), p.s, runtime.Evaluate, params)
	check(p.t, err)
	if x := r.ExceptionDetails; x != nil {
		p.t.Fatalf("%s: %s", x.Text, x.Exception.Description)
	}
	var out string
	if r.Result == nil || jsonv2.Unmarshal(r.Result.Value, &out, jsonv2.AllowInvalidUTF8(true)) != nil {
		return ""
	}
	return out
}

// write replaces the page by html, whose scripts run.
func (p *tab) write(html string) {
	p.t.Helper()
	p.put(html)
	p.eval(0, "new Promise(r=>requestAnimationFrame(()=>requestAnimationFrame(()=>r(''))))")
}

func (p *tab) put(html string) {
	p.t.Helper()
	b, _ := json.Marshal(html)
	p.eval(0, "document.open();document.write("+string(b)+");document.close();''")
}

// js runs in the page's own world.
func (p *tab) js(script string) string { p.t.Helper(); return p.eval(0, script) }

// frame looks at the main frame, twice if the browser knows more.
func (p *tab) frame() *digest.Frame {
	p.t.Helper()
	f := p.look()
	if f.Suspects == 0 {
		return f
	}
	n, err := p.v.Reveal(p.t.Context(), p.s, p.world())
	check(p.t, err)
	if n > 0 {
		f = p.look()
	}
	return f
}

func (p *tab) look() *digest.Frame {
	p.t.Helper()
	s := p.eval(p.world(), look.Script(look.Options{}))
	f, err := look.Parse(s)
	if err != nil {
		p.t.Fatalf("%v: %.300s", err, s)
	}
	return f
}

// lines are the lines that the page's elements have in a digest.
func lines(f *digest.Frame) []string {
	var t digest.Table
	page := t.Update(f)
	page.URL = "https://site.test/"
	out := page.Render(digest.RenderOptions{Nonce: "n", Elements: 1000, Bytes: 1 << 20, NoText: true})
	_, list, _ := strings.Cut(out, "Interactive elements:\n")
	return strings.Split(strings.TrimSuffix(list, "\n"), "\n")
}
