package sealtest

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/cdp"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
	"github.com/bellglass/bellglass/internal/testweb/suite"
	"github.com/bellglass/bellglass/policy"
)

// dials is a script that tries what a browser without any switch leaves open.
const dials = `(async () => {
	const quietly = p => Promise.race([Promise.resolve(p).catch(() => 0), new Promise(r => setTimeout(r, 1500))])
	const pc = new RTCPeerConnection({iceServers: [{urls: 'stun:8.8.4.4:3478'}]})
	pc.createDataChannel('x')
	await pc.setLocalDescription(await pc.createOffer())
	for (const u of ['http://169.254.169.254/', 'http://10.0.0.1/', 'http://127.0.0.1:%[1]s/', 'http://[::1]:%[1]s/', 'http://[fd00:ec2::254]/'])
		await quietly(fetch(u, {mode: 'no-cors'}))
	new WebSocket('ws://127.0.0.1:%[1]s/')
	await new Promise(r => setTimeout(r, 1000))
	return 'done'
})()`

// evaluate runs a script in a blank page of a browser.
func evaluate(t *testing.T, p *chrome.Process, attached <-chan *cdp.Session, script string) string {
	t.Helper()
	yes := true
	if _, err := cdpt.Call(t.Context(), p.Browser, target.SetAutoAttach, target.SetAutoAttachParams{AutoAttach: true, Flatten: &yes}); err != nil {
		t.Fatal(err)
	}
	made, err := cdpt.Call(t.Context(), p.Browser, target.CreateTarget, target.CreateTargetParams{URL: "about:blank"})
	if err != nil {
		t.Fatal(err)
	}
	for s := range attached {
		if s.TargetID != made.TargetID {
			continue
		}
		r, err := cdpt.Call(t.Context(), s, runtime.Evaluate, runtime.EvaluateParams{Expression: script, AwaitPromise: &yes, ReturnByValue: &yes})
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Result.Value)
	}
	return ""
}

// TestTheJailHoldsWithoutTheSwitches: NNS-004. With every switch that keeps
// traffic on the proxy deliberately taken off Chromium's command line, and the
// proxy with them, a script dials as it likes: at level kernel and landlock
// nothing arrives anywhere. The same browser without a jail is the control.
func TestTheJailHoldsWithoutTheSwitches(t *testing.T) {
	lab := netlab.Need(t)
	far(t, lab)
	bin, err := chrome.Find(chrome.FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []chrome.Level{chrome.Kernel, chrome.Landlock, chrome.ProxyOnly} { // the last says goodbye to its multicast group
		t.Run(string(level), func(t *testing.T) {
			if err := chrome.TrySeal(t.Context(), level); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal("this test must not be skipped under CI:", err)
				}
				t.Skip(err)
			}
			canary := testweb.NewCanary(t)
			sniffer, err := lab.Sniff()
			if err != nil {
				t.Fatal(err)
			}
			defer sniffer.Close()
			attached := make(chan *cdp.Session, 4)
			p, err := chrome.Start(t.Context(), chrome.Options{Binary: bin, UnsafeNoSeal: true, Seals: []chrome.Level{level}, Listeners: 1, Sniff: true,
				OnAttach: func(_, s *cdp.Session, _ *target.EventAttachedToTarget) { attached <- s }})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if got := evaluate(t, p, attached, fmt.Sprintf(dials, port(canary))); got != `"done"` {
				t.Fatalf("the script returned %s", got)
			}
			tcp, stun, hits := sent(sniffer, "tcp", "169.254.169.254"), sent(sniffer, "udp", "8.8.4.4"), len(canary.Hits())
			if level == chrome.ProxyOnly {
				if !tcp || !stun || hits == 0 {
					t.Errorf("the control leaked by TCP %v, by STUN %v, to loopback %d times: the sealed ones prove nothing", tcp, stun, hits)
				}
				return
			}
			for _, q := range sniffer.Packets() {
				t.Error("left the machine:", q)
			}
			if hits > 0 {
				t.Error("loopback was reached:", canary.Hits())
			}
			if p.Sniffer != nil {
				for _, q := range inside(t, p.Sniffer) {
					if !q.dst.Addr().IsLoopback() {
						t.Errorf("sent inside the jail: %+v", q)
					}
				}
			}
		})
	}
}

// packet is what a sniffer inside of a jail has seen.
type packet struct {
	proto byte
	dst   netip.AddrPort
	open  bool // it opens a TCP connection
}

