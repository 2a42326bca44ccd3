package api

import (
	"net/http"
	"strconv"
	"time"
)

// AgeHeader says how old an answer may be, in whole seconds. It is absent while the replica hears from the store.
const AgeHeader = "Rota-Age"

// staleAfter is the age from which an answer says how old it is. A healthy replica hears from the store every three seconds.
const staleAfter = 6 * time.Second

// sayAge sets AgeHeader on an answer that may be outdated.
func (s *Server) sayAge(w http.ResponseWriter) {
	if s.back.Age == nil {
		return
	}
	if age := s.back.Age(); age > staleAfter {
		w.Header().Set(AgeHeader, strconv.Itoa(int(age/time.Second)))
	}
}
