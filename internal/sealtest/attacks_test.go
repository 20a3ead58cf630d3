package sealtest

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
	"github.com/bellglass/bellglass/policy"
)

// TestURLsAreRefusedBeforeAnyBrowserWork: no browser is started for these.
func TestURLsAreRefusedBeforeAnyBrowserWork(t *testing.T) {
	s := &suite.Starts{}
	b := newBrowser(t, func(o *bellglass.Options) {
		s.Watch(o)
		o.Mode, o.Allow = policy.ModeAllowlist, []string{"allowed.test"}
	})
	before := len(web.Resolved())
	for _, k := range []struct {
		id, url string
		reason  bellglass.Reason
	}{
		{"SCH-001 file", "file:///etc/passwd", bellglass.ReasonScheme},
		{"SCH-003 view-source", "view-source:https://allowed.test/", bellglass.ReasonScheme},
		{"SCH-004 chrome", "chrome://version", bellglass.ReasonScheme},
		{"SCH-005 devtools", "devtools://devtools/bundled/inspector.html", bellglass.ReasonScheme},
		{"SCH-006 extension", "chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html", bellglass.ReasonScheme},
		{"SCH-008 data", "data:text/html,<p>x", bellglass.ReasonScheme},
		{"SCH-009 javascript", "javascript:document.write(1)", bellglass.ReasonScheme},
		{"SCH-009 disguised", "\tJaVaScRiPt:alert(1)", bellglass.ReasonInvalidURL},
		{"SCH-010 blob", "blob:https://allowed.test/1234", bellglass.ReasonScheme},
		{"SCH-010 filesystem", "filesystem:https://allowed.test/temporary/x", bellglass.ReasonScheme},
		{"SCH-011 about", "about:version", bellglass.ReasonScheme},
		{"SCH-011 srcdoc", "about:srcdoc", bellglass.ReasonScheme},
		{"SCH-013 mailto", "mailto:a@allowed.test", bellglass.ReasonScheme},
		{"SCH-013 intent", "intent://x#Intent;end", bellglass.ReasonScheme},
		{"URL-001 user information", "https://allowed.test@evil.test/", bellglass.ReasonCredentials},
		{"URL-004 fragment", "https://evil.test/#@allowed.test", bellglass.ReasonHost},
		{"URL-006 backslash", `https://allowed.test\@evil.test/`, bellglass.ReasonInvalidURL},
		{"URL-008 one slash", "https:/allowed.test/", bellglass.ReasonInvalidURL},
		{"URL-033 relative", "//allowed.test/x", bellglass.ReasonInvalidURL},
		{"URL-034 long", "https://allowed.test/" + strings.Repeat("x", 9000), bellglass.ReasonURLTooLong},
		{"IP-001 decimal", "http://2130706433/", bellglass.ReasonAddress},
		{"IP-002 hexadecimal", "http://0x7f.1/", bellglass.ReasonAddress},
		{"IP-003 octal", "http://0177.0.0.1/", bellglass.ReasonAddress},
		{"IP-008 metadata", "http://2852039166/", bellglass.ReasonAddress},
		{"IP-092 public literal", "http://93.184.216.34/", bellglass.ReasonHost},
		{"EXF-001 a secret in the query", "https://evil.test/?d=secret", bellglass.ReasonHost},
	} {
		res := browse(t, b, k.url)
		if res.Status != bellglass.StatusRejected || res.Reason != k.reason {
			t.Errorf("%s: got %s %s, want %s", k.id, res.Status, res.Reason, k.reason)
		}
	}
	if n := len(s.PIDs()); n > 0 {
		t.Errorf("%d browsers were started", n)
	}
	if names := web.Resolved()[before:]; len(names) > 0 {
		t.Errorf("resolved: %v", names)
	}
}

