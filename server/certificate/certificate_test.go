package certificate_test

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server/certificate"
	"github.com/pyropedb/pyrope/server/certtest"
	pkcs12 "software.sslmate.com/src/go-pkcs12"
)

// subject is the name in the certificate that a configuration shows.
func subject(t *testing.T, config *tls.Config) string {
	t.Helper()
	leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf.Subject.CommonName
}

func load(t *testing.T, o certificate.Options) *tls.Config {
	t.Helper()
	config, err := certificate.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestPEM(t *testing.T) {
	directory, authority := t.TempDir(), certtest.NewAuthority(t, "authority")
	pair := authority.Issue(t, "server")
	cert := certtest.Write(t, directory, "server.crt", append(slices.Clone(pair.Certificate), authority.PEM()...))
	key := certtest.Write(t, directory, "server.key", pair.Key)
	both := certtest.Write(t, directory, "both.pem", append(slices.Clone(pair.Key), pair.Certificate...))

	config := load(t, certificate.Options{CertFile: cert, KeyFile: key})
	if subject(t, config) != "server" || len(config.Certificates[0].Certificate) != 2 {
		t.Errorf("%d certificates of %s", len(config.Certificates[0].Certificate), subject(t, config))
	}
	if config.MinVersion != tls.VersionTLS12 || config.ClientCAs != nil {
		t.Errorf("least version %x, authorities %v", config.MinVersion, config.ClientCAs)
	}
	if got := subject(t, load(t, certificate.Options{CertFile: both})); got != "server" {
		t.Errorf("one file with both is of %s", got)
	}
}

func TestPKCS12(t *testing.T) {
	authority := certtest.NewAuthority(t, "authority")
	pair := authority.Issue(t, "server").TLS(t)
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, encoder := range map[string]*pkcs12.Encoder{"modern": pkcs12.Modern, "legacy": pkcs12.LegacyDES} {
		text, err := encoder.Encode(pair.PrivateKey, leaf, []*x509.Certificate{authority.Certificate}, "secret")
		if err != nil {
			t.Fatal(err)
		}
		file := certtest.Write(t, t.TempDir(), "server.pfx", text)
		config := load(t, certificate.Options{CertFile: file, Password: "secret"})
		if subject(t, config) != "server" || len(config.Certificates[0].Certificate) != 2 {
			t.Errorf("%s: %d certificates of %s", name, len(config.Certificates[0].Certificate), subject(t, config))
		}
		if _, err := certificate.Load(certificate.Options{CertFile: file, Password: "wrong"}); err == nil || !strings.Contains(err.Error(), "password incorrect") {
			t.Errorf("%s: a wrong password: %v", name, err)
		}
	}
}

func TestAuthorities(t *testing.T) {
	directory := t.TempDir()
	authority, other := certtest.NewAuthority(t, "one"), certtest.NewAuthority(t, "two")
	pair := authority.Issue(t, "server")
	cert := certtest.Write(t, t.TempDir(), "both.pem", append(slices.Clone(pair.Key), pair.Certificate...))
	file := certtest.Write(t, directory, "one.crt", authority.PEM())
	certtest.Write(t, directory, "two.crt", other.PEM())
	certtest.Write(t, directory, "README", []byte("no certificate"))
	config := load(t, certificate.Options{CertFile: cert, CAFile: file, CADir: directory, ClientAuth: tls.RequireAndVerifyClientCert})
	want := authority.Pool()
	want.AddCert(other.Certificate)
	if !config.ClientCAs.Equal(want) || config.ClientAuth != tls.RequireAndVerifyClientCert {
		t.Error("the authorities are not those of file and directory")
	}
}

func TestRefusals(t *testing.T) {
	directory, authority := t.TempDir(), certtest.NewAuthority(t, "authority")
	pair, other := authority.Issue(t, "server"), authority.Issue(t, "other")
	cert := certtest.Write(t, directory, "server.crt", pair.Certificate)
	key := certtest.Write(t, directory, "server.key", pair.Key)
	otherKey := certtest.Write(t, directory, "other.key", other.Key)
	text := certtest.Write(t, directory, "text", []byte("nothing"))
	binary := certtest.Write(t, directory, "binary", []byte{0x30, 1, 2})
	encrypted := certtest.Write(t, directory, "encrypted.key",
		bytes.ReplaceAll(pair.Key, []byte("PRIVATE KEY"), []byte("ENCRYPTED PRIVATE KEY")))
	empty := t.TempDir()
	for _, c := range []struct {
		options certificate.Options
		want    []string
	}{
		{certificate.Options{CertFile: filepath.Join(directory, "none")}, []string{"cannot read the certificate", "none"}},
		{certificate.Options{CertFile: cert, KeyFile: filepath.Join(directory, "none")}, []string{"cannot read the key", "none"}},
		{certificate.Options{CertFile: cert}, []string{"cannot use the certificate", cert}},
		{certificate.Options{CertFile: cert, KeyFile: otherKey}, []string{cert, otherKey, "does not match"}},
		{certificate.Options{CertFile: cert, KeyFile: encrypted}, []string{encrypted, "encrypted PEM keys are not supported"}},
		{certificate.Options{CertFile: text, KeyFile: key}, []string{text}},
		{certificate.Options{CertFile: binary}, []string{binary, "PKCS#12"}},
		{certificate.Options{CertFile: cert, KeyFile: key, CAFile: text}, []string{text, "no certificate in PEM"}},
		{certificate.Options{CertFile: cert, KeyFile: key, CADir: empty}, []string{empty, "there are no files"}},
		{certificate.Options{CertFile: cert, KeyFile: key, CADir: filepath.Join(directory, "none")}, []string{"none"}},
		{certificate.Options{CertFile: cert, KeyFile: key, Protocols: "SSLv3"}, []string{"SSLv3"}},
		{certificate.Options{CertFile: cert, KeyFile: key, Ciphers: "RC4"}, []string{"RC4", "ECDHE-RSA-AES128-GCM-SHA256"}},
	} {
		_, err := certificate.Load(c.options)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", c.options, err, want)
			}
		}
	}
}

