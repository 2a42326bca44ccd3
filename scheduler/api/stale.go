package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// AgeHeader says how old an answer may be, in whole seconds. It is absent while the replica hears from the store.
const AgeHeader = "Rota-Age"

// StaleAfter is the age from which an answer says how old it is. A healthy replica hears from the store every three seconds.
const StaleAfter = 6 * time.Second

// sayAge sets AgeHeader on an answer that may be outdated.
func (s *Server) sayAge(w http.ResponseWriter) {
	if s.back.Age == nil {
		return
	}
	if age := s.back.Age(); age > StaleAfter {
		w.Header().Set(AgeHeader, strconv.Itoa(int(age/time.Second)))
	}
}

// ReplicasHeader asks for the replicas of the cluster, and has them in the answer: host:port of each, separated by commas.
const ReplicasHeader = "Rota-Replicas"

// sayReplicas sets ReplicasHeader on the answer to a client that asks for it and has proven who it is.
func (s *Server) sayReplicas(w http.ResponseWriter, r *http.Request) {
	if s.back.Addresses == nil || r.Header.Get(ReplicasHeader) == "" || s.cfg.Auth != nil && proven(r.Context()).Anonymous() {
		return
	}
	if addrs := s.back.Addresses(); len(addrs) > 0 {
		w.Header().Set(ReplicasHeader, strings.Join(addrs, ","))
	}
}