// TestPagesReachOnlyListedHosts lets a page of a listed host try one way out
// after the other. Sealed, the other host must not even be resolved. The
// control is the same page with the other host listed: then it is reached,
// except by what is refused whoever is asked.
func TestPagesReachOnlyListedHosts(t *testing.T) {
	for _, host := range []string{"allowed.test", "evil.test"} {
		web.Handle(host, testweb.Site())
	}
	sealed := newBrowser(t, func(o *bellglass.Options) {
		o.Mode, o.Allow = policy.ModeAllowlist, []string{"allowed.test"}
	})
	open := newBrowser(t, func(o *bellglass.Options) {
		o.Mode, o.Allow, o.Resources = policy.ModeAllowlist, []string{"allowed.test"}, []string{"evil.test"}
	})
	for _, k := range []struct {
		id      string
		vectors []string
		never   bool // not even the control gets out, because
	}{
		{"FRM-001 frames", []string{"iframe"}, false},
		{"FRM-002 frames without an address", []string{"frame-refresh", "frame-base"}, false},
		{"FRM-003 popup", []string{"open"}, true},                         // popups are closed before they ask
		{"FRM-004 popup without opener", []string{"open-noopener"}, true}, // the same
		{"FRM-005 workers", []string{"worker-fetch", "worker-import", "worker-nested"}, false},
		{"FRM-006 shared worker", []string{"worker-shared"}, false},
		{"FRM-007 service worker", []string{"service-worker-fetch"}, true}, // its script is refused
		{"FRM-009 worklets", []string{"worklet", "audio-worklet"}, false},
		{"FRM-010 object and embed", []string{"object", "embed"}, false},
		{"fetches", []string{"fetch", "fetch-post", "xhr"}, false},
		{"NET-013 beacons", []string{"beacon", "ping", "fetch-keepalive", "event-source", "csp-report"}, false},
		{"NET-009 WebTransport", []string{"webtransport"}, true}, // does not go through a proxy
		{"scripts and styles", []string{"script", "module", "stylesheet", "css-import"}, false},
		{"pictures", []string{"img", "css-url", "svg-image"}, true}, // dropped when reading
		{"hints", []string{"prefetch", "modulepreload", "preconnect", "speculate-prefetch"}, false},
		{"forms", []string{"form"}, false},
		{"WebSocket", []string{"websocket", "worker-socket"}, false},
	} {
		t.Run(k.id, func(t *testing.T) {
			path := testweb.Hostile{Targets: []string{"https://evil.test/tiny"}, Only: k.vectors}.Path()
			count := func() int { return len(web.Hits("evil.test")) }
			names := func() int {
				return len(slices.DeleteFunc(web.Resolved(), func(n string) bool { return n != "evil.test" }))
			}
			hits, asked := count(), names()
			res := browse(t, sealed, "https://allowed.test"+path)
			if res.Status != bellglass.StatusOK || !strings.Contains(res.Text, "probing finished") {
				t.Errorf("the page did not come to its end: %s %s\n%s", res.Status, res.Reason, res.Text)
			}
			if count() > hits || names() > asked {
				t.Error("evil.test was reached, or looked up")
			}
			browse(t, open, "https://allowed.test"+path)
			if reached := names() > asked; reached == k.never {
				t.Errorf("the control reached evil.test: %v, expected %v", reached, !k.never)
			}
		})
	}
}

func TestWebSockets(t *testing.T) {
	canary := testweb.NewCanary(t)
	web.Handle("sockets.test", testweb.Site())
	local := "ws://127.0.0.1:" + port(canary) + "/"
	web.Handle("ws.test", testweb.HTML(`<p id=p>waiting<script>
		const s = new WebSocket(new URLSearchParams(location.search).get('to'));
		s.onmessage = e => { p.textContent = 'spoke' }; s.onerror = () => { p.textContent = 'refused' };
	</script>`))
	for _, k := range []struct{ id, page, to, want string }{
		{"WS-001 wss to an allowed host", "https://ws.test/", "wss://sockets.test/socket", "spoke"},
		{"WS-003 ws to an allowed host", "http://ws.test/", "ws://sockets.test/socket", "refused"},
		{"WS-005 ws to loopback", "http://ws.test/", local, "refused"},
	} {
		res := browse(t, bg, k.page+"?to="+k.to)
		if res.Text != k.want {
			t.Errorf("%s: %s %q, want %q", k.id, res.Status, res.Text, k.want)
		}
	}
	if hits := canary.Hits(); len(hits) > 0 {
		t.Error("WS-005: the sentinel was reached:", hits)
	}
}

// TestLocalFilesStayOut: SCH-015 and SCH-018.
func TestLocalFilesStayOut(t *testing.T) {
	name, err := os.ReadFile("/etc/hostname")
	if err != nil || len(strings.TrimSpace(string(name))) < 2 {
		name = []byte("root:x:0")
	}
	secret := strings.TrimSpace(string(name))
	for id, script := range map[string]string{
		"SCH-015 location":    `location.href = 'file:///etc/hostname'`,
		"SCH-015 window.open": `window.open('file:///etc/hostname')`,
		"SCH-015 frame":       `document.body.append(Object.assign(document.createElement('iframe'), {src: 'file:///etc/hostname'}))`,
		"SCH-015 fetch":       `fetch('file:///etc/hostname').then(r => r.text()).then(x => p.append(x), () => p.append(' no'))`,
		"SCH-018 file picker": `showOpenFilePicker().then(() => p.append(' picked'), () => p.append(' no'))`,
		"SCH-018 folder":      `showDirectoryPicker().then(() => p.append(' picked'), () => p.append(' no'))`,
	} {
		host := strings.ToLower(strings.NewReplacer(" ", "-", ".", "-").Replace(id)) + ".test"
		web.Handle(host, testweb.HTML(`<p id=p>page text</p><script>`+script+`</script>`))
		res := browse(t, bg, "https://"+host+"/")
		if !strings.Contains(res.Text, "page text") || strings.Contains(res.Text, "picked") {
			t.Errorf("%s: %s %s %q", id, res.Status, res.Reason, res.Text)
		}
		if strings.Contains(strings.ReplaceAll(res.Text, "page text", ""), secret) {
			t.Errorf("%s: local text in %q", id, res.Text)
		}
	}
}

