package sealtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
	"github.com/bellglass/bellglass/policy"
)

// connections notes the hosts that a browser's proxy was asked for.
type connections struct {
	mu    sync.Mutex
	hosts []string
}

func (c *connections) watch(o *bellglass.Options) {
	o.OnConnection = func(ev egress.Event) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if ev.Kind == egress.EventDecision && !slices.Contains(c.hosts, ev.Host) {
			c.hosts = append(c.hosts, ev.Host)
		}
	}
}

func (c *connections) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.hosts
	c.hosts = nil
	return out
}

// TestPowersThatPagesDoNotHave: NET-022, NET-024, NET-025 and EXF-011. Each is
// asked for, none is granted, and nobody is asked for anything outside. What is
// absent is refused as well. The control is the last row.
func TestPowersThatPagesDoNotHave(t *testing.T) {
	web.Handle("elsewhere.test", testweb.Site())
	var asked connections
	b := newBrowser(t, asked.watch)
	for _, k := range []struct{ id, script, want string }{
		{"NET-022 speech", `const r = new (window.SpeechRecognition || window.webkitSpeechRecognition)(); r.start(); return new Promise((yes, no) => { r.onstart = yes; r.onerror = no })`, ""},
		{"NET-022 translator", `return Translator.create({sourceLanguage: 'en', targetLanguage: 'de'})`, ""},
		{"NET-022 language model", `return LanguageModel.create()`, ""},
		{"NET-022 summarizer", `return Summarizer.create()`, ""},
		{"NET-022 push", `const r = await navigator.serviceWorker.register('/tiny'); return r.pushManager.subscribe({userVisibleOnly: true, applicationServerKey: new Uint8Array(65)})`, ""},
		{"NET-022 notification", `if (await Notification.requestPermission() !== 'granted') throw 0`, ""},
		{"NET-024 WebAuthn", `return navigator.credentials.create({publicKey: {challenge: new Uint8Array(16), rp: {name: 'x'}, user: {id: new Uint8Array(8), name: 'x', displayName: 'x'}, pubKeyCredParams: [{type: 'public-key', alg: -7}]}})`, ""},
		{"NET-024 passkey", `const c = await navigator.credentials.get({publicKey: {challenge: new Uint8Array(16)}}); if (!c) throw 0`, ""},
		{"NET-024 password", `const c = await navigator.credentials.get({password: true}); if (!c) throw 0`, ""},
		{"NET-024 payment", `return new PaymentRequest([{supportedMethods: 'https://elsewhere.test/pay'}], {total: {label: 'x', amount: {currency: 'EUR', value: '1'}}}).show()`, ""},
		{"NET-025 protocol handler", `navigator.registerProtocolHandler('web+x', '/tiny?%s'); location.href = 'web+x:1'; throw 0`, ""},
		{"NET-025 related apps", `const a = await navigator.getInstalledRelatedApps(); if (!a.length) throw 0`, ""},
		{"NET-025 installation", `const l = document.createElement('link'); l.rel = 'manifest'; l.href = 'https://elsewhere.test/manifest'; document.head.append(l); return new Promise(yes => { window.onbeforeinstallprompt = e => yes(e.prompt()) })`, ""},
		{"EXF-011 clipboard", `return navigator.clipboard.readText()`, ""},
		{"EXF-011 clipboard, written first", `await navigator.clipboard.writeText('x'); return navigator.clipboard.readText()`, ""},
		{"EXF-011 pasting", `const i = document.createElement('textarea'); document.body.append(i); i.focus(); if (!document.execCommand('paste')) throw 0`, ""},
		{"location", `return new Promise((yes, no) => navigator.geolocation.getCurrentPosition(yes, no))`, ""},
		{"control", `return fetch('https://elsewhere.test/tiny', {mode: 'no-cors'})`, "elsewhere.test"},
	} {
		host := strings.ToLower(strings.NewReplacer(" ", "-", ",", "").Replace(k.id)) + ".power.test"
		web.Handle(host, testweb.HTML(`<p id=p>page text</p><script>
			const late = new Promise((_, no) => setTimeout(no, 2000));
			Promise.race([(async () => { `+k.script+` })(), late]).then(() => p.append(' granted'), () => p.append(' refused'));
		</script>`))
		want := "page text refused"
		if k.want != "" {
			want = "page text granted"
		}
		if res := browse(t, b, "https://"+host+"/"); res.Text != want {
			t.Errorf("%s: got %s %s %q, want %q", k.id, res.Status, res.Reason, res.Text, want)
		}
		others := slices.DeleteFunc(asked.take(), func(h string) bool { return h == host })
		if got := strings.Join(others, " "); got != k.want {
			t.Errorf("%s: asked for %q, want %q", k.id, got, k.want)
		}
	}
}

