package acttest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bellglass/bellglass"
)

// TestWhatAPersonIsAskedForIsTold: prompts for permission, names and passwords
// and prints, in pages and frames, when a page loads and after a click: each is
// answered at once, told once, and the page goes on.
func TestWhatAPersonIsAskedForIsTold(t *testing.T) {
	t.Parallel()
	const page = `<!doctype html><title>Asks</title><p id=p>start</p>
<button onclick="go(() => new Promise(r => navigator.geolocation.watchPosition(r, e => r('code ' + e.code))))">Where</button>
<button onclick="go(async () => self.Notification ? Notification.requestPermission() : 'denied')">Notify</button>
<button onclick="go(() => navigator.clipboard.readText())">Paste</button>
<button onclick="go(() => navigator.requestMIDIAccess({sysex: true}))">Midi</button>
<button onclick="go(() => navigator.mediaDevices.getUserMedia({video: true, audio: true}))">Camera</button>
<button onclick="go(() => navigator.mediaDevices.getDisplayMedia())">Screen</button>
<button onclick="go(() => document.body.requestPointerLock())">Pointer</button>
<button onclick="go(() => document.body.requestFullscreen())">Full</button>
<button onclick="go(() => showOpenFilePicker())">Open</button>
<button onclick="go(async () => { for (let i = 0; i < 1000; i++) print() })">Print</button>
<button onclick="go(async () => (await fetch('/private')).status)">Fetch</button>
<script>async function go(f) { p.textContent = 'waits'; try { p.textContent = 'answer: ' + await f() } catch (e) { p.textContent = 'refused: ' + e.name } }
addEventListener('load', () => print())</script>`
	challenge := func(w http.ResponseWriter) {
		w.Header().Set("WWW-Authenticate", `Basic realm="The \"Vault\"", charset="UTF-8"`)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, "<!doctype html><title>No</title>members only")
	}
	web.Handle("asks.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/private":
			challenge(w)
		case "/frame":
			fmt.Fprint(w, `<!doctype html><title>F</title><iframe src="https://framed.asks-other.test/" allow="geolocation" width=600 height=400></iframe><iframe src="/private"></iframe>`)
		default:
			fmt.Fprint(w, page)
		}
	}))
	serve("framed.asks-other.test", strings.ReplaceAll(page, "addEventListener('load'", "addEventListener('never'"))
	a := open(t, bellglass.SessionOptions{})
	a.has(a.goTo("https://asks.test/"), "Events: print ignored")
	for _, k := range []struct{ button, event, page string }{
		{"Where", "permission denied: geolocation", "answer: code 1"},
		{"Notify", "", "answer: denied"}, // headless shell has no notifications
		{"Paste", "permission denied: clipboard reading", "refused: NotAllowedError"},
		{"Midi", "permission denied: midi", "refused: NotAllowedError"},
		{"Camera", "permission denied: camera or microphone", "refused: NotAllowedError"},
		{"Screen", "permission denied: screen sharing", "refused: NotAllowedError"},
		{"Pointer", "permission denied: pointer lock", "refused: NotAllowedError"},
		{"Full", "permission denied: fullscreen", "refused: NotAllowedError"},
		{"Open", "file chooser cancelled", "refused: AbortError"},
		{"Print", "print ignored", "answer: undefined"},
		{"Fetch", `login prompt cancelled: "The \"Vault\""`, "answer: 401"},
	} {
		r := a.ok(a.click(`button "` + k.button))
		if !strings.Contains(r.events(), k.event) || strings.Count(r.events(), "print ignored") > 1 {
			t.Errorf("%s: events %q, want %q", k.button, r.events(), k.event)
		}
		state := a.ok(a.call("state", map[string]any{"full": true}))
		if !strings.Contains(state.Text, k.page) || strings.Contains(state.Text, "waits") {
			t.Errorf("%s: the page did not go on with %q:\n%s", k.button, k.page, state.Text)
		}
	}
	a.has(a.goTo("https://asks.test/frame"), "login prompt cancelled")
	a.has(a.ok(a.click(`button "Where`)), "permission denied: geolocation")
	r := a.ok(a.call("navigate", map[string]any{"url": "https://asks.test/private"}))
	a.has(r, "HTTP 401", "login prompt cancelled", "members only")
	for _, h := range web.Hits("asks.test") {
		if h.Header.Get("Authorization") != "" {
			t.Error("credentials were sent")
		}
	}
}

// TestNobodyElseTellsOfPrompts: what tells of them is out of a page's sight,
// and functions that were wrapped look and work as before.
func TestNobodyElseTellsOfPrompts(t *testing.T) {
	t.Parallel()
	a := open(t, bellglass.SessionOptions{})
	r := a.goTo(serve("sees.asks.test", `<!doctype html><title>Sees</title><p id=p></p><iframe srcdoc="x" id=f></iframe><script>
onload = () => {
	const names = [window, f.contentWindow].flatMap(w => Object.getOwnPropertyNames(w)).filter(n => /bellglass/i.test(n));
	p.textContent = [names.length, typeof bellglassAsked, print.name, print.length, String(print).includes('[native code]'), Geolocation.prototype.getCurrentPosition.length].join(' ');
}</script>`))
	a.has(r, "0 undefined print 0 true 1")
	if r.events() != "" {
		t.Errorf("events: %s", r.events())
	}
}