// TestDownloadsAreRefused: nothing may be written to disk.
func TestDownloadsAreRefused(t *testing.T) {
	web.Handle("files.test", testweb.Site())
	web.Handle("many.test", testweb.HTML(`<p>page text</p><script>
		const b = new Blob(['x']);
		for (let i = 0; i < 200; i++) {
			const a = document.createElement('a');
			a.href = i % 2 ? URL.createObjectURL(b) : 'https://files.test/download?name=n.bin';
			a.download = 'f' + i; document.body.append(a); a.click();
		}
	</script>`))
	for _, k := range []struct {
		id, url string
		status  bellglass.Status
		reason  bellglass.Reason
	}{
		{"DL-001 attachment", "https://files.test/download?name=report.bin", bellglass.StatusRejected, bellglass.ReasonDownload},
		{"DL-002 by script, 200 times", "https://many.test/", bellglass.StatusOK, ""},
		{"DL-003 PDF", "https://files.test/raw?type=pdf", bellglass.StatusError, bellglass.ReasonContent},
		{"DL-005 SVG", "https://files.test/raw?type=svg", bellglass.StatusOK, ""},
		{"afterwards", "https://files.test/tiny", bellglass.StatusOK, ""},
	} {
		res := browse(t, bg, k.url)
		if res.Status != k.status || res.Reason != k.reason {
			t.Errorf("%s: got %s %s %v", k.id, res.Status, res.Reason, res.Err)
		}
	}
	for _, dir := range []string{os.TempDir(), "."} {
		found, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, f := range found {
			base := filepath.Base(f)
			if strings.HasSuffix(base, ".crdownload") || base == "report.bin" || base == "n.bin" || base == "f1" {
				t.Error("on disk:", f)
			}
		}
	}
}

// TestChallengesAreCancelled: CRD-004 and CRD-005. No prompt, no credentials.
func TestChallengesAreCancelled(t *testing.T) {
	for id, challenge := range map[string]string{
		"CRD-004 Basic": `Basic realm="x"`, "CRD-004 Digest": `Digest realm="x", nonce="1"`, "CRD-005 Negotiate": "Negotiate", "CRD-005 NTLM": "NTLM",
	} {
		host := strings.ToLower(strings.ReplaceAll(id, " ", "-")) + ".test"
		web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", challenge)
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusUnauthorized)
			w.Write([]byte("<p>members only"))
		}))
		for _, scheme := range []string{"http://", "https://"} {
			res := browse(t, bg, scheme+host+"/")
			if res.Status != bellglass.StatusOK || res.HTTPStatus != 401 || !strings.Contains(res.Text, "members only") {
				t.Errorf("%s: %s %s %d %q", id, res.Status, res.Reason, res.HTTPStatus, res.Text)
			}
		}
		for _, h := range web.Hits(host) {
			if a := h.Header.Get("Authorization"); a != "" {
				t.Errorf("%s: sent %q", id, a)
			}
		}
	}
}

// TestNextRunFindsNothing: TEN-006 and FRM-008; see also TestRunsLeaveNothing.
func TestNextTenantFindsNothing(t *testing.T) {
	web.Handle("shared.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=9999")
		w.Header().Set("Cache-Control", "max-age=9999")
		http.SetCookie(w, &http.Cookie{Name: "who", Value: "a", MaxAge: 999})
		testweb.HTML(`<p id=p></p><script>
			p.textContent = [document.cookie.includes('seen'), localStorage.seen, navigator.serviceWorker && !!navigator.serviceWorker.controller].join(' ');
			document.cookie = 'seen=1;max-age=999'; localStorage.seen = 1;
		</script>`).ServeHTTP(w, r)
	}))
	for _, tenant := range []string{"a", "a", "b"} {
		before := len(web.Hits("shared.test"))
		res, err := bg.Browse(t.Context(), bellglass.Request{Principal: bellglass.Principal{Tenant: tenant, Run: "1"}, URL: "https://shared.test/"})
		if err != nil || res.Text != "false false" && res.Text != "false  false" {
			t.Errorf("%s: %v %s %q", tenant, err, res.Reason, res.Text)
		}
		hits := web.Hits("shared.test")[before:]
		if len(hits) == 0 {
			t.Errorf("%s: the page came from a cache", tenant)
		}
		for _, h := range hits {
			if c := h.Header.Get("Cookie"); c != "" {
				t.Errorf("%s: sent the cookie %q", tenant, c)
			}
		}
		// HSTS learned by one run must not turn the next one's http into https.
		if res := browse(t, bg, "http://shared.test/"); !strings.HasPrefix(res.FinalURL, "http://") {
			t.Errorf("%s: %s", tenant, res.FinalURL)
		}
	}
}
