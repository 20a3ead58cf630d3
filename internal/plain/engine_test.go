package plain_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
)

var (
	web  *testweb.Web
	caPE string // file with the authority of web
)

var who = bellglass.Principal{Tenant: "test", Run: "1"}

func TestMain(m *testing.M) {
	w, err := testweb.Start(testweb.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	web = w
	web.Handle("site.test", testweb.Site())
	web.Handle("other.test", testweb.Site())
	dir, err := os.MkdirTemp("", "bellglass-plain-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	caPE = filepath.Join(dir, "ca.pem")
	os.WriteFile(caPE, web.CAPEM(), 0o600)
	code := m.Run()
	os.RemoveAll(dir)
	web.Close()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// newBrowser makes one of the plain engine on the small internet.
func newBrowser(t testing.TB, change func(*bellglass.Options)) *bellglass.Browser {
	t.Helper()
	o := bellglass.Options{Engine: bellglass.EngineHTTP, Resolve: web.Resolve, UnsafeDial: web.Dial, HostRate: -1, CacheTTL: -1, CAFile: caPE, MaxPages: 16,
		Getenv: func(string) string { return "" }, BrowserBin: "/nonexistent/chromium"}
	if change != nil {
		change(&o)
	}
	b, err := bellglass.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func browse(t testing.TB, b *bellglass.Browser, url string) bellglass.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	res, err := b.Browse(ctx, bellglass.Request{Principal: who, URL: url})
	if err != nil {
		t.Fatalf("Browse(%q): %v", url, err)
	}
	return res
}

func page(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, body)
	})
}

// TestOutcomesAreToldApart: the same words as the browser path's, over http and
// https alike.
func TestOutcomesAreToldApart(t *testing.T) {
	web.Handle("expired.test", testweb.Site())
	web.BadTLS("expired.test", testweb.Expired)
	web.Handle("wrongname.test", testweb.Site())
	web.BadTLS("wrongname.test", testweb.WrongName)
	web.Handle("selfsigned.test", testweb.Site())
	web.BadTLS("selfsigned.test", testweb.SelfSigned)
	web.Script("servfail.test", testweb.ServFail())
	web.Script("private.test", testweb.Addrs("10.1.2.3"))
	web.Script("mixed.test", testweb.Addrs("93.184.216.34", "127.0.0.1"))
	web.Script("closed.test", testweb.Addrs("93.184.217.98"))
	web.Handle("badcoding.test", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, "<p>not gzip at all")
	}))
	b := newBrowser(t, nil)
	for _, k := range []struct {
		name, url string // without scheme, unless it is one of them only
		status    bellglass.Status
		reason    bellglass.Reason
		http      int
		text      string
	}{
		{"page", "site.test/tiny", bellglass.StatusOK, "", 200, "A tiny page"},
		{"404 with text", "site.test/status?code=404&text=gone+fishing", bellglass.StatusOK, "", 404, "gone fishing"},
		{"403 of the site's own", "site.test/status?code=403&text=members+only", bellglass.StatusOK, "", 403, "members only"},
		{"503 of the site's own", "site.test/status?code=503&text=back+soon", bellglass.StatusOK, "", 503, "back soon"},
		{"404 without body", "site.test/status?code=404", bellglass.StatusError, bellglass.ReasonEmpty, 404, ""},
		{"500 without body", "site.test/status?code=500", bellglass.StatusError, bellglass.ReasonEmpty, 500, ""},
		{"200 without body", "site.test/status?code=200", bellglass.StatusError, bellglass.ReasonEmpty, 200, ""},
		{"204", "site.test/status?code=204", bellglass.StatusError, bellglass.ReasonEmpty, 204, ""},
		{"304", "site.test/status?code=304", bellglass.StatusError, bellglass.ReasonEmpty, 304, ""},
		{"wrong coding", "badcoding.test/", bellglass.StatusError, bellglass.ReasonContent, 200, ""},
		{"401 with text", "site.test/auth", bellglass.StatusOK, "", 401, ""},
		{"unknown name", "nowhere.test/", bellglass.StatusError, bellglass.ReasonDNS, 0, ""},
		{"name server fails", "servfail.test/", bellglass.StatusError, bellglass.ReasonDNS, 0, ""},
		{"name with a private address", "private.test/", bellglass.StatusRejected, bellglass.ReasonAddress, 0, ""},
		{"name with one bad address", "mixed.test/", bellglass.StatusRejected, bellglass.ReasonAddress, 0, ""},
		{"nobody listens", "closed.test/", bellglass.StatusError, bellglass.ReasonConnection, 0, ""},
		{"reset", "site.test/reset", bellglass.StatusError, bellglass.ReasonConnection, 0, ""},
		{"closed without a word", "site.test/empty", bellglass.StatusError, bellglass.ReasonConnection, 0, ""},
		{"endless redirects", "site.test/loop", bellglass.StatusError, bellglass.ReasonRedirects, 0, ""},
		{"port", "site.test:8443/", bellglass.StatusRejected, bellglass.ReasonPort, 0, ""},
		{"expired certificate", "https://expired.test/tiny", bellglass.StatusError, bellglass.ReasonTLS, 0, ""},
		{"certificate for another name", "https://wrongname.test/tiny", bellglass.StatusError, bellglass.ReasonTLS, 0, ""},
		{"self-signed certificate", "https://selfsigned.test/tiny", bellglass.StatusError, bellglass.ReasonTLS, 0, ""},
		{"image", "site.test/raw?type=png", bellglass.StatusError, bellglass.ReasonContent, 200, ""},
		{"PDF", "site.test/raw?type=pdf", bellglass.StatusError, bellglass.ReasonContent, 200, ""},
		{"binary", "site.test/raw?type=bin", bellglass.StatusError, bellglass.ReasonContent, 200, ""},
		{"attachment", "site.test/download?name=report.bin&size=10", bellglass.StatusRejected, bellglass.ReasonDownload, 200, ""},
		{"JSON", "site.test/raw?type=json", bellglass.StatusOK, "", 200, "{"},
		{"redirects", "site.test/redirect?n=3&to=/tiny", bellglass.StatusOK, "", 200, "A tiny page"},
		{"refresh", "site.test/refresh?n=2", bellglass.StatusOK, "", 200, "A tiny page"},
	} {
		urls := []string{"http://" + k.url, "https://" + k.url}
		if strings.HasPrefix(k.url, "https:") {
			urls = []string{k.url}
		}
		for _, url := range urls {
			t.Run(k.name+"/"+url[:5], func(t *testing.T) {
				t.Parallel()
				res := browse(t, b, url)
				if res.Status != k.status || res.Reason != k.reason || res.HTTPStatus != k.http {
					t.Errorf("got %s %q %d, want %s %q %d (%v)", res.Status, res.Reason, res.HTTPStatus, k.status, k.reason, k.http, res.Err)
				}
				if !strings.Contains(res.Text, k.text) || res.Rendered {
					t.Errorf("rendered %v: %q", res.Rendered, res.Text)
				}
			})
		}
	}
}