// inside reads what a packet socket holds.
func inside(t *testing.T, f *os.File) []packet {
	t.Helper()
	rc, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var all []packet
	rc.Control(func(fd uintptr) {
		buf := make([]byte, 1<<16)
		for {
			n, _, err := syscall.Recvfrom(int(fd), buf, syscall.MSG_DONTWAIT)
			if err != nil {
				return
			}
			if p, ok := decode(buf[:n]); ok {
				all = append(all, p)
			}
		}
	})
	return all
}

// decode reads an Ethernet frame.
func decode(b []byte) (p packet, ok bool) {
	const ip4, ip6 = 0x0800, 0x86dd
	if len(b) < 14+40 {
		return p, false
	}
	kind, b := binary.BigEndian.Uint16(b[12:]), b[14:]
	var addr netip.Addr
	switch kind {
	case ip4:
		p.proto, addr = b[9], netip.AddrFrom4([4]byte(b[16:20]))
		b = b[int(b[0]&15)*4:]
	case ip6:
		p.proto, addr = b[6], netip.AddrFrom16([16]byte(b[24:40]))
		b = b[40:]
	default:
		return p, true // seen, and not expected
	}
	port := uint16(0)
	if len(b) >= 14 && (p.proto == syscall.IPPROTO_TCP || p.proto == syscall.IPPROTO_UDP) {
		port = binary.BigEndian.Uint16(b[2:])
		p.open = p.proto == syscall.IPPROTO_TCP && b[13]&0x12 == 2 // SYN without ACK
	}
	p.dst = netip.AddrPortFrom(addr, port)
	return p, true
}

// TestOnlyTheListenersAreTalkedTo looks at the jail's own network, from
// inside, while a page tries every way out: no packet goes anywhere but to the
// listeners and back.
func TestOnlyTheListenersAreTalkedTo(t *testing.T) {
	bin, err := chrome.Find(chrome.FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := chrome.TrySeal(t.Context(), chrome.Kernel); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("this test must not be skipped under CI:", err)
		}
		t.Skip(err)
	}
	attached := make(chan *cdp.Session, 4)
	p, err := chrome.Start(t.Context(), chrome.Options{Binary: bin, Seals: []chrome.Level{chrome.Kernel}, Listeners: 1, Sniff: true,
		OnAttach: func(_, s *cdp.Session, _ *target.EventAttachedToTarget) { attached <- s }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	// A proxy that refuses everything, as the process's own does.
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })}
	go srv.Serve(p.Listeners[0])
	defer srv.Close()
	listener := netip.MustParseAddrPort(p.Listeners[0].Addr().String())
	if got := evaluate(t, p, attached, fmt.Sprintf(dials, "8123")); got != `"done"` {
		t.Fatalf("the script returned %s", got)
	}
	opened := 0
	for _, q := range inside(t, p.Sniffer) {
		switch {
		case q.proto == syscall.IPPROTO_TCP && q.open && q.dst == listener:
			opened++
		case q.proto == syscall.IPPROTO_TCP && !q.open && q.dst.Addr() == listener.Addr():
		default:
			t.Errorf("seen: %+v", q)
		}
	}
	if opened == 0 {
		t.Error("no connection to the listener was seen: the sniffer proves nothing")
	}
}

