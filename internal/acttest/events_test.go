package acttest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
)

// events is the line of a digest that tells what happened.
func (r answer) events() string {
	_, rest, _ := strings.Cut(r.Text, "\nEvents: ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

func (a *agent) has(r answer, wants ...string) {
	a.Helper()
	for _, want := range wants {
		if !strings.Contains(r.Text, want) {
			a.Errorf("lacks %q:\n%s", want, r.Text)
		}
	}
}

// TestWhatAPageDoesNeverBlocks: dialogs, prompts, choosers, prints and storms
// of them are answered, told, and cost no time.
func TestWhatAPageDoesNeverBlocks(t *testing.T) {
	t.Parallel()
	a := open(t, bellglass.SessionOptions{})
	a.has(a.goTo(serve("storm.test", `<!doctype html><title>Storm</title><p id=p>start</p>
<button onclick="p.textContent='confirm '+confirm('sure?')">Confirm</button>
<button onclick="p.textContent='prompt '+prompt('who?','Ada')">Prompt</button>
<button onclick="setTimeout(()=>{alert('late');p.textContent='after late'},700)">Late</button>
<button onclick="for(let i=0;i<60;i++)alert('n'+i);p.textContent='after many'">Many</button>
<button onclick="print();p.textContent='printed'">Print</button>
<button onclick="f.click()">File</button><input type=file id=f style="display:none" oncancel="p.textContent='no file'">
<button onclick="navigator.geolocation.getCurrentPosition(()=>{},e=>p.textContent+=' geo '+e.code)">Ask</button>
<button onclick="this.requestPointerLock();p.requestFullscreen().catch(()=>{}).then(()=>p.textContent='went on')">Lock</button>
<script>alert('on load')</script>`)), `Events: dialog dismissed: alert "on load"`)
	for _, k := range []struct {
		button string
		args   map[string]any
		wants  []string
	}{
		{"Confirm", nil, []string{"confirm false", `dialog dismissed: confirm "sure?"`}},
		{"Confirm", map[string]any{"dialog": "accept"}, []string{"confirm true", `dialog accepted: confirm "sure?"`}},
		{"Confirm", nil, []string{"confirm false"}},
		{"Prompt", map[string]any{"dialog": "accept"}, []string{"prompt Ada"}},
		{"Prompt", nil, []string{"prompt null"}},
		{"Late", nil, []string{"after late", `alert "late"`}},
		{"Many", nil, []string{"after many", `"n0"`, "more"}},
		{"Print", nil, []string{"printed", "print ignored"}},
		{"File", nil, []string{"no file", "file chooser cancelled"}},
		{"Ask", nil, []string{"geo 1", "permission denied: geolocation"}},
		{"Lock", nil, []string{"went on", "permission denied: pointer lock"}},
	} {
		args := map[string]any{"index": a.find(`button "` + k.button), "generation": a.last.generation()}
		for key, v := range k.args {
			args[key] = v
		}
		r := a.ok(a.call("click", args))
		if r.took > 8*time.Second {
			t.Errorf("%s took %v", k.button, r.took)
		}
		a.has(r, k.wants...)
	}
}

// TestLeavingIsNeverHeldUp: a page that asks whether to leave is left.
func TestLeavingIsNeverHeldUp(t *testing.T) {
	t.Parallel()
	a := open(t, bellglass.SessionOptions{})
	a.goTo(serve("stay.test", `<!doctype html><title>Stay</title><input aria-label=Note><script>onbeforeunload=e=>{e.preventDefault();return 'no'}</script>`))
	a.ok(a.fill("Note", "x"))
	r := a.goTo(serve("other.stay.test", `<!doctype html><title>Other</title>here`))
	a.has(r, "Page: Other", "dialog accepted: beforeunload")
	a.has(a.ok(a.call("navigate", map[string]any{"back": true})), "Page: Stay")
	if r := a.call("navigate", map[string]any{"close": true}); r.took > 4*time.Second {
		t.Errorf("closing took %v", r.took)
	}
}

// TestPopups: what a click opens is adopted, numbered and shown; storms are
// bounded; a window that closes leads back.
func TestPopups(t *testing.T) {
	t.Parallel()
	web.Handle("pop.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/two":
			fmt.Fprint(w, `<!doctype html><title>Two</title><p>second page</p><button onclick="opener.document.title='touched';window.close()">Done</button>`)
		default:
			fmt.Fprint(w, `<!doctype html><title>One</title><a href=/two target=_blank rel=opener>Open two</a>
<button onclick="const w=window.open('');w.document.write('<title>Written</title><p>written here</p>')">Write</button>
<button onclick="for(let i=0;i<40;i++)window.open('/two?'+i,'w'+i)">Storm</button>
<a href="http://refused.test/x" target=_blank>Refused</a><button onclick="window.open('http://refused.test/y')">Refused by script</button>`)
		}
	}))
	a := open(t, bellglass.SessionOptions{Mode: "allowlist", Allow: []string{"pop.test"}, AllowInsecureHTTP: true})
	a.goTo("http://pop.test/")
	a.has(a.ok(a.click("Open two")), "Page: Two", "second page", "page 2 was opened", "page 1 http://pop.test/")
	a.has(a.ok(a.call("state", map[string]any{"page": 1})), "Page: One")
	a.has(a.ok(a.call("state", map[string]any{"page": 2})), "Page: Two")
	a.has(a.ok(a.click("Done")), "Page: touched", "page 2 was closed")
	a.has(a.ok(a.click("Write")), "Page: Written", "written here")
	a.has(a.ok(a.call("state", map[string]any{"page": 1})), "Page: touched")
	r := a.ok(a.click("Storm"))
	a.has(r, "too many are open")
	if n := len(web.Hits("pop.test")); n > 20 {
		t.Errorf("%d requests", n)
	}
	a.has(a.ok(a.call("state", map[string]any{"page": 1})), "Page: touched")
	// A link to a host that may not be reached, and a script that opens one.
	if r := a.click(`link "Refused"`); r.str("reason") != "host_not_allowed" || !strings.Contains(r.Text, "refused.test") {
		t.Errorf("FRM-011: %s", r.Text)
	}
	if r := a.click("Refused by script"); r.str("status") == "ok" && !strings.Contains(r.events(), "too many") && !strings.Contains(r.events(), "refused.test") {
		t.Errorf("FRM-011 by script: %s", r.Text)
	}
	if hits := web.Hits("refused.test"); len(hits) > 0 {
		t.Errorf("refused.test was reached: %v", hits)
	}
}