// TestFederatedSignInAsksNobody: NET-014. The control is a browser in which the
// feature has not been switched off.
func TestFederatedSignInAsksNobody(t *testing.T) {
	web.Handle("signin.test", testweb.Site())
	web.Handle("identity.test", testweb.Site())
	page := "https://signin.test" + testweb.Hostile{Targets: []string{"https://identity.test/fedcm.json"}, Only: []string{"fedcm"}}.Path()
	var asked connections
	b := newBrowser(t, asked.watch)
	if res := browse(t, b, page); !strings.Contains(res.Text, "probing finished") {
		t.Errorf("got %s %s %q", res.Status, res.Reason, res.Text)
	}
	if got := asked.take(); slices.Contains(got, "identity.test") {
		t.Errorf("asked for %q", got)
	}
	b.Close()
	b = newBrowser(t, func(o *bellglass.Options) {
		asked.watch(o)
		o.UnsafeBrowserFlags = append(o.UnsafeBrowserFlags, "--disable-features=Prerender2", "--enable-features=FedCm")
	})
	browse(t, b, page)
	if got := asked.take(); !slices.Contains(got, "identity.test") {
		t.Errorf("the control asked for %q only: the test above proves nothing", got)
	}
}

// TestSourceMapsAreNotFetched: NET-026. The control is a script at the same
// place, which is fetched where that place is open.
func TestSourceMapsAreNotFetched(t *testing.T) {
	canary := testweb.NewCanary(t)
	web.Handle("maps.test", testweb.HTML(`<p>page text<script>throw new Error('x')
//# sourceMappingURL=`+canary.URL()+`page.map
</script><style>p { color: red }
/*# sourceMappingURL=`+canary.URL()+`style.map */</style>`))
	web.Handle("scripts.test", testweb.HTML(`<p>page text<script src="`+canary.URL()+`page.js"></script>`))
	open := newBrowser(t, func(o *bellglass.Options) {
		o.UnsafeAllow = []string{canary.HostPort()}
		o.UnsafeDial = dialLoopback(canary, o.UnsafeDial)
	})
	if res := browse(t, open, "http://maps.test/"); res.Text != "page text" {
		t.Errorf("got %s %s %q", res.Status, res.Reason, res.Text)
	}
	if hits := canary.Hits(); len(hits) > 0 {
		t.Error("fetched:", hits)
	}
	browse(t, open, "http://scripts.test/")
	if len(canary.Hits()) == 0 {
		t.Error("the control was not fetched: the test above proves nothing")
	}
}

