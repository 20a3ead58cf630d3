package sealtest

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/tab"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
	"github.com/bellglass/bellglass/policy"
)

// binaries are the browsers of this machine: headless shell, full Chromium.
func binaries(t *testing.T) map[string]chrome.Binary {
	t.Helper()
	found := map[string]chrome.Binary{}
	for name, full := range map[string]bool{"shell": false, "full": true} {
		if bin, err := chrome.Find(chrome.FindOptions{Full: full}); err == nil && bin.Shell == !full {
			found[name] = bin
		}
	}
	if len(found) == 0 {
		t.Fatal("no browser")
	}
	return found
}

// asked is a proxy that notes what it is asked for.
type asked struct {
	*egress.Endpoint
	mu   sync.Mutex
	evts []egress.Event
}

// listening is a proxy with one endpoint; without rules it denies everything.
// Names and addresses are those of the lab.
func listening(t *testing.T, rules *policy.Config) *asked {
	t.Helper()
	a := &asked{}
	p := egress.NewProxy(&egress.Gate{}, egress.Options{OnEvent: func(ev egress.Event) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if ev.Kind == egress.EventDecision {
			a.evts = append(a.evts, ev)
		}
	}})
	t.Cleanup(func() { p.Close() })
	var err error
	if a.Endpoint, err = p.Listen(); err != nil {
		t.Fatal(err)
	}
	if rules != nil {
		r, err := policy.Compile(*rules)
		if err != nil {
			t.Fatal(err)
		}
		a.Assign(egress.NewRun(egress.RunConfig{Tenant: "test", ID: "run", Rules: r}))
	}
	return a
}

func (a *asked) events() []egress.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.evts)
}

// about returns the decisions about a host.
func (a *asked) about(host string) []egress.Event {
	return slices.DeleteFunc(a.events(), func(ev egress.Event) bool { return ev.Host != host })
}

// launch starts a browser without the library around it.
func launch(t *testing.T, o chrome.Options) *chrome.Process {
	t.Helper()
	p, err := chrome.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// show opens a page in the default context, which the library never does.
func show(t *testing.T, p *chrome.Process, url string) {
	t.Helper()
	if _, err := cdpt.Call(t.Context(), p.Browser, target.CreateTarget, target.CreateTargetParams{URL: url}); err != nil {
		t.Fatal(err)
	}
}

// soon reports whether something becomes true: what is to be seen takes a
// second, and on a busy machine a minute.
func soon(ok func() bool) bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}

// The probes of the seal: what a browser does by itself, or can be led to do,
// outside what a page's requests are. Each has its control.

// strays returns the packets that left the machine, except ARP, the browser's
// IGMP join, which no switch prevents, questions to the name server, and the
// proxy's connections to some hosts.
func strays(s *netlab.Sniffer, hosts ...string) []netlab.Packet {
	allowed := map[netip.Addr]bool{}
	for _, h := range hosts {
		allowed[web.Addr(h)], allowed[web.Addr6(h)] = true, true
	}
	return slices.DeleteFunc(s.Packets(), func(p netlab.Packet) bool {
		return p.Proto == "arp" || p.Proto == "igmp" && p.Dst.Addr() == netip.MustParseAddr("224.0.0.22") ||
			p.Proto == "udp" && p.Dst == netip.AddrPortFrom(netlab.DNSServer, 53) ||
			p.Proto == "tcp" && allowed[p.Dst.Addr()] && (p.Dst.Port() == 80 || p.Dst.Port() == 443)
	})
}

