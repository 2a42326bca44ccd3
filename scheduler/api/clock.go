package api

import (
	"encoding/json"
	"net/http"
	"time"
)

// ClockReading is the answer at /clock. Received is the time of the request, and Answered the time of the answer. Both are by the
// clock with which the process makes decisions.
type ClockReading struct {
	Node     string    `json:"node"`
	Term     int64     `json:"term,omitempty"` // the term in which the process leads; 0 for none
	Received time.Time `json:"received"`
	Answered time.Time `json:"answered"`
}

func (s *Server) clock(w http.ResponseWriter, _ *http.Request) {
	v := ClockReading{Node: s.cfg.Version.Node, Received: s.back.Clock()}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if s.back.Term != nil {
		v.Term = s.back.Term()
	}
	v.Answered = s.back.Clock()
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
