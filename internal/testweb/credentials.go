package testweb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Credentials writes an authority of its own, and what it vouches for to
// servers and clients, into a folder: ca.pem, and NAME.pem with NAME.key for
// each name. Names joined by commas share a certificate, which is called after
// the first. All are good for an hour.
func Credentials(dir string, names ...string) error {
	ca := &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	caKey, err := credential(dir, "ca", 1, ca, ca, nil)
	for i, list := range names {
		if err != nil {
			break
		}
		shared := strings.Split(list, ",")
		_, err = credential(dir, shared[0], int64(i+2), &x509.Certificate{
			Subject: pkix.Name{CommonName: shared[0]}, DNSNames: shared,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		}, ca, caKey)
	}
	return err
}

// credential writes one certificate and its key. Without the authority's key it
// is signed by its own.
func credential(dir, name string, serial int64, cert, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if caKey == nil {
		caKey = key
	}
	cert.SerialNumber = big.NewInt(serial)
	cert.NotBefore, cert.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, cert, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	for suffix, block := range map[string]*pem.Block{
		".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(filepath.Join(dir, name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
			return nil, err
		}
	}
	return key, nil
}
