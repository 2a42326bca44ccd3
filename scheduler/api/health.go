package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Health has the checks of a process for its probes.
type Health struct {
	Live   []Check                     // checks of the process alone; they never call the store.
	Ready  []Check                     // checks whether the process should get requests.
	Leader func(context.Context) error // returns nil if this replica leads, else the reason; a nil func never leads.
}

// Check is one condition. Probe returns nil if the condition holds. It returns soon after its context ends.
type Check struct {
	Name  string
	Probe func(context.Context) error
}

// probeTimeout bounds all checks together. By default, Kubernetes waits one second for a probe, so the answer must come earlier.
const probeTimeout = 900 * time.Millisecond

func (s *Server) registerHealth(mux *http.ServeMux) {
	live := s.probe("livez", func() []Check { return s.back.Health.Live })
	ready := s.probe("readyz", s.readiness)
	mux.Handle("GET /livez", live)
	mux.Handle("GET /readyz", ready)
	mux.Handle("GET /healthz", ready)
	mux.Handle("GET /health/liveness", live)
	mux.Handle("GET /health/readiness", ready)
	mux.HandleFunc("GET /leader", s.leader)
}

// isProbe reports whether a path is one that other programs ask all the time, and whose answer is short.
func isProbe(path string) bool {
	switch path {
	case "/livez", "/readyz", "/healthz", "/health/liveness", "/health/readiness", "/leader", "/version", "/clock":
		return true
	}
	return false
}

// readiness returns the checks of readiness. The first one fails while the process drains.
func (s *Server) readiness() []Check {
	draining := Check{Name: "serving", Probe: func(context.Context) error {
		if s.draining.Load() {
			return errDraining
		}
		return nil
	}}
	return append([]Check{draining}, s.back.Health.Ready...)
}

// probe returns a handler that answers 200 if all checks pass, otherwise 503 and the reasons. ?verbose lists all checks, and
// ?exclude=name skips one.
func (s *Server) probe(name string, checks func() []Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		var included []Check
		for _, c := range checks() {
			if !slices.Contains(query["exclude"], c.Name) {
				included = append(included, c)
			}
		}
		results := runChecks(r.Context(), included)

		_, verbose := query["verbose"]
		failed := errors.Join(results...) != nil
		var b strings.Builder
		for i, err := range results {
			switch {
			case err != nil:
				fmt.Fprintf(&b, "[-]%s failed: %s\n", included[i].Name, strings.ReplaceAll(err.Error(), "\n", "; "))
			case verbose:
				fmt.Fprintf(&b, "[+]%s ok\n", included[i].Name)
			}
		}
		status := http.StatusOK
		switch {
		case failed:
			status = http.StatusServiceUnavailable
			fmt.Fprintf(&b, "%s check failed\n", name)
		case verbose:
			fmt.Fprintf(&b, "%s check passed\n", name)
		default:
			b.WriteString("ok\n")
		}
		plain(w, status, b.String())
	})
}

// runChecks runs the checks concurrently. It returns one error for each check, nil for a check that passed.
func runChecks(ctx context.Context, checks []Check) []error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	results := make([]error, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					results[i] = fmt.Errorf("check panicked: %v", p)
				}
			}()
			results[i] = c.Probe(ctx)
		})
	}
	wg.Wait()
	return results
}

func (s *Server) leader(w http.ResponseWriter, r *http.Request) {
	if s.back.Health.Leader == nil {
		plain(w, http.StatusServiceUnavailable, "this process never leads\n")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
	defer cancel()
	if err := s.back.Health.Leader(ctx); err != nil {
		plain(w, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	plain(w, http.StatusOK, "this replica leads\n")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may be gone
}