// TestMemoryHogIsEndedAndReplaced: RES-012. A page that takes more memory than
// a browser may have costs its own call, and the next finds a new browser.
func TestMemoryHogIsEndedAndReplaced(t *testing.T) {
	web.Handle("hog.test", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<p>hog<script>
			const all = []
			for (let i = 1; i < 100; i++) all.push(new Uint8Array(16 << 20).fill(i))</script>`)
	}))
	s := &suite.Starts{}
	b := newBrowser(t, func(o *bellglass.Options) {
		s.Watch(o)
		o.MemoryLimit, o.MaxPages = 512<<20, 1
	})
	if level, _, err := b.Seal(t.Context()); err != nil || level == bellglass.SealProxyOnly {
		t.Skip("no limits at level", level, err)
	}
	if res := browse(t, b, "http://hog.test/"); res.Reason != bellglass.ReasonBrowserCrashed {
		t.Errorf("got %s %s (%v)", res.Status, res.Reason, res.Err)
	}
	if res := browse(t, b, "http://site.test/tiny"); res.Status != bellglass.StatusOK {
		t.Errorf("afterwards: %s %s (%v)", res.Status, res.Reason, res.Err)
	}
	if n := len(s.PIDs()); n < 2 {
		t.Errorf("%d browsers were started", n)
	}
}

// TestSealThatCannotBeHad: NNS-007. Where the level asked for is refused
// nothing weaker is used in silence.
func TestSealThatCannotBeHad(t *testing.T) {
	for _, k := range []struct{ seal, require bellglass.SealLevel }{
		{"strong", ""}, {"", "strong"}, {bellglass.SealProxyOnly, bellglass.SealKernel}, {bellglass.SealLandlock, bellglass.SealKernel},
	} {
		if b, err := bellglass.New(bellglass.Options{Seal: k.seal, RequireSeal: k.require}); err == nil {
			b.Close()
			t.Errorf("%+v was accepted", k)
		}
	}
	headful := func(name string) string {
		if name == "BELLGLASS_BROWSER_HEADLESS" {
			return "false"
		}
		return os.Getenv(name)
	}
	if b, err := bellglass.New(bellglass.Options{RequireSeal: bellglass.SealKernel, Getenv: headful}); err == nil {
		b.Close()
		t.Error("a window was sealed")
	} else if !strings.Contains(err.Error(), "window") {
		t.Error(err)
	}
	b, err := bellglass.New(bellglass.Options{RequireSeal: bellglass.SealProxyOnly, Getenv: headful})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if level, _, err := b.Seal(context.Background()); level != bellglass.SealProxyOnly || err != nil {
		t.Errorf("with a window: %s, %v", level, err)
	}
}

// TestAPageDoesNotReachTheDebuggingPort: CDP-002. The port transport is forced
// beside the pipe, at the level that shares this machine's loopback. A program
// outside reaches it, which is the control; a page does not, neither by address
// nor by a name that leads there.
func TestAPageDoesNotReachTheDebuggingPort(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_, number, _ := net.SplitHostPort(addr)
	ln.Close()
	web.Handle("cdp.test", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<p id=p>trying<script>
			Promise.all(['127.0.0.1', 'localhost', 'rebind.test'].map(h => fetch('http://'+h+':%s/json/version', {mode: 'no-cors'})
				.catch(() => 0))).then(() => p.textContent = 'tried')</script>`, number)
	}))
	web.Script("rebind.test", testweb.Addrs("127.0.0.1"))
	b := newBrowser(t, func(o *bellglass.Options) {
		o.Seal = bellglass.SealProxyOnly
		o.Mode, o.Allow, o.Resources = policy.ModeAllowlist, []string{"cdp.test"}, []string{"rebind.test:" + number}
		o.UnsafeBrowserFlags = append(o.UnsafeBrowserFlags, "--remote-debugging-port="+number)
	})
	res := browse(t, b, "http://cdp.test/")
	refused := map[string]bool{}
	for _, x := range res.Blocked {
		refused[x.Host] = true
	}
	if !strings.Contains(res.Text, "tried") || !refused["127.0.0.1"] || !refused["localhost"] || !refused["rebind.test"] {
		t.Errorf("%s %s: %q, refused %v", res.Status, res.Reason, res.Text, res.Blocked)
	}
	r, err := http.Get("http://" + addr + "/json/version")
	if err != nil {
		t.Fatal("the control does not reach the port either:", err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("the control got %s", r.Status)
	}
}

// TestStorageIsBoundedAndThrownAway: RES-013. A page fills what storage it is
// given; the browser goes on, and the next page finds none of it. That nothing of it is
// on disk, TestTheJailLeavesNothing shows.
func TestStorageIsBoundedAndThrownAway(t *testing.T) {
	web.Handle("store.test", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<p id=p>filling<script>
			let before = localStorage.length, kept = 0, why = 'no end'
			try { for (let i = 0; i < 64; i++) { localStorage.setItem('k'+i, 'x'.repeat(1 << 20)); kept++ } } catch (e) { why = e.name }
			p.textContent = 'found '+before+', local storage ended with '+why+' after '+kept
			caches.open('c').then(c => { for (let i = 0; i < 8; i++) c.put('/'+i, new Response(new Uint8Array(1 << 20))) })
			const r = indexedDB.open('d')
			r.onupgradeneeded = () => r.result.createObjectStore('s').put(new Uint8Array(8 << 20), 1)</script>`)
	}))
	b := newBrowser(t, func(o *bellglass.Options) { o.MaxPages = 1 })
	for range 2 {
		res := browse(t, b, "https://store.test/")
		if res.Status != bellglass.StatusOK || !strings.Contains(res.Text, "found 0, local storage ended with QuotaExceededError after ") {
			t.Errorf("%s %s (%v): %q", res.Status, res.Reason, res.Err, res.Text)
		}
	}
}
