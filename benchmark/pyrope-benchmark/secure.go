package main

import (
	"crypto/tls"
	"errors"

	"github.com/pyropedb/pyrope/server/certificate"
)

// secure are the flags that go with --tls.
type secure struct {
	SNI       string `name:"sni" placeholder:"NAME" help:"Name of the server for TLS; the default is -h."`
	CACert    string `name:"cacert" placeholder:"FILE" help:"Certificates to trust, PEM; the default are the system's."`
	CACertDir string `name:"cacertdir" placeholder:"DIR" help:"Directory of such files."`
	Insecure  bool   `help:"Do not check the server's certificate."`
	Cert      string `placeholder:"FILE" help:"The client's certificate, PEM."`
	Key       string `placeholder:"FILE" help:"The key of --cert, PEM."`
	Ciphers   string `name:"tls-ciphers" placeholder:"LIST" help:"Cipher suites for TLS up to 1.2, with colons between them, by OpenSSL's names."`

	config *tls.Config // what they come to; nil without --tls
}

// readTLS sets the configuration that the flags ask for.
func (o *options) readTLS() (err error) {
	s := &o.secure
	if !o.TLS {
		if s.Insecure || s.SNI+s.CACert+s.CACertDir+s.Cert+s.Key+s.Ciphers != "" {
			return errors.New("--sni, --cacert, --cacertdir, --insecure, --cert, --key and --tls-ciphers need --tls")
		}
		return nil
	}
	if (s.Cert == "") != (s.Key == "") {
		return errors.New("--cert and --key go together")
	}
	name := s.SNI
	if name == "" {
		name = o.Host
	}
	own := certificate.Options{CertFile: s.Cert, KeyFile: s.Key, CAFile: s.CACert, CADir: s.CACertDir, Ciphers: s.Ciphers}
	s.config, err = certificate.LoadClient(own, name, s.Insecure)
	return err
}