func sniff(t *testing.T, lab *netlab.Lab) *netlab.Sniffer {
	t.Helper()
	s, err := lab.Sniff()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// real makes a browser that resolves and dials in the lab, where the small
// internet is behind real names and addresses.
func real(t *testing.T, change func(*bellglass.Options)) *bellglass.Browser {
	t.Helper()
	return newBrowser(t, func(o *bellglass.Options) {
		o.Resolve, o.UnsafeDial = nil, nil
		change(o)
	})
}

// TestRefusedIsNotGoneAround: TEN-005 and NET-021. What is opened in the default
// context reaches the process's own proxy, which denies everything; Chromium
// takes its 403 for an answer and does not go there directly.
func TestRefusedIsNotGoneAround(t *testing.T) {
	lab := netlab.Need(t)
	dns := outside(t, lab)
	web.Handle("default.test", testweb.Site())
	for name, bin := range binaries(t) {
		t.Run(name, func(t *testing.T) {
			sniffer, questions := sniff(t, lab), len(dns.Queries())
			deny := listening(t, nil)
			p := launch(t, chrome.Options{Binary: bin, Proxy: deny.Addr().String()})
			for i := range 2 { // by the second the first has had time to be tried otherwise
				show(t, p, "http://default.test/tiny")
				show(t, p, "https://default.test/tiny")
				if !soon(func() bool { return len(deny.about("default.test")) >= 2*(i+1) }) {
					t.Fatal("the proxy was not asked")
				}
			}
			for _, ev := range deny.events() {
				if ev.Reason != policy.ReasonHost {
					t.Errorf("let through: %+v", ev)
				}
			}
			if out := strays(sniffer); len(out) > 0 || len(dns.Queries()) > questions || len(web.Hits("default.test")) > 0 {
				t.Errorf("gone around: %v, %v", out, dns.Queries()[questions:])
			}
		})
	}
	show(t, launch(t, chrome.Options{Binary: firstOf(binaries(t)), UnsafeNoSeal: true}), "http://default.test/tiny")
	if !soon(func() bool { return len(web.Hits("default.test")) > 0 }) {
		t.Error("the control did not arrive: the test above proves nothing")
	}
}

func firstOf(all map[string]chrome.Binary) chrome.Binary {
	if bin, ok := all["shell"]; ok {
		return bin
	}
	return all["full"]
}

// TestTheLibraryOpensNothingInTheDefaultContext: the other half of TEN-005. A
// target that belongs to no tab stays paused, before its first request.
func TestTheLibraryOpensNothingInTheDefaultContext(t *testing.T) {
	deny := listening(t, nil)
	host := tab.NewHost()
	p := launch(t, chrome.Options{Binary: firstOf(binaries(t)), Proxy: deny.Addr().String(), OnAttach: host.Attach})
	if err := host.Bind(t.Context(), p.Conn); err != nil {
		t.Fatal(err)
	}
	show(t, p, "http://default.test/tiny")
	own := listening(t, nil)
	made, err := host.Open(t.Context(), tab.Config{Proxy: own.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close(context.WithoutCancel(t.Context()))
	_, err = made.Read(t.Context(), tab.Request{URL: "http://elsewhere.test/", Timeout: 10 * time.Second, MaxBytes: 1 << 20, Header: egress.ReasonHeader})
	if len(own.about("elsewhere.test")) == 0 {
		t.Errorf("control: the tab asked for nothing (%v)", err)
	}
	if evs := deny.events(); len(evs) > 0 {
		t.Errorf("asked for %+v", evs)
	}
}

const forcePolicy, plainPolicy = "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--webrtc-ip-handling-policy=disable_non_proxied_udp"

// TestEachBrowserKnowsOneSpelling: NET-006 and NET-007. Of the two spellings of
// the switch that keeps WebRTC off UDP each browser knows one, and ignores the
// other silently. Sealed, both are passed; with the wrong one alone, STUN leaves.
func TestEachBrowserKnowsOneSpelling(t *testing.T) {
	lab := netlab.Need(t)
	outside(t, lab)
	web.Handle("webrtc.test", testweb.HTML(`<script>
		const p = new RTCPeerConnection({iceServers: [{urls: 'stun:8.8.4.4:3478'}]});
		p.createDataChannel('x');
		p.onicecandidate = e => { if (!e.candidate) fetch('/gathered') };
		p.createOffer().then(o => p.setLocalDescription(o));
	</script>`))
	gathered := func() (n int) {
		for _, h := range web.Hits("webrtc.test") {
			if h.Path == "/gathered" {
				n++
			}
		}
		return n
	}
	wrong := map[string]string{"shell": plainPolicy, "full": forcePolicy}
	for name, bin := range binaries(t) {
		t.Run(name, func(t *testing.T) {
			proxy := listening(t, &policy.Config{Mode: policy.ModePublic, AllowInsecureHTTP: true})
			sniffer, before := sniff(t, lab), gathered()
			p := launch(t, chrome.Options{Binary: bin, Proxy: proxy.Addr().String()})
			show(t, p, "http://webrtc.test/")
			if !soon(func() bool { return gathered() > before }) {
				t.Fatal("the page did not come to its end")
			}
			if sent(sniffer, "udp", "8.8.4.4") {
				t.Error("STUN left the machine")
			}
			p.Close()
			p = launch(t, chrome.Options{Binary: bin, UnsafeNoSeal: true, UnsafeFlags: []string{
				"--proxy-server=http://" + proxy.Addr().String(), "--proxy-bypass-list=<-loopback>", "--disable-quic", wrong[name],
			}})
			show(t, p, "http://webrtc.test/")
			if !soon(func() bool { return sent(sniffer, "udp", "8.8.4.4") }) {
				t.Error("with the wrong spelling alone nothing left: the test above proves nothing, or Chromium has learnt it")
			}
		})
	}
}

// TestNoQUIC: NET-010. Neither what a site says of itself (Alt-Svc) nor even a
// switch that demands it leads to QUIC.
func TestNoQUIC(t *testing.T) {
	lab := netlab.Need(t)
	outside(t, lab)
	web.Handle("quic.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Alt-Svc", `h3=":443"; ma=9999, h3="93.184.216.99:443"; ma=9999`)
		testweb.HTML(`<p>page text<script>for (let i = 0; i < 3; i++) fetch('/?' + i)</script>`).ServeHTTP(w, r)
	}))
	const demand = "--origin-to-force-quic-on=quic.test:443"
	quic := func(s *netlab.Sniffer) bool {
		return slices.ContainsFunc(s.Packets(), func(p netlab.Packet) bool { return p.Proto == "udp" && p.Dst.Port() == 443 })
	}
	sniffer := sniff(t, lab)
	b := real(t, func(o *bellglass.Options) { o.UnsafeBrowserFlags = append(o.UnsafeBrowserFlags, demand) })
	for range 2 {
		if res := browse(t, b, "https://quic.test/"); res.Text != "page text" {
			t.Errorf("got %s %s %q", res.Status, res.Reason, res.Text)
		}
	}
	if out := strays(sniffer, "quic.test"); len(out) > 0 {
		t.Errorf("left the machine: %v", out)
	}
	b.Close()
	show(t, launch(t, chrome.Options{Binary: firstOf(binaries(t)), UnsafeNoSeal: true, UnsafeFlags: []string{demand}}), "https://quic.test/")
	if !soon(func() bool { return quic(sniffer) }) {
		t.Error("the control sent no QUIC: the test above proves nothing")
	}
}

