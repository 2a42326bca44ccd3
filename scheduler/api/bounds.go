package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// maxLists is how many lists one process answers at a time. A list may have tens of megabytes, and a slow client holds it in
	// memory until it has read it or is disconnected.
	maxLists = 8
	// listPatience is how long a list waits for its turn.
	listPatience = 2 * time.Second
	// maxStreams is how many streams of events and output one process has at a time.
	maxStreams = 1000
)

// bounded refuses requests that would take too much memory together: the answer is 503 with Retry-After. All other requests pass.
func (s *Server) bounded(next http.Handler) http.Handler {
	lists, streams := make(chan struct{}, maxLists), make(chan struct{}, maxStreams)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		places, patience, what := chan struct{}(nil), time.Duration(0), ""
		switch {
		case r.Method != http.MethodGet:
		case isList(r.URL.Path):
			places, patience, what = lists, listPatience, "lists"
		case isStream(r.URL.Path):
			places, what = streams, "streams"
		}
		if places == nil {
			next.ServeHTTP(w, r)
			return
		}
		if !take(r, places, patience) {
			w.Header().Set("Retry-After", retryAfter)
			writeProblem(w, http.StatusServiceUnavailable,
				fmt.Sprintf("this replica answers %d %s already: try again, or ask another replica", cap(places), what))
			return
		}
		defer func() { <-places }()
		next.ServeHTTP(w, r)
	})
}

func isList(path string) bool {
	switch path {
	case "/v1/jobs", "/v1/runs", "/v1/cluster", "/v1/limits", "/v1/workers":
		return true
	}
	return false
}

func isStream(path string) bool {
	return path == "/v1/events" || strings.HasPrefix(path, "/v1/runs/") && strings.HasSuffix(path, "/logs")
}

// take takes a place, and waits for one as long as patience and the client allow.
func take(r *http.Request, places chan struct{}, patience time.Duration) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case places <- struct{}{}:
		return true
	case <-timer.C:
	case <-r.Context().Done():
	}
	return false
}
