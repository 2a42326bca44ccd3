package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// maxLists is how many lists one process sends at the same time. A list may have tens of megabytes. It stays in memory until
	// the client has read it or is disconnected.
	maxLists = 8
	// listPatience is how long the request for a list waits for a free place.
	listPatience = 2 * time.Second
	// maxStreams is how many streams of events and output one process serves at the same time.
	maxStreams = 1000
	// maxPages is the same for the streams of open pages, which share their work.
	maxPages = 2000
)

// bounded limits the lists and streams that are served at the same time, because they take much memory. It answers 503 with
// Retry-After beyond the limits. All other requests pass.
func (s *Server) bounded(next http.Handler) http.Handler {
	lists, streams, pages := make(chan struct{}, maxLists), make(chan struct{}, maxStreams), make(chan struct{}, maxPages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		places, patience, what := chan struct{}(nil), time.Duration(0), ""
		switch {
		case r.Method != http.MethodGet:
		case isList(r.URL.Path):
			places, patience, what = lists, listPatience, "lists"
		case r.URL.Path == "/v1/live":
			places, what = pages, "open pages"
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

// take takes a place, and reports whether it got one. It waits for at most patience, and only until the client disconnects.
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
