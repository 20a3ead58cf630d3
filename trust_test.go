package bellglass_test

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
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/testweb"
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

// TestCompanyAuthority: with its authority a site is read; without, it is a
// failure of TLS. Trusting an authority is not trusting everything: what else
// can be wrong with a certificate is still wrong. Both kinds of browser; the
// full one, which is slow, is asked for less.
func TestCompanyAuthority(t *testing.T) {
	file := authorityFile(t)
	for host, fault := range map[string]testweb.Fault{
		"expired.trust.test": testweb.Expired, "wrongname.trust.test": testweb.WrongName, "selfsigned.trust.test": testweb.SelfSigned,
	} {
		web.Handle(host, testweb.Site())
		web.BadTLS(host, fault)
	}
	faulty := map[string][]string{
		"shell": {"expired.trust.test", "wrongname.trust.test", "selfsigned.trust.test"},
		"full":  {"expired.trust.test"},
	}
	for name, bin := range binaries(t) {
		t.Run(name, func(t *testing.T) {
			read := func(b *bellglass.Browser, host string, want bellglass.Reason) {
				t.Helper()
				res, err := b.Browse(t.Context(), bellglass.Request{Principal: who, URL: "https://" + host + "/tiny"})
				if err != nil || res.Reason != want || (want == "") != (res.Text != "") {
					t.Errorf("%s: got %s %q (%v, %v), want %q", host, res.Status, res.Reason, res.Err, err, want)
				}
			}
			with := func(ca string) *bellglass.Browser {
				return newBrowser(t, func(o *bellglass.Options) {
					o.BrowserBin, o.CAFile, o.UnsafeBrowserFlags = bin.Path, ca, nil
					o.CallTimeout, o.NavigationTimeout = 2*time.Minute, time.Minute
				})
			}
			trusting := with(file)
			read(trusting, "site.test", "")
			for _, host := range faulty[name] {
				read(trusting, host, bellglass.ReasonTLS)
			}
			trusting.Close()
			read(with(""), "site.test", bellglass.ReasonTLS)
		})
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
		html(`<p id=p>page</p><script>(async () => {
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
