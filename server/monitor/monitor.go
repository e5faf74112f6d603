// Package monitor answers HTTP: figures for Prometheus, probes for whoever supervises the process, and a page that
// draws the figures. It reads and never writes, asks for no password, and shows no keys and no values.
//
//	/metrics   figures as text for Prometheus        /healthz   200 as long as the process answers
//	/readyz    200, or 503 with the reason           /          the page, which asks /figures every second
package monitor

import (
	_ "embed"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/pyropedb/pyrope/server/command"
)

// Source is what the figures come from.
type Source interface {
	// Ready returns why the server should get no work now, or nil. Any goroutine.
	Ready() error
	// Metrics returns the figures; ok is false as long as there are none. Any goroutine.
	Metrics() (metrics command.Metrics, ok bool)
}

// Server answers until Close.
type Server struct {
	http     http.Server
	listener net.Listener
	done     chan struct{}
}

// Bounds on what a stranger may hold up.
const (
	headerTimeout  = 5 * time.Second
	answerTimeout  = 10 * time.Second
	idleTimeout    = 60 * time.Second
	maxHeaderBytes = 8 << 10
)

// Listen answers at an address.
func Listen(address string, source Source, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{listener: listener, done: make(chan struct{})}
	s.http = http.Server{
		Handler: routes(source), ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: answerTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("no more HTTP is answered", "cause", err)
		}
	}()
	return s, nil
}

// Address is what is listened on.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// Close ends it with all its connections.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

//go:embed page.html
var page []byte

// pagePolicy allows the page what lies in it, and to ask where it came from.
const pagePolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'"

// routes says what is answered where.
func routes(source Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", pagePolicy)
		_, _ = w.Write(page) // a peer that is gone needs no answer; so below
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := source.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	withMetrics := func(answer func(http.ResponseWriter, *command.Metrics)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			metrics, ok := source.Metrics()
			if !ok {
				http.Error(w, "there are no figures yet", http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Cache-Control", "no-store")
			answer(w, &metrics)
		}
	}
	mux.HandleFunc("GET /metrics", withMetrics(func(w http.ResponseWriter, m *command.Metrics) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(appendMetrics(nil, m))
	}))
	mux.HandleFunc("GET /figures", withMetrics(func(w http.ResponseWriter, m *command.Metrics) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(m)
	}))
	return mux
}
