package sealtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/egressd"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
	"github.com/bellglass/bellglass/policy"
)

// outside puts the small internet where a gateway finds it: behind real names
// and real addresses, on the far side of the lab.
func outside(t *testing.T, lab *netlab.Lab) *netlab.DNS {
	t.Helper()
	dns, err := lab.ServeDNS(func(name string) []netip.Addr {
		addrs, _ := web.Resolve(context.Background(), name)
		return addrs
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dns.Close() })
	for _, port := range []string{":80", ":443"} {
		ln, err := lab.Listen("tcp", port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				to := c.LocalAddr().(*net.TCPAddr).AddrPort()
				go join(c, netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
			}
		}()
	}
	return dns
}

// join connects somebody to the small internet, and resets the connection
// where nobody is there.
func join(c net.Conn, to netip.AddrPort) {
	defer c.Close()
	site, err := web.Dial(context.Background(), to)
	if err != nil {
		c.(*net.TCPConn).SetLinger(0)
		return
	}
	defer site.Close()
	go func() {
		io.Copy(site, c)
		site.(interface{ CloseWrite() error }).CloseWrite()
	}()
	io.Copy(c, site)
}

// gateway runs the standalone proxy as a gateway, and returns where it is and
// how to reach it.
func gateway(t *testing.T, audit io.Writer, rules string) (*egressd.Server, egress.UpstreamConfig) {
	t.Helper()
	dir := t.TempDir()
	if err := testweb.Credentials(dir, "gateway.test", "worker"); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := ln.Addr().String()
	ln.Close()
	file := filepath.Join(dir, "egress.yaml")
	err = os.WriteFile(file, fmt.Appendf(nil, `
admin: none
dns: {servers: [%q]}
mtls: {listen: %q, cert_file: %[3]s/gateway.test.pem, key_file: %[3]s/gateway.test.key, client_ca_file: %[3]s/ca.pem}
roles: {browsers: {clients: ["cn:worker"], trust_identity: true, %[4]s}}
`, netip.AddrPortFrom(netlab.DNSServer, 53), at, dir, rules), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := egressd.Load(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := egressd.Start(cfg, egressd.Options{Log: slog.New(slog.DiscardHandler), Stdout: audit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, egress.UpstreamConfig{
		URL: "gateway://" + at, ServerName: "gateway.test", CAFile: filepath.Join(dir, "ca.pem"),
		CertFile: filepath.Join(dir, "worker.pem"), KeyFile: filepath.Join(dir, "worker.key"),
	}
}

// TestBrowserBehindAGateway: the browser's proxy sends names to another one
// over mTLS, which resolves, judges and dials. Whoever says no, and why, is told
// as if there were one proxy.
func TestBrowserBehindAGateway(t *testing.T) {
	lab := netlab.Need(t)
	web.Script("inside.test", testweb.Addrs("10.1.2.3"))
	web.Script("empty-lot.test", testweb.Addrs("93.184.217.99"))
	web.Handle("far-only.test", testweb.Site())
	dns := outside(t, lab)
	audit := new(notes)
	server, upstream := gateway(t, audit, `mode: allowlist, allow_insecure_http: true, allow: [.site.test, inside.test, empty-lot.test, nowhere.test, near-no.test]`)
	var near atomic.Int32
	b := newBrowser(t, func(o *bellglass.Options) {
		o.Upstream = upstream
		o.Mode, o.Allow = policy.ModeAllowlist, []string{".site.test", "inside.test", "empty-lot.test", "nowhere.test", "far-only.test"}
		o.Resolve = func(context.Context, string) ([]netip.Addr, error) { near.Add(1); return nil, io.ErrUnexpectedEOF }
		o.UnsafeDial = func(context.Context, netip.AddrPort) (net.Conn, error) { near.Add(1); return nil, io.ErrUnexpectedEOF }
	})
	check := func(url string, status bellglass.Status, reason bellglass.Reason) {
		t.Helper()
		res := browse(t, b, url)
		if res.Status != status || res.Reason != reason {
			t.Errorf("%s: got %s %s (%v), want %s %s", url, res.Status, res.Reason, res.Err, status, reason)
		}
		if leak := res.Text + res.Title + res.Hint; strings.Contains(leak, "10.1.2.3") || strings.Contains(leak, "93.184.") {
			t.Errorf("%s: the result holds an address: %q", url, leak)
		}
	}
	for _, scheme := range []string{"http://", "https://"} {
		check(scheme+"site.test/tiny", bellglass.StatusOK, "")
		check(scheme+"sub.site.test/status?code=403&text=members+only", bellglass.StatusOK, "")
		check(scheme+"near-no.test/", bellglass.StatusRejected, bellglass.ReasonHost)  // refused on this side
		check(scheme+"far-only.test/", bellglass.StatusRejected, bellglass.ReasonHost) // and on that one
		check(scheme+"inside.test/", bellglass.StatusRejected, bellglass.ReasonAddress)
		check(scheme+"nowhere.test/", bellglass.StatusError, bellglass.ReasonDNS)
		check(scheme+"empty-lot.test/", bellglass.StatusError, bellglass.ReasonConnection)
	}
	if n := near.Load(); n > 0 {
		t.Errorf("the near side resolved or dialed %d times", n)
	}
	for _, q := range dns.Queries() {
		if strings.HasPrefix(q.Name, "far-only") || strings.HasPrefix(q.Name, "near-no") {
			t.Error("a name was looked up before it was allowed:", q)
		}
	}
	if text := audit.String(); !strings.Contains(text, `"tenant":"test","run":"run"`) || strings.Contains(text, "near-no.test") {
		t.Errorf("the audit lines of the gateway: %s", text)
	}
	server.Close()
	for _, scheme := range []string{"http://", "https://"} {
		check(scheme+"site.test/tiny", bellglass.StatusError, bellglass.ReasonProxy)
	}
	for _, h := range web.Hits("site.test") {
		for name := range h.Header {
			if strings.HasPrefix(name, "Bellglass") || strings.HasPrefix(name, "Proxy") {
				t.Errorf("the site saw %s: %s", name, h.Header.Get(name))
			}
		}
	}
}

// notes is a place to write to from many goroutines.
type notes struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.Write(b)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.String()
}

// forwardProxy is a company's proxy: it takes CONNECT and credentials.
type forwardProxy struct {
	mu    sync.Mutex
	asked []string
	deny  int // answer with this status instead
}

const wantLogin = "Basic b3BlcmF0b3I6aHVudGVyMg==" // operator:hunter2

func (p *forwardProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.RequestURI)
	deny := p.deny
	p.mu.Unlock()
	if r.Header.Get("Proxy-Authorization") != wantLogin {
		deny = http.StatusProxyAuthRequired
	}
	to, err := netip.ParseAddrPort(r.RequestURI)
	if r.Method != http.MethodConnect || err != nil {
		deny = http.StatusBadRequest
	}
	if deny != 0 {
		w.Header().Set("Proxy-Authenticate", `Basic realm="company"`)
		w.WriteHeader(deny)
		io.WriteString(w, "page of the company's proxy")
		return
	}
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	join(c, to)
}

// TestBrowserBehindAForwardProxy: a company's proxy is asked for addresses that
// were judged here, never for names. The page's part of CRD-002: what the proxy
// is told to let us in reaches neither page nor site, and what it says when it
// does not is never shown as the site's.
func TestBrowserBehindAForwardProxy(t *testing.T) {
	web.Script("inside.test", testweb.Addrs("10.1.2.3"))
	mux := http.NewServeMux()
	mux.Handle("/", testweb.HTML(`<p>page text <b id=p></b><script>
		fetch('/headers').then(r => r.text()).then(x => p.append(x))</script>`))
	mux.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "headers: %v", r.Header) })
	web.Handle("behind.test", mux)
	proxy := &forwardProxy{}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: proxy}
	go srv.Serve(ln)
	defer srv.Close()
	secret := filepath.Join(t.TempDir(), "login")
	if err := os.WriteFile(secret, []byte("operator:hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	logged := new(notes)
	b := newBrowser(t, func(o *bellglass.Options) {
		o.Upstream = egress.UpstreamConfig{URL: "http://" + ln.Addr().String(), CredentialsFile: secret}
		o.Logger = slog.New(slog.NewTextHandler(logged, nil))
	})
	check := func(url string, status bellglass.Status, reason bellglass.Reason) bellglass.Result {
		t.Helper()
		res := browse(t, b, url)
		if res.Status != status || res.Reason != reason {
			t.Errorf("%s: got %s %s (%v), want %s %s", url, res.Status, res.Reason, res.Err, status, reason)
		}
		for _, never := range []string{"hunter2", wantLogin[6:], "company", ln.Addr().String()} {
			if strings.Contains(fmt.Sprintf("%+v", res), never) {
				t.Errorf("%s: the result holds %q: %+v", url, never, res)
			}
		}
		return res
	}
	dialed := len(web.Dialed())
	for _, scheme := range []string{"http://", "https://"} {
		if res := check(scheme+"behind.test/", bellglass.StatusOK, ""); !strings.Contains(res.Text, "headers: map") {
			t.Errorf("%s: the page did not see its headers: %q", scheme, res.Text)
		}
		check(scheme+"inside.test/", bellglass.StatusRejected, bellglass.ReasonAddress)
		check(scheme+"nowhere.test/", bellglass.StatusError, bellglass.ReasonDNS)
	}
	for _, d := range web.Dialed()[dialed:] {
		if d.Site != "behind.test" {
			t.Error("dialed:", d)
		}
	}
	for _, h := range web.Hits("behind.test") {
		if text := fmt.Sprint(h); strings.Contains(text, "Proxy") || strings.Contains(text, wantLogin[6:]) {
			t.Error("the site saw", text)
		}
	}
	proxy.mu.Lock()
	if len(proxy.asked) == 0 || slices.ContainsFunc(proxy.asked, func(s string) bool { return strings.Contains(s, "test") }) {
		t.Errorf("the proxy was asked for %q", proxy.asked)
	}
	proxy.mu.Unlock()
	for _, k := range []struct {
		answer int
		status bellglass.Status
		reason bellglass.Reason
	}{
		{407, bellglass.StatusError, bellglass.ReasonProxy},
		{403, bellglass.StatusRejected, bellglass.ReasonHost},
		{503, bellglass.StatusError, bellglass.ReasonConnection},
	} {
		proxy.mu.Lock()
		proxy.deny = k.answer
		proxy.mu.Unlock()
		for _, scheme := range []string{"http://", "https://"} {
			check(scheme+"behind.test/?"+fmt.Sprint(k.answer), k.status, k.reason)
		}
	}
	srv.Close()
	for _, scheme := range []string{"http://", "https://"} {
		check(scheme+"behind.test/", bellglass.StatusError, bellglass.ReasonProxy)
	}
	if text := logged.String(); strings.Contains(text, "hunter2") || strings.Contains(text, wantLogin[6:]) {
		t.Errorf("the log holds the credentials: %s", text)
	}
}

// TestUpstreamIsCheckedAtNew: all mistakes at once, and none quotes a secret.
func TestUpstreamIsCheckedAtNew(t *testing.T) {
	_, err := bellglass.New(bellglass.Options{
		MaxPages: 1000, Observe: true,
		Upstream: egress.UpstreamConfig{URL: "gateway://proxy.invalid:99999", Credentials: "operator:hunter2"},
	})
	if err == nil {
		t.Fatal("accepted")
	}
	text := err.Error()
	for _, want := range []string{"MaxPages", "Observe needs", "Upstream: bad port", "needs a CA file", "by certificate, not by credentials", "a certificate and a key"} {
		if !strings.Contains(text, want) {
			t.Errorf("the error lacks %q", want)
		}
	}
	if strings.Contains(text, "hunter2") {
		t.Errorf("the error holds the credentials")
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestObserveTellsWhatAnAllowlistLacks: the page loads what no list names, and
// the list that it tells is enough. Navigation is restricted all the while.
func TestObserveTellsWhatAnAllowlistLacks(t *testing.T) {
	web.Handle("observed.test", testweb.HTML(`<p>page text <b id=p></b>
		<script src="https://cdn.observed-parts.test/text.js"></script>
		<script src="http://observed-mirror.test:8080/text.js"></script>
		<script src="http://10.0.0.1/text.js"></script>`))
	script := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprintf(w, "p.append(%q)", "by "+r.Host+" ")
	})
	web.Handle("cdn.observed-parts.test", script)
	web.Handle("observed-mirror.test", script)
	read := func(change func(*bellglass.Options)) (bellglass.Result, bellglass.Result) {
		b := newBrowser(t, func(o *bellglass.Options) {
			o.Mode, o.Allow = policy.ModeAllowlist, []string{"observed.test"}
			change(o)
		})
		defer b.Close()
		return browse(t, b, "http://observed.test/"), browse(t, b, "http://other.test/")
	}
	strict, _ := read(func(*bellglass.Options) {})
	if strings.Contains(strict.Text, "by ") || len(strict.Needed) > 0 {
		t.Errorf("control: got %q, needed %q", strict.Text, strict.Needed)
	}
	observed, elsewhere := read(func(o *bellglass.Options) { o.Observe = true })
	if !strings.Contains(observed.Text, "by cdn.observed-parts.test") {
		t.Errorf("observed: got %q", observed.Text)
	}
	if want := []string{"cdn.observed-parts.test"}; !slices.Equal(observed.Needed, want) {
		t.Errorf("needed %q, want %q", observed.Needed, want)
	}
	if elsewhere.Status != bellglass.StatusRejected || elsewhere.Reason != bellglass.ReasonHost {
		t.Errorf("navigation: got %s %s", elsewhere.Status, elsewhere.Reason)
	}
	listed, _ := read(func(o *bellglass.Options) { o.Resources = observed.Needed })
	if listed.Text != observed.Text {
		t.Errorf("with the list: got %q, want %q", listed.Text, observed.Text)
	}
}
