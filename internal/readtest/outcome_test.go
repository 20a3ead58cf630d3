package readtest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/suite"
)

// TestOutcomesAreToldApart asks for pages that come to nothing, or only seem
// to, over http and https alike. TLS-006 is among them.
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
	const both = "both"
	for _, k := range []struct {
		name   string
		scheme string
		url    string // without scheme
		status bellglass.Status
		reason bellglass.Reason
		http   int
		text   string
	}{
		{"page", both, "site.test/tiny", bellglass.StatusOK, "", 200, ""},
		{"404 with text", both, "site.test/status?code=404&text=gone+fishing", bellglass.StatusOK, "", 404, "gone fishing"},
		{"403 of the site's own", both, "site.test/status?code=403&text=members+only", bellglass.StatusOK, "", 403, "members only"},
		{"503 of the site's own", both, "site.test/status?code=503&text=back+soon", bellglass.StatusOK, "", 503, "back soon"},
		{"502 of the site's own", both, "site.test/status?code=502&text=upstream", bellglass.StatusOK, "", 502, "upstream"},
		{"404 without body", both, "site.test/status?code=404", bellglass.StatusError, bellglass.ReasonEmpty, 404, ""},
		{"500 without body", both, "site.test/status?code=500", bellglass.StatusError, bellglass.ReasonEmpty, 500, ""},
		{"200 without body", both, "site.test/status?code=200", bellglass.StatusError, bellglass.ReasonEmpty, 200, ""},
		{"204", both, "site.test/status?code=204", bellglass.StatusError, bellglass.ReasonEmpty, 204, ""},
		{"304", both, "site.test/status?code=304", bellglass.StatusError, bellglass.ReasonEmpty, 0, ""},
		{"wrong coding", both, "badcoding.test/", bellglass.StatusError, bellglass.ReasonContent, 0, ""},
		{"401 with text", both, "site.test/auth", bellglass.StatusOK, "", 401, ""},
		{"unknown name", both, "nowhere.test/", bellglass.StatusError, bellglass.ReasonDNS, 0, ""},
		{"name server fails", both, "servfail.test/", bellglass.StatusError, bellglass.ReasonDNS, 0, ""},
		{"name with a private address", both, "private.test/", bellglass.StatusRejected, bellglass.ReasonAddress, 0, ""},
		{"name with one bad address", both, "mixed.test/", bellglass.StatusRejected, bellglass.ReasonAddress, 0, ""},
		{"nobody listens", both, "closed.test/", bellglass.StatusError, bellglass.ReasonConnection, 0, ""},
		{"reset", both, "site.test/reset", bellglass.StatusError, bellglass.ReasonConnection, 0, ""},
		{"closed without a word", both, "site.test/empty", bellglass.StatusError, bellglass.ReasonConnection, 0, ""},
		{"endless redirects", both, "site.test/loop", bellglass.StatusError, bellglass.ReasonRedirects, 0, ""},
		{"port", both, "site.test:8443/", bellglass.StatusRejected, bellglass.ReasonPort, 0, ""},
		{"expired certificate", "https", "expired.test/tiny", bellglass.StatusError, bellglass.ReasonTLS, 0, ""},
		{"certificate for another name", "https", "wrongname.test/tiny", bellglass.StatusError, bellglass.ReasonTLS, 0, ""},
		{"self-signed certificate", "https", "selfsigned.test/tiny", bellglass.StatusError, bellglass.ReasonTLS, 0, ""},
		{"image", both, "site.test/raw?type=png", bellglass.StatusError, bellglass.ReasonContent, 200, ""},
		{"PDF", both, "site.test/raw?type=pdf", bellglass.StatusError, bellglass.ReasonContent, 200, ""},
		{"binary", both, "site.test/raw?type=bin", bellglass.StatusError, bellglass.ReasonContent, 200, ""},
		{"attachment", both, "site.test/download?name=report.bin&size=10", bellglass.StatusRejected, bellglass.ReasonDownload, 200, ""},
		{"JSON", both, "site.test/raw?type=json", bellglass.StatusOK, "", 200, "{"},
	} {
		schemes := []string{k.scheme}
		if k.scheme == both {
			schemes = []string{"http", "https"}
		}
		for _, scheme := range schemes {
			t.Run(k.name+"/"+scheme, func(t *testing.T) {
				t.Parallel()
				res := browse(t, bg, scheme+"://"+k.url)
				if res.Status != k.status || res.Reason != k.reason {
					t.Errorf("got %s %s (%v), want %s %s", res.Status, res.Reason, res.Err, k.status, k.reason)
				}
				if k.http != 0 && res.HTTPStatus != k.http {
					t.Errorf("HTTP status %d, want %d", res.HTTPStatus, k.http)
				}
				if !strings.Contains(res.Text, k.text) {
					t.Errorf("text %q lacks %q", res.Text, k.text)
				}
				if res.Status != bellglass.StatusOK && (res.Text != "" || res.Hint == "") {
					t.Errorf("a failure has text %q and hint %q", res.Text, res.Hint)
				}
				for _, own := range []string{"HTTP ERROR", "This site can", "ERR_", "bellglass:"} {
					if strings.Contains(res.Text+res.Title, own) {
						t.Errorf("the browser's or the proxy's own page was taken for content: %q %q", res.Title, res.Text)
					}
				}
			})
		}
	}
}

// TestPageThatNeverAnswers must end by the navigation timeout, which the
// caller's own deadline would not explain.
func TestPageThatNeverAnswers(t *testing.T) {
	o := suite.VisitOptions(web)
	o.CallTimeout, o.NavigationTimeout = 20*time.Second, 2*time.Second
	b, err := bellglass.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, url := range []string{"http://site.test/hang", "https://site.test/hang", "http://site.test/hang?head=1"} {
		res := browse(t, b, url)
		if res.Status != bellglass.StatusTimeout || res.Reason != bellglass.ReasonNavigationTimeout {
			t.Errorf("%s: got %s %s (%v)", url, res.Status, res.Reason, res.Err)
		}
	}
}