// TestWedgedPageIsEnded: a page that never gives its process back is ended in
// bounded time, what was seen last is shown, and the session goes on.
func TestWedgedPageIsEnded(t *testing.T) {
	t.Parallel()
	a := open(t, bellglass.SessionOptions{})
	url := serve("wedge.test", `<!doctype html><title>Wedge</title><p>fine so far</p><button onclick="for(;;);">Hang</button>`)
	a.goTo(url)
	r := a.click("Hang")
	if r.str("reason") != "page_unresponsive" && r.str("reason") != "action_timeout" {
		t.Errorf("got %s", r.Text)
	}
	if r.took > 16*time.Second {
		t.Errorf("took %v", r.took)
	}
	a.has(r, "fine so far", "old:", "browser_navigate")
	a.has(a.goTo(url), "fine so far")
	if r := a.ok(a.call("state", nil)); !strings.Contains(r.Text, "fine so far") {
		t.Errorf("got %s", r.Text)
	}
}

// TestPageThatNeverParsesIsEnded: the time of a navigation is hardly exceeded,
// and the session goes on.
func TestPageThatNeverParsesIsEnded(t *testing.T) {
	t.Parallel()
	b, _ := own(t, func(o *bellglass.Options) { o.NavigationTimeout = 6 * time.Second })
	s, err := b.Open(t.Context(), who, anywhere)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := &agent{T: t, s: s}
	fine := serve("fine.wedge.test", `<!doctype html><title>Fine</title><p>fine so far</p>`)
	a.goTo(fine)
	r := a.call("navigate", map[string]any{"url": serve("loop.wedge.test", `<!doctype html><title>Loop</title><p>words</p><script>for(;;);</script>`)})
	if r.str("reason") != "page_unresponsive" || r.took > 20*time.Second {
		t.Errorf("after %v: %s", r.took, r.Text)
	}
	a.has(r, "old:", "fine so far", "browser_navigate")
	a.has(a.goTo(fine), "fine so far")
}

// TestDownloadIsRefused: nothing is saved, and the page stays.
func TestDownloadIsRefused(t *testing.T) {
	t.Parallel()
	web.Handle("files.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.Header().Set("Content-Disposition", `attachment; filename="prices.pdf"`)
			w.Header().Set("Content-Type", "application/pdf")
			fmt.Fprint(w, "%PDF-")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>Files</title><a href=/f>Prices</a>`)
	}))
	a := open(t, bellglass.SessionOptions{})
	a.goTo("http://files.test/")
	a.has(a.ok(a.click("Prices")), `download refused: "prices.pdf"`, "Page: Files")
	r := a.call("navigate", map[string]any{"url": "http://files.test/f"})
	if r.str("reason") != "download_refused" {
		t.Errorf("got %s", r.Text)
	}
	a.has(a.ok(a.call("state", nil)), "Page: Files")
}
