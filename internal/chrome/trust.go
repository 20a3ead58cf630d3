package chrome

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Trust is authorities that a browser trusts beside its own. On Linux Chromium
// reads them from an NSS database below its home folder, which for the browsers
// of this package is the throwaway profile; nothing of the user's own database
// is read or changed, and no other browser trusts them.
type Trust struct {
	files map[string][]byte // by name
}

// trustFolder is where the database is, below the home folder.
const trustFolder = ".pki/nssdb"

// trustFiles are the files of a database that hold something: certificates,
// and, protected by no password, no keys. The third, pkcs11.txt, names the
// folder where the database was made; NSS makes it anew.
var trustFiles = []string{"cert9.db", "key4.db"}

// ErrNoCertutil says that the program which makes NSS databases is missing.
var ErrNoCertutil = errors.New("chrome: certutil is not installed; on Debian and Ubuntu: apt-get install libnss3-tools")

// certutilTimeout bounds one call of certutil, which takes some 20 ms.
const certutilTimeout = 20 * time.Second

// maxAuthorities bounds the PEM. All that Mozilla trusts take 230 KB.
const maxAuthorities = 1 << 20

// NewTrust makes a database of the authorities in PEM. It needs Linux and
// certutil.
func NewTrust(ctx context.Context, authorities []byte) (*Trust, error) {
	certs, err := parseAuthorities(authorities)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "linux" {
		return nil, errors.New("chrome: authorities of one's own work on Linux only; elsewhere add them to the system's")
	}
	certutil, err := exec.LookPath("certutil")
	if err != nil {
		return nil, ErrNoCertutil
	}
	dir, err := os.MkdirTemp("", "bellglass-trust-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	run := func(stdin []byte, args ...string) error {
		ctx, cancel := context.WithTimeout(ctx, certutilTimeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, certutil, append(args, "-d", "sql:"+dir)...)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "LANG=C.UTF-8"}
		cmd.Stdin = bytes.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("chrome: certutil: %w: %s", err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	if err := run(nil, "-N", "--empty-password"); err != nil {
		return nil, err
	}
	for i, c := range certs {
		// Trusted to sign for servers, and for nothing else.
		if err := run(c.Raw, "-A", "-n", "authority-"+strconv.Itoa(i+1), "-t", "C,,"); err != nil {
			return nil, err
		}
	}
	t := &Trust{files: make(map[string][]byte)}
	for _, name := range trustFiles {
		if t.files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// parseAuthorities returns the certificates of a file, all of which must be
// those of authorities.
func parseAuthorities(b []byte) ([]*x509.Certificate, error) {
	if len(b) > maxAuthorities {
		return nil, errors.New("chrome: authorities: more than 1 MiB")
	}
	var out []*x509.Certificate
	begun := bytes.Count(b, []byte("-----BEGIN ")) // the decoder skips what is broken
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("chrome: authorities: a block of type %q among them; only certificates belong there", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("chrome: authorities: certificate %d: %w", len(out)+1, err)
		}
		if !c.IsCA {
			return nil, fmt.Errorf("chrome: authorities: certificate %d (%s) is not an authority's", len(out)+1, c.Subject)
		}
		out = append(out, c)
	}
	switch {
	case len(out) == 0:
		return nil, errors.New("chrome: authorities: no certificate in PEM")
	case len(out) != begun:
		return nil, fmt.Errorf("chrome: authorities: %d blocks begin, %d can be read", begun, len(out))
	}
	return out, nil
}

// homeFiles are the files of the database by their path below a browser's home.
func (t *Trust) homeFiles() map[string][]byte {
	if t == nil {
		return nil
	}
	all := make(map[string][]byte, len(t.files))
	for name, b := range t.files {
		all[filepath.Join(trustFolder, name)] = b
	}
	return all
}

// install writes the database into a browser's home.
func (t *Trust) install(home string) error {
	if t == nil {
		return nil
	}
	dir := filepath.Join(home, trustFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, b := range t.files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}
