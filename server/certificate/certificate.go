// Package certificate makes TLS configurations of servers, and of the clients that measure them, out of files, and notices when the files change.
//
//	PEM    certificate [intermediates …] in CertFile, key in KeyFile or in CertFile too
//	PKCS12 certificate, intermediates and key in CertFile, behind Password
//
// Authorities that may sign clients' certificates are PEM: one file, every file of a directory, or both.
package certificate

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	pkcs12 "software.sslmate.com/src/go-pkcs12"
)

// Options say what a configuration is made of.
type Options struct {
	// CertFile holds the server's certificate: PEM, or PKCS#12 with its key.
	CertFile string
	// KeyFile holds the key of a PEM certificate. Empty: it lies in CertFile.
	KeyFile string
	// Password opens a PKCS#12 file. Encrypted PEM keys are not read.
	Password string
	// CAFile and CADir hold the authorities for clients' certificates. Empty: none from there.
	CAFile, CADir string
	// ClientAuth says whether clients must show a certificate.
	ClientAuth tls.ClientAuthType
	// Protocols and Ciphers are texts for ParseProtocols and ParseCiphers.
	Protocols, Ciphers string
	// NoSessionTickets makes every handshake a full one.
	NoSessionTickets bool
}

// Load reads the files and returns the configuration they make.
func Load(o Options) (*tls.Config, error) {
	least, most, err := ParseProtocols(o.Protocols)
	if err != nil {
		return nil, err
	}
	ciphers, err := ParseCiphers(o.Ciphers)
	if err != nil {
		return nil, err
	}
	pair, err := loadPair(o)
	if err != nil {
		return nil, err
	}
	authorities, err := loadAuthorities(o)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: o.ClientAuth, ClientCAs: authorities,
		MinVersion: least, MaxVersion: most, CipherSuites: ciphers, SessionTicketsDisabled: o.NoSessionTickets,
	}, nil
}

// LoadClient returns the configuration of a client that checks the name of the server, which it also sends
// as SNI. The certificate, if there is one, is the client's own, and the authorities are those that may
// have signed the server's: none given are the system's. insecure takes any server.
func LoadClient(o Options, serverName string, insecure bool) (*tls.Config, error) {
	c := &tls.Config{ServerName: serverName, InsecureSkipVerify: insecure}
	var err error
	if c.MinVersion, c.MaxVersion, err = ParseProtocols(o.Protocols); err != nil {
		return nil, err
	}
	if c.CipherSuites, err = ParseCiphers(o.Ciphers); err != nil {
		return nil, err
	}
	if c.RootCAs, err = loadAuthorities(o); err != nil || o.CertFile == "" {
		return c, err
	}
	pair, err := loadPair(o)
	c.Certificates = []tls.Certificate{pair}
	return c, err
}

// loadPair reads the certificate and its key.
func loadPair(o Options) (tls.Certificate, error) {
	text, err := os.ReadFile(o.CertFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("cannot read the certificate: %w", err)
	}
	if !isPEM(text) {
		pair, err := decodePKCS12(text, o.Password)
		if err != nil {
			err = fmt.Errorf("cannot read the certificate %s, which is not PEM, as PKCS#12: %w", o.CertFile, err)
		}
		return pair, err
	}
	key, keyFile := text, o.CertFile
	if o.KeyFile != "" {
		keyFile = o.KeyFile
		if key, err = os.ReadFile(keyFile); err != nil {
			return tls.Certificate{}, fmt.Errorf("cannot read the key: %w", err)
		}
	}
	if isEncrypted(key) {
		return tls.Certificate{}, fmt.Errorf("cannot read the key %s: encrypted PEM keys are not supported; PKCS#12 files with a password are", keyFile)
	}
	pair, err := tls.X509KeyPair(text, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("cannot use the certificate %s with the key %s: %w", o.CertFile, keyFile, err)
	}
	return pair, nil
}

// isPEM tells text from the bytes of a PKCS#12 file, which begin with an ASN.1 sequence.
func isPEM(text []byte) bool {
	return bytes.Contains(text, []byte("-----BEGIN ")) || len(text) == 0 || text[0] != 0x30
}

// isEncrypted tells whether a PEM text has a key that a password protects.
func isEncrypted(text []byte) bool {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
			return true
		}
	}
	return false
}

// decodePKCS12 opens a PKCS#12 file.
func decodePKCS12(text []byte, password string) (tls.Certificate, error) {
	key, leaf, chain, err := pkcs12.DecodeChain(text, password)
	if err != nil {
		return tls.Certificate{}, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return tls.Certificate{}, fmt.Errorf("its key is a %T, which cannot sign", key)
	}
	pair := tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: signer, Leaf: leaf}
	for _, issuer := range chain {
		pair.Certificate = append(pair.Certificate, issuer.Raw)
	}
	return pair, nil
}

// loadAuthorities reads the authorities for clients' certificates; nil when none are given.
func loadAuthorities(o Options) (*x509.CertPool, error) {
	if o.CAFile == "" && o.CADir == "" {
		return nil, nil
	}
	pool := x509.NewCertPool()
	files, err := authorityFiles(o)
	if err != nil {
		return nil, err
	}
	found := false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the authority: %w", err)
		}
		if ok := pool.AppendCertsFromPEM(text); !ok && file == o.CAFile {
			return nil, fmt.Errorf("cannot use the authority %s: it holds no certificate in PEM", file)
		} else if ok {
			found = true
		}
	}
	if !found {
		return nil, fmt.Errorf("cannot use the authorities in %s: no file there holds a certificate in PEM", o.CADir)
	}
	return pool, nil
}

// authorityFiles are the files that may hold authorities: the one named, and the plain files of the directory.
func authorityFiles(o Options) ([]string, error) {
	var files []string
	if o.CAFile != "" {
		files = append(files, o.CAFile)
	}
	if o.CADir == "" {
		return files, nil
	}
	entries, err := os.ReadDir(o.CADir)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authorities: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(o.CADir, entry.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
	}
	if len(files) == 0 {
		return nil, errors.New("cannot use the authorities in " + o.CADir + ": there are no files")
	}
	return files, nil
}
