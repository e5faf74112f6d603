// Package certtest makes certificates for tests: an authority, and what it signs for servers and clients.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Pair is a certificate with its key, both as PEM.
type Pair struct{ Certificate, Key []byte }

// NewAuthority returns an authority that nobody trusts but who is given its certificate.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	template := template(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	key := newKey(t)
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{certificate, key}
}

// Issue returns a certificate for a name, and for the loopback addresses, as a server's and as a client's.
// adjust, if any, changes the template before it is signed.
func (a *Authority) Issue(t testing.TB, name string, adjust ...func(*x509.Certificate)) Pair {
	t.Helper()
	template := template(name)
	template.DNSNames = []string{"localhost"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, change := range adjust {
		change(template)
	}
	key := newKey(t)
	certificate, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	encodedKey, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{encode("CERTIFICATE", certificate), encode("PRIVATE KEY", encodedKey)}
}

// Expired is an adjustment: the certificate's time is over.
func Expired(template *x509.Certificate) { template.NotAfter = time.Now().Add(-time.Minute) }

// PEM is the authority's own certificate.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.Certificate.Raw) }

// Pool trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.Certificate)
	return pool
}

// TLS returns the pair as package tls has it.
func (p Pair) TLS(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// Write stores a text as a file in a directory and returns its path.
func Write(t testing.TB, directory, name string, text []byte) (path string) {
	t.Helper()
	path = filepath.Join(directory, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encode(kind string, bytes []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
}
