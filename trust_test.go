package bellglass_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/testweb"
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
