package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

var (
	errStopping = fmt.Errorf("this process is stopping: %w", ErrUnavailable)
	errDraining = errors.New("the process is draining: it is about to stop")
	errBehind   = errors.New("the client is too slow, or the source has ended")
)

// Server is the HTTP interface of one process.
type Server struct {
	cfg       Config
	back      Backend
	log       hclog.Logger
	now       func() time.Time
	handler   http.Handler
	page      http.Handler          // nil: this process has no page
	rights    map[string]auth.Right // by the id of the operation
	v1        *http.ServeMux        // the operations below /v1
	closed    map[string]bool       // the patterns of v1 that need a right; constant after New
	cluster   sharedCluster
	refusals  *refusals
	pace      *pace
	bounds    *bounds
	signIns   *limiter // by principal
	forwarded forwarded
	walks     chan struct{} // holds a token for each walk over all jobs or runs
	live      atomic.Int64  // open streams of pages

	draining atomic.Bool
	stopping context.Context // ends when Serve starts to shut down; all streams end with it
	stop     context.CancelFunc
	inFlight sync.WaitGroup
}

// New returns a server. It starts no goroutine.
func New(cfg Config, back Backend, log hclog.Logger) *Server {
	s := &Server{cfg: cfg, back: back, log: log, now: time.Now, rights: map[string]auth.Right{}, closed: map[string]bool{}}
	s.refusals = &refusals{now: s.now, clients: map[string]*refusedClient{}}
	s.pace = newPace()
	s.walks = newWalks()
	s.forwarded.sessions = map[string]auth.Key{}
	s.bounds, s.signIns = newBounds(), newLimiter(s.now, signInsPerSecond, signInsAtOnce)
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.handler = s.routes()
	return s
}

// Handler returns the handler of all requests, for a listener of the caller.
func (s *Server) Handler() http.Handler { return s.handler }

// Drain makes the process unready, so that clients stop sending new requests. The server still answers requests.
func (s *Server) Drain() { s.draining.Store(true) }

// Listen opens a listener at an address. Its errors say how to solve the problem.
func Listen(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("address %s is in use: another rota? choose another with http.listen: %w", addr, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("address %s is not allowed to this user: choose a port above 1023 with http.listen: %w", addr, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("address %s is not one of this machine: choose another with http.listen: %w", addr, err)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return ln, nil
}

// Run listens and serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	ln, err := Listen(s.cfg.Listen)
	if err != nil {
		return err
	}
	return s.Serve(ctx, ln)
}

// Serve answers requests on ln until ctx ends, and closes ln. Then it ends streams at once, and other requests after
// Config.ShutdownGrace. A Server can serve only once. It does the same for sockets, which are Unix sockets and need no TLS.
func (s *Server) Serve(ctx context.Context, ln net.Listener, sockets ...net.Listener) error {
	// Requests may continue after the end of ctx, for the grace period.
	base, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	connections := newConnections(connectionLimit(), func() { s.refused(RefusedBusy) })
	srv := &http.Server{
		Handler:           busy(s.handler),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ConnState:         connections.state,
		MaxHeaderBytes:    64 << 10,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxConcurrent, WriteByteTimeout: s.cfg.WriteTimeout},
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withConn(connections),
		ErrorLog:          s.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	serve := srv.Serve
	if s.cfg.TLS != nil {
		greets := newGreeter(max(1, runtime.GOMAXPROCS(0)/2), srv.ReadHeaderTimeout)
		srv.TLSConfig = greets.config(s.cfg.TLS)
		serve = func(ln net.Listener) error { return srv.ServeTLS(greetings{ln, greets}, "", "") }
	}
	served := make(chan error, 2+len(sockets))
	var wg sync.WaitGroup
	if s.cfg.TLS != nil && s.cfg.Plain {
		secure, plain, run := split(ln, connectionLimit(), srv.ReadHeaderTimeout)
		wg.Go(run)
		wg.Go(func() { served <- srv.Serve(plain) })
		wg.Go(func() { served <- serve(secure) })
		s.log.Warn("the api accepts requests without tls: end this by http.tls.optional: false", "addr", ln.Addr().String())
	} else {
		wg.Go(func() { served <- serve(ln) })
	}
	for _, socket := range sockets {
		wg.Go(func() { served <- srv.Serve(socket) })
		s.log.Info("http server listening", "addr", socket.Addr().String())
	}
	defer wg.Wait()
	s.log.Info("http server listening", "addr", ln.Addr().String(), "tls", s.cfg.TLS != nil)

	select {
	case err := <-served:
		s.stop()
		cutOff()
		_ = srv.Close()
		s.inFlight.Wait()
		return fmt.Errorf("serve http on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.Drain()
	s.stop()
	grace, cancel := context.WithTimeout(base, s.cfg.ShutdownGrace)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		s.log.Warn("requests cut off at shutdown", "grace", s.cfg.ShutdownGrace.String(), "err", err)
		cutOff()
		_ = srv.Close()
	}
	s.inFlight.Wait()
	return nil
}
