package bellglass_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

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
// can be wrong with a certificate is still wrong. Both kinds of browser.
func TestCompanyAuthority(t *testing.T) {
	file := authorityFile(t)
	for host, fault := range map[string]testweb.Fault{
		"expired.trust.test": testweb.Expired, "wrongname.trust.test": testweb.WrongName, "selfsigned.trust.test": testweb.SelfSigned,
	} {
		web.Handle(host, testweb.Site())
		web.BadTLS(host, fault)
	}
	read := func(t *testing.T, b *bellglass.Browser, host string, want bellglass.Reason) {
		t.Helper()
		res := browse(t, b, "https://"+host+"/tiny")
		if res.Reason != want || (want == "") != (res.Text != "") {
			t.Errorf("%s: got %s %q (%v), want %q", host, res.Status, res.Reason, res.Err, want)
		}
	}
	for name, full := range map[string]bool{"headless shell": false, "full": true} {
		t.Run(name, func(t *testing.T) {
			bin, err := chrome.Find(chrome.FindOptions{Full: full})
			if err != nil || bin.Shell == full {
				t.Skip("no such browser on this machine")
			}
			with := newBrowser(t, func(o *bellglass.Options) {
				o.BrowserBin, o.CAFile, o.UnsafeBrowserFlags = bin.Path, file, nil
			})
			read(t, with, "site.test", "")
			for _, host := range []string{"expired.trust.test", "wrongname.trust.test", "selfsigned.trust.test"} {
				read(t, with, host, bellglass.ReasonTLS)
			}
			with.Close()
			without := newBrowser(t, func(o *bellglass.Options) { o.BrowserBin, o.UnsafeBrowserFlags = bin.Path, nil })
			read(t, without, "site.test", bellglass.ReasonTLS)
		})
	}
}

func TestAuthorityFileIsCheckedAtNew(t *testing.T) {
	_, err := bellglass.New(bellglass.Options{CAFile: filepath.Join(t.TempDir(), "none.pem"), MaxPages: 1000})
	if err == nil || !strings.Contains(err.Error(), "CAFile") || !strings.Contains(err.Error(), "MaxPages") {
		t.Errorf("got %v", err)
	}
}
