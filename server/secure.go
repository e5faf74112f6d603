package server

// TLS: which certificates the server shows, and when it reads them again.

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/pyropedb/pyrope/server/certificate"
	"github.com/pyropedb/pyrope/server/config"
)

// certificateOptions are the options that make a TLS configuration.
func certificateOptions(o *config.Options) certificate.Options {
	demand := map[config.ClientAuth]tls.ClientAuthType{
		config.AuthNo: tls.NoClientCert, config.AuthOptional: tls.VerifyClientCertIfGiven,
		config.AuthYes: tls.RequireAndVerifyClientCert,
	}
	return certificate.Options{
		CertFile: o.CertFile, KeyFile: o.KeyFile, Password: o.KeyPassword, CAFile: o.CAFile, CADir: o.CADir,
		ClientAuth: demand[o.AuthClients], Protocols: o.Protocols, Ciphers: o.Ciphers,
		NoSessionTickets: !o.SessionCaching.IsOn(),
	}
}

// openCertificates reads the certificates, if the server speaks TLS.
func (s *Server) openCertificates() (err error) {
	if !s.options.SpeaksTLS() {
		return nil
	}
	if s.certificates, err = certificate.NewKeeper(certificateOptions(&s.options)); err != nil {
		return err
	}
	s.describeCertificate("the server starts")
	return nil
}

// describeCertificate logs which certificate is in force and why it was read, and warns when it has no time left.
func (s *Server) describeCertificate(reason string) {
	leaf := s.certificates.Config().Certificates[0].Leaf
	level, text := slog.LevelInfo, "certificate is read"
	if time.Now().After(leaf.NotAfter) {
		level, text = slog.LevelWarn, "certificate is read, and has expired"
	}
	s.log.Log(context.Background(), level, text, "subject", leaf.Subject.String(), "expires", leaf.NotAfter, "reason", reason)
}

// refreshCertificates looks whether a file has changed, when it is time to.
func (s *Server) refreshCertificates(now time.Time) {
	interval := time.Duration(s.state.Server.Current().CertRefresh.Value) * time.Second
	if s.certificates == nil || interval == 0 || now.Sub(s.certificatesSeen) < interval {
		return
	}
	s.certificatesSeen = now
	switch changed, err := s.certificates.Refresh(); {
	case err != nil:
		s.log.Error("the certificate's files have changed and cannot be used; the former certificate stays", "cause", err)
	case changed:
		s.describeCertificate("its files have changed")
	}
}

// Reload reads the certificates' files again, as after a SIGHUP. What cannot be read leaves the former ones in force.
func (s *Server) Reload() error {
	if s.certificates == nil {
		return nil
	}
	if err := s.certificates.Reload(); err != nil {
		return err
	}
	s.describeCertificate("asked to reload")
	return nil
}

// handshakeFailed logs a connection that ended in its handshake.
func (s *Server) handshakeFailed(remote string, cause error) {
	s.log.Warn("a TLS handshake failed", "cause", cause, "client", remote)
}