func TestParseProtocols(t *testing.T) {
	for text, want := range map[string][2]uint16{
		"": {tls.VersionTLS12, tls.VersionTLS13}, "TLSv1.2": {tls.VersionTLS12, tls.VersionTLS12},
		"tlsv1.3 TLSv1.2": {tls.VersionTLS12, tls.VersionTLS13}, "TLSv1 TLSv1.1": {tls.VersionTLS10, tls.VersionTLS11},
		"TLSv1.1 TLSv1.1 ": {tls.VersionTLS11, tls.VersionTLS11},
		"TLSv1 TLSv1.2":    {}, "TLSv1.4": {}, "TLSv1.2,TLSv1.3": {},
	} {
		least, most, err := certificate.ParseProtocols(text)
		if least != want[0] || most != want[1] || (err == nil) != (want[0] != 0) {
			t.Errorf("%q: %x to %x, %v", text, least, most, err)
		}
	}
}

func TestParseCiphers(t *testing.T) {
	suites, err := certificate.ParseCiphers("ECDHE-RSA-AES128-GCM-SHA256:ecdhe-ecdsa-aes256-gcm-sha384")
	want := []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}
	if err != nil || !slices.Equal(suites, want) {
		t.Errorf("%v, %v", suites, err)
	}
	if suites, err := certificate.ParseCiphers(""); suites != nil || err != nil {
		t.Errorf("%v, %v", suites, err)
	}
}

// TestKeeper changes files in every way a renewal does, and in the ways it goes wrong.
func TestKeeper(t *testing.T) {
	directory, authority := t.TempDir(), certtest.NewAuthority(t, "authority")
	write := func(name string) certificate.Options {
		pair := authority.Issue(t, name)
		return certificate.Options{
			CertFile: certtest.Write(t, directory, "server.crt", pair.Certificate),
			KeyFile:  certtest.Write(t, directory, "server.key", pair.Key),
		}
	}
	options := write("first")
	keeper, err := certificate.NewKeeper(options)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what, want string, wantChange bool) {
		t.Helper()
		changed, err := keeper.Refresh()
		if got := subject(t, keeper.Config()); got != want || changed != wantChange || err != nil {
			t.Errorf("%s: certificate of %s, changed %v, %v; want %s", what, got, changed, err, want)
		}
	}
	expect("nothing changed", "first", false)
	write("second, with a longer name")
	expect("written anew", "second, with a longer name", true)

	write("third, and its key is lost")
	key, err := os.ReadFile(options.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(options.KeyFile); err != nil {
		t.Fatal(err)
	}
	if changed, err := keeper.Refresh(); !changed || err == nil || !strings.Contains(err.Error(), options.KeyFile) {
		t.Errorf("without its key: changed %v, %v", changed, err)
	}
	expect("a fault is told once", "second, with a longer name", false)
	if err := keeper.Reload(); err == nil {
		t.Error("a certificate without its key is read again")
	}
	certtest.Write(t, directory, "new.key", key)
	if err := os.Rename(filepath.Join(directory, "new.key"), options.KeyFile); err != nil {
		t.Fatal(err)
	}
	expect("the key is back", "third, and its key is lost", true)

	random := make([]byte, 16)
	_, _ = rand.Read(random)
	if err := keeper.Set(certificate.Options{CertFile: certtest.Write(t, directory, "bad", random)}); err == nil {
		t.Error("a bad file is taken")
	}
	expect("other options that are wrong", "third, and its key is lost", false)
}