// TestSitesLearnNothingOfTheMachine: CRD-008. What a site sees of the machine is
// the address of the proxy: no candidate of WebRTC, no multicast, and no name of
// the machine in headers, in TLS or in what script can find out.
func TestSitesLearnNothingOfTheMachine(t *testing.T) {
	lab := netlab.Need(t)
	outside(t, lab)
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	const page = `<p id=p></p><script>
		const seen = [navigator.userAgent, navigator.platform, location.host, history.length];
		const peer = new RTCPeerConnection();
		peer.createDataChannel('x');
		const tell = what => { seen.push(what); fetch('/seen', {method: 'POST', body: seen.join('\n')}); p.textContent = 'told' };
		peer.onicecandidate = e => { if (e.candidate) tell(e.candidate.candidate) };
		peer.createOffer().then(o => { tell(o.sdp); return peer.setLocalDescription(o) });
	</script><script src="/hold"></script>`
	var mu sync.Mutex
	var reports []string
	web.Handle("curious.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		reports = append(reports, fmt.Sprint(r.Header, " ", string(b)))
		mu.Unlock()
		switch r.URL.Path {
		case "/hold": // keeps the parser waiting while candidates are gathered
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
			}
		default:
			testweb.HTML(page).ServeHTTP(w, r)
		}
	}))
	web.HandleConn("hello.test", 443, func(c net.Conn) {
		defer c.Close()
		b := make([]byte, 4096)
		n, _ := c.Read(b)
		mu.Lock()
		defer mu.Unlock()
		reports = append(reports, string(b[:n]))
	})
	taken := func() string {
		mu.Lock()
		defer mu.Unlock()
		out := strings.Join(reports, "\n")
		reports = nil
		return out
	}
	sniffer := sniff(t, lab)
	b := real(t, func(o *bellglass.Options) {})
	res := browse(t, b, "http://curious.test/")
	if res.Text != "told" {
		t.Errorf("the page did not come to its end: %s %s %q", res.Status, res.Reason, res.Text)
	}
	browse(t, b, "https://hello.test/")
	said := taken()
	if !strings.Contains(said, "hello.test") {
		t.Error("control: no ClientHello was seen")
	}
	for _, never := range []string{name, ".local", " typ host", netlab.Addr4.String(), "Via", "Forwarded", "Proxy"} {
		if strings.Contains(said, never) {
			t.Errorf("the site learnt %q: %q", never, said)
		}
	}
	if out := strays(sniffer, "curious.test", "hello.test"); len(out) > 0 {
		t.Errorf("left the machine: %v", out)
	}
	b.Close()
	show(t, launch(t, chrome.Options{Binary: firstOf(binaries(t)), UnsafeNoSeal: true}), "http://curious.test/")
	if !soon(func() bool { return strings.Contains(taken(), " typ host") }) {
		t.Error("the control gathered no candidate: the test above proves nothing")
	}
	if !soon(func() bool {
		return slices.ContainsFunc(sniffer.Packets(), func(p netlab.Packet) bool { return p.Proto == "udp" && p.Dst.Port() == 5353 })
	}) {
		t.Error("the control sent no mDNS: the test above proves nothing")
	}
}

// TestDownloadsWithHostileNames: DL-006. Downloads are never enabled, whatever
// the file is called; the name stands in no result and on no disk.
func TestDownloadsWithHostileNames(t *testing.T) {
	for i, name := range []string{`../../evil.bin`, `..\..\evil.bin`, "evil\x00.bin", `/tmp/evil.bin`, `evil.bin%00.txt`} {
		host := fmt.Sprintf("names-%d.test", i)
		web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Disposition"] = []string{`attachment; filename="` + strings.ReplaceAll(name, "\x00", "%00") + `"; filename*=UTF-8''` + "..%2F..%2Fevil%00.bin"}
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Write(make([]byte, 1000))
		}))
		res := browse(t, bg, "https://"+host+"/")
		if res.Status != bellglass.StatusRejected || res.Reason != bellglass.ReasonDownload || strings.Contains(res.Hint+res.Text+res.Title, "evil") {
			t.Errorf("%q: got %s %s %q", name, res.Status, res.Reason, res.Hint)
		}
	}
	for _, dir := range []string{".", "..", os.TempDir(), "/tmp", "/"} {
		if found, _ := filepath.Glob(filepath.Join(dir, "evil*")); len(found) > 0 {
			t.Error("on disk:", found)
		}
	}
}

