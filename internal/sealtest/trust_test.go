package sealtest

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
	"github.com/bellglass/bellglass/policy"
)

// authorityFile is the authority of the small internet as an operator would
// give it.
func authorityFile(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("authorities of one's own work on Linux only")
	}
	if _, err := exec.LookPath("certutil"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(chrome.ErrNoCertutil)
		}
		t.Skip(chrome.ErrNoCertutil)
	}
	path := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(path, web.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// faultyHosts have certificates of the authority, or not even that, with which
// something else is wrong.
func faultyHosts() []string {
	hosts := []string{"expired.trust.test", "wrongname.trust.test", "selfsigned.trust.test"}
	for i, fault := range []testweb.Fault{testweb.Expired, testweb.WrongName, testweb.SelfSigned} {
		web.Handle(hosts[i], testweb.Site())
		web.BadTLS(hosts[i], fault)
	}
	return hosts
}

// TestCompanyAuthority: with its authority a site is read; without, it is a
// failure of TLS. Trusting an authority is not trusting everything: what else
// can be wrong with a certificate is still wrong.
func TestCompanyAuthority(t *testing.T) {
	file := authorityFile(t)
	read := func(b *bellglass.Browser, host string, want bellglass.Reason) {
		t.Helper()
		res := browse(t, b, "https://"+host+"/tiny")
		if res.Reason != want || (want == "") != (res.Text != "") {
			t.Errorf("%s: got %s %q (%v), want %q", host, res.Status, res.Reason, res.Err, want)
		}
	}
	with := newBrowser(t, func(o *bellglass.Options) { o.CAFile, o.UnsafeBrowserFlags = file, nil })
	read(with, "site.test", "")
	for _, host := range faultyHosts() {
		read(with, host, bellglass.ReasonTLS)
	}
	with.Close()
	read(newBrowser(t, func(o *bellglass.Options) { o.UnsafeBrowserFlags = nil }), "site.test", bellglass.ReasonTLS)
}

// TestCompanyAuthorityInFullChromium: the same of the other browser, by what
// the server sees.
func TestCompanyAuthorityInFullChromium(t *testing.T) {
	lab := netlab.Need(t)
	bin, ok := binaries(t)["full"]
	if !ok {
		t.Skip("no full Chromium on this machine")
	}
	authorityFile(t) // skips where there is no certutil
	outside(t, lab)
	trust, err := chrome.NewTrust(t.Context(), web.CAPEM())
	if err != nil {
		t.Fatal(err)
	}
	hosts := append(faultyHosts(), "good.trust.test")
	for _, host := range []string{"good.trust.test", "last.trust.test"} {
		web.Handle(host, testweb.Site())
	}
	for _, tt := range []struct {
		trust *chrome.Trust
		seen  string // the hosts of which the page was asked for
	}{{trust, "good.trust.test"}, {nil, ""}} {
		count := map[string]int{}
		for _, host := range append(hosts, "last.trust.test") {
			count[host] = len(web.Hits(host))
		}
		proxy := listening(t, &policy.Config{Mode: policy.ModePublic, AllowInsecureHTTP: true})
		p := launch(t, chrome.Options{Binary: bin, Proxy: proxy.Addr().String(), Trust: tt.trust})
		for _, host := range hosts {
			show(t, p, "https://"+host+"/tiny")
			if !soon(func() bool { return len(proxy.about(host)) > 0 }) {
				t.Fatal("not asked for", host)
			}
		}
		show(t, p, "http://last.trust.test/tiny") // by then the others have come or not
		if !soon(func() bool { return len(web.Hits("last.trust.test")) > count["last.trust.test"] }) {
			t.Fatal("the last page was not asked for")
		}
		if tt.seen != "" {
			soon(func() bool { return len(web.Hits(tt.seen)) > count[tt.seen] })
		}
		var seen []string
		for _, host := range hosts {
			if len(web.Hits(host)) > count[host] {
				seen = append(seen, host)
			}
		}
		if got := strings.Join(seen, " "); got != tt.seen {
			t.Errorf("trust %v: pages were asked of %q, want %q", tt.trust != nil, got, tt.seen)
		}
		p.Close()
	}
}

func TestAuthorityFileIsCheckedAtNew(t *testing.T) {
	_, err := bellglass.New(bellglass.Options{CAFile: filepath.Join(t.TempDir(), "none.pem"), MaxPages: 1000})
	if err == nil || !strings.Contains(err.Error(), "CAFile") || !strings.Contains(err.Error(), "MaxPages") {
		t.Errorf("got %v", err)
	}
}

// TestNoHostRidesOnAnothersConnection: one server with one certificate for three
// names, which offers another one of them as an alternative (Alt-Svc). Over the
// connection to a listed name nothing is asked for one that is not: behind a
// proxy Chromium opens a connection for each name, and the proxy judges each.
func TestNoHostRidesOnAnothersConnection(t *testing.T) {
	authorityFile(t) // skips where there is no certutil
	dir := t.TempDir()
	if err := testweb.Credentials(dir, "front.test,listed.front.test,hidden.front.test"); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "front.test.pem"), filepath.Join(dir, "front.test.key"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Proto+" "+r.Host] = true
		mu.Unlock()
		w.Header().Set("Alt-Svc", `h2="hidden.front.test:443"; ma=3600`)
		testweb.HTML(`<p id=p>page</p><script>(async () => {
			for (const name of ['listed', 'hidden', 'listed', 'hidden'])
				await fetch('https://' + name + '.front.test/', {mode: 'no-cors'}).then(() => p.append(' ' + name), () => p.append(' no'));
		})()</script>`).ServeHTTP(w, r)
	}))
	srv.EnableHTTP2, srv.TLS = true, &tls.Config{Certificates: []tls.Certificate{pair}}
	srv.StartTLS()
	defer srv.Close()
	for _, host := range []string{"front.test", "listed.front.test", "hidden.front.test"} {
		web.HandleConn(host, 443, func(c net.Conn) {
			defer c.Close()
			up, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				return
			}
			defer up.Close()
			go io.Copy(up, c)
			io.Copy(c, up)
		})
	}
	b := newBrowser(t, func(o *bellglass.Options) {
		o.Mode, o.Allow = policy.ModeAllowlist, []string{"front.test", "listed.front.test"}
		o.CAFile, o.UnsafeBrowserFlags = filepath.Join(dir, "ca.pem"), nil
	})
	if res := browse(t, b, "https://front.test/"); res.Text != "page listed no listed no" {
		t.Errorf("got %s %s %q", res.Status, res.Reason, res.Text)
	}
	mu.Lock()
	defer mu.Unlock()
	if !seen["HTTP/2.0 front.test"] || !seen["HTTP/2.0 listed.front.test"] || seen["HTTP/2.0 hidden.front.test"] {
		t.Errorf("the server was asked for %v", seen)
	}
}