// TestIdleBrowsersAreSilent: NET-016 and NET-017. Headless shell asks for nothing
// at all; what full Chromium asks for is refused. Neither sends a packet. With
// BELLGLASS_SOAK the silence is a minute, as in the cases, else some seconds.
func TestIdleBrowsersAreSilent(t *testing.T) {
	lab := netlab.Need(t)
	dns := outside(t, lab)
	silence := 2 * time.Second
	if os.Getenv("BELLGLASS_SOAK") != "" {
		silence = time.Minute
	}
	all := binaries(t)
	for name, bin := range all {
		t.Run(name, func(t *testing.T) {
			sniffer, questions := sniff(t, lab), len(dns.Queries())
			deny := listening(t, nil)
			p := launch(t, chrome.Options{Binary: bin, Proxy: deny.Addr().String()})
			select {
			case <-time.After(silence):
			case <-p.Exited():
				t.Fatal("the browser has ended")
			}
			for _, ev := range deny.events() {
				if bin.Shell || ev.Reason != policy.ReasonHost {
					t.Errorf("asked for %s:%d: %q", ev.Host, ev.Port, ev.Reason)
				}
			}
			if out := strays(sniffer); len(out) > 0 || len(dns.Queries()) > questions {
				t.Errorf("left the machine: %v %v", out, dns.Queries()[questions:])
			}
		})
	}
	full, ok := all["full"]
	if !ok {
		return
	}
	questions := len(dns.Queries())
	launch(t, chrome.Options{Binary: full, UnsafeNoSeal: true})
	if !soon(func() bool { return len(dns.Queries()) > questions }) {
		t.Error("full Chromium without the seal asked for nothing: the test above proves nothing about it")
	}
}

// TestProxiesOfTheEnvironmentAreIgnored: NET-019. What the environment says of
// proxies does not reach the browser, and would not win if it did.
func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	canary := testweb.NewCanary(t)
	env := []string{
		"http_proxy=" + canary.URL(), "https_proxy=" + canary.URL(), "all_proxy=" + canary.URL(), "no_proxy=",
		"auto_proxy=" + canary.URL() + "proxy.pac",
	}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
		t.Setenv(strings.ToUpper(name), value)
	}
	b := newBrowser(t, func(*bellglass.Options) {})
	for _, url := range []string{"http://site.test/tiny", "https://site.test/tiny"} {
		if res := browse(t, b, url); res.Status != bellglass.StatusOK {
			t.Errorf("%s: got %s %s", url, res.Status, res.Reason)
		}
	}
	b.Close()
	if hits := canary.Hits(); len(hits) > 0 {
		t.Error("the proxy of the environment was used:", hits)
	}
	// Without our environment around it, the switch alone, and then neither.
	// Headless shell knows no proxy of the environment.
	bin, ok := binaries(t)["full"]
	if !ok {
		t.Log("no full Chromium on this machine; headless shell has no control")
		return
	}
	proxy := listening(t, nil)
	bare := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), bin.Path, append(args, "--headless", "--no-sandbox", "--user-data-dir="+t.TempDir(), "--dump-dom", "http://elsewhere.test/")...)
		cmd.Env = append(env, "PATH=/usr/bin:/bin", "HOME="+t.TempDir())
		cmd.Stdout = io.Discard
		cmd.Run()
	}
	bare("--proxy-server=http://" + proxy.Addr().String())
	if len(proxy.about("elsewhere.test")) == 0 || len(canary.Hits()) > 0 {
		t.Errorf("the switch did not win: asked for %v, %v", proxy.events(), canary.Hits())
	}
	bare()
	if len(canary.Hits()) == 0 {
		t.Error("the control did not use the environment: the test above proves nothing")
	}
}