// TestClickedFileLinksGoNowhere: SCH-016, with a click by script, which is as
// good as a person's here: it is the page's own origin that may not.
func TestClickedFileLinksGoNowhere(t *testing.T) {
	for i, attrs := range []string{``, `target=_blank`, `target=f`} {
		host := fmt.Sprintf("files-%d.test", i)
		web.Handle(host, testweb.HTML(`<p id=p>page text <a id=a href="file:///etc/passwd" `+attrs+`>link</a><iframe name=f></iframe><script>
			a.click(); setTimeout(() => p.append(' and its end'), 500);
		</script>`))
		res := browse(t, bg, "https://"+host+"/")
		if res.Status != bellglass.StatusOK || !strings.Contains(res.Text, "and its end") || strings.Contains(res.Text, "root:") || !strings.HasPrefix(res.FinalURL, "https://"+host) {
			t.Errorf("%q: got %s %s %s %q", attrs, res.Status, res.Reason, res.FinalURL, res.Text)
		}
	}
}

// TestLinksAreBounded: EXF-006.
func TestLinksAreBounded(t *testing.T) {
	var page strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&page, `<a href="https://evil.test/?token=%d-%s">%d</a> `, i, strings.Repeat("x", 500), i)
	}
	web.Handle("links.test", testweb.HTML(page.String()))
	res, err := bg.Links(t.Context(), bellglass.Request{Principal: who, URL: "https://links.test/"})
	size := 0
	for _, l := range res.Links {
		size += len(l.Text) + len(l.URL)
	}
	if err != nil || res.Status != bellglass.StatusOK || len(res.Links) == 0 || len(res.Links) > 100 || size > bellglass.DefaultTextLimit ||
		!res.Truncated || res.NextOffset != len(res.Links) {
		t.Errorf("got %v %s %s, %d links of %d characters, next %d", err, res.Status, res.Reason, len(res.Links), size, res.NextOffset)
	}
}

// TestLoopbackBypassCase runs eg01 of the pages: loopback in every spelling, by
// pictures, fetches, frames and sockets. The control has a proxy, and lacks the
// rule that makes Chromium use it for loopback.
func TestLoopbackBypassCase(t *testing.T) {
	cases, err := testweb.LoadCases("../../testdata/cases/pages")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(cases, func(c *testweb.Case) bool { return c.ID == "eg01-loopback-bypass" })
	if i < 0 {
		t.Fatal("no such case")
	}
	web.Handle("eg01.test", cases[i].Handler())
	canary := testweb.NewCanary(t)
	url := fmt.Sprintf("http://eg01.test/?c=%d", canary.Port())
	var mu sync.Mutex
	refused := 0
	b := newBrowser(t, func(o *bellglass.Options) {
		o.CallTimeout, o.NavigationTimeout = time.Minute, 30*time.Second // 36 attempts are much for a busy machine
		o.OnConnection = func(ev egress.Event) {
			mu.Lock()
			defer mu.Unlock()
			if ev.Kind == egress.EventDecision && ev.Reason != "" {
				refused++
			}
		}
	})
	// What becomes of the page is not the point, and a busy machine may find its
	// many frames too much.
	res := browse(t, b, url)
	mu.Lock()
	if want := cases[i].Expect.ProxyRefusalsAtLeast; refused < want || want == 0 {
		t.Errorf("%d refusals, want at least %d (%s %s)", refused, want, res.Status, res.Reason)
	}
	mu.Unlock()
	if hits := canary.Hits(); len(hits) > 0 {
		t.Error("the canary was reached:", hits)
	}
	outside(t, netlab.Need(t))
	proxy := listening(t, &policy.Config{Mode: policy.ModePublic, AllowInsecureHTTP: true})
	p := launch(t, chrome.Options{Binary: firstOf(binaries(t)), UnsafeNoSeal: true, UnsafeFlags: []string{"--proxy-server=http://" + proxy.Addr().String()}})
	show(t, p, url)
	if !soon(func() bool { return len(canary.Hits()) > 0 }) {
		t.Error("the control did not reach the canary: the test above proves nothing")
	}
}
