package chrome

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// certificate returns one in PEM, of an authority or not.
func certificate(t *testing.T, authority bool) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"}, IsCA: authority, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestParseAuthorities(t *testing.T) {
	ca, leaf := certificate(t, true), certificate(t, false)
	for name, tt := range map[string]struct{ pem, problem string }{
		"one":                  {ca, ""},
		"two and a remark":     {ca + "# the other one\n" + certificate(t, true), ""},
		"nothing":              {"", "no certificate"},
		"no PEM":               {"hello", "no certificate"},
		"a server's":           {leaf, "not an authority's"},
		"a key among them":     {ca + "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "PRIVATE KEY"},
		"a broken one":         {ca + strings.Replace(ca, "-----END", "----END", 1), "2 blocks begin, 1 can be read"},
		"no certificate in it": {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate 1"},
		"large":                {ca + strings.Repeat("#", 2<<20), "1 MiB"},
	} {
		_, err := parseAuthorities([]byte(tt.pem))
		if got := errorText(err); (tt.problem == "") != (err == nil) || !strings.Contains(got, tt.problem) {
			t.Errorf("%s: got %q, want %q", name, got, tt.problem)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestNewTrustSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := NewTrust(t.Context(), []byte(certificate(t, true)))
	if runtime.GOOS == "linux" && (!errors.Is(err, ErrNoCertutil) || !strings.Contains(err.Error(), "libnss3-tools")) || err == nil {
		t.Errorf("got %v", err)
	}
}

// TestTrustIsOfOneProfile: the database stands in the home of the browser, can
// be read by its user only, and nothing else is left. What a real browser makes
// of it, the tests of the library show.
func TestTrustIsOfOneProfile(t *testing.T) {
	if _, err := exec.LookPath("certutil"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs Linux and certutil")
	}
	tmp, home := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	trust, err := NewTrust(t.Context(), []byte(certificate(t, true)+certificate(t, true)))
	if err != nil {
		t.Fatal(err)
	}
	if err := trust.install(home); err != nil {
		t.Fatal(err)
	}
	for _, name := range trustFiles {
		info, err := os.Stat(filepath.Join(home, trustFolder, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v", name, info, err)
		}
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	out, err := exec.Command("certutil", "-L", "-d", "sql:"+filepath.Join(home, trustFolder)).CombinedOutput()
	if err != nil || strings.Count(string(out), "C,,") != 2 {
		t.Errorf("the database: %v\n%s", err, out)
	}
	var none *Trust
	if err := none.install(t.TempDir()); err != nil {
		t.Error("no trust:", err)
	}
}
