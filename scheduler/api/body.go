package api

import (
	"bytes"
	queue "container/list" // the package has a function named list
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// smallBody is the length of a body, in bytes, that the server reads after a refusal, so that the connection stays usable. A new
// connection would cost more than the rest of the request.
const smallBody = 16 << 10

// leaveBody prepares the answer to a request whose body no handler reads. The server itself discards a small body within the time
// of a request. Otherwise the answer closes the connection.
func (s *Server) leaveBody(w http.ResponseWriter, r *http.Request) {
	_, read := r.Body.(readBody)
	switch {
	case r.ContentLength == 0 || read:
	case r.ContentLength > 0 && r.ContentLength <= smallBody:
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.cfg.RequestTimeout))
	default:
		w.Header().Set("Connection", "close")
	}
}

// takeBody reads a body that bounded has not read, before the handler runs. It limits the size of bodies, and the number of large
// ones.
func (s *Server) takeBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, done := r.Body.(readBody); done || r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		if r.ContentLength > MaxBody {
			s.leaveBody(w, r)
			writeProblem(w, http.StatusRequestEntityTooLarge, tooLarge)
			return
		}
		bodies, arriving := s.bounds.bodies[known(r)], s.bounds.large[known(r)]
		end, ok := s.admit(w, r, bodies)
		if !ok {
			return
		}
		defer end()
		if len(bodies.free) == cap(bodies.free) {
			arriving.makeRoom()
		}
		leave, ok := s.place(w, r, bodies)
		if !ok {
			return
		}
		defer leave()
		if s.receive(w, r, arriving) {
			next.ServeHTTP(w, r)
		}
	})
}

var tooLarge = fmt.Sprintf("the body has more than %d bytes", MaxBody)

// receive reads the body of a request within its time. Then it removes the read deadline, because the deadline would cancel a slow
// handler. It returns false if the body does not arrive; then the request has its answer. Meanwhile the connection counts as idle,
// and the body as one of those that are on their way.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, arriving *arrivals) bool {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.cfg.RequestTimeout))
	resume := interrupt(r, false)
	arrived := arriving.await(func() { _ = control.SetReadDeadline(time.Now()) })
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	inTime := arrived()
	resume()
	var large *http.MaxBytesError
	var timeout net.Error
	switch {
	case err == nil && inTime:
		_ = control.SetReadDeadline(time.Time{}) // in the other cases the deadline stays: net/http must not wait for the rest
		r.Body = readBody{bytes.NewReader(b), b}
		return true
	case errors.As(err, &large):
		writeProblem(w, http.StatusRequestEntityTooLarge, tooLarge)
	case !inTime, errors.As(err, &timeout) && timeout.Timeout():
		writeProblem(w, http.StatusRequestTimeout, "the body did not arrive in time")
	default:
		writeProblem(w, http.StatusBadRequest, "the body did not arrive: "+err.Error())
	}
	return false
}

// arrivals has the bodies that are on their way. If there are too many, the one that has been on its way for longest makes room.
type arrivals struct {
	limit int

	mu      sync.Mutex
	waiting queue.List // guarded by mu: the function cut of each body, the oldest first
}

// await counts a body until arrived, which returns false if the body had to make room. Then cut was called, before arrived
// returned.
func (a *arrivals) await(cut func()) (arrived func() bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting.Len() >= a.limit {
		a.makeRoomLocked()
	}
	inTime := true // guarded by mu
	body := a.waiting.PushBack(func() { inTime = false; cut() })
	return func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.waiting.Remove(body) // nothing if it made room
		return inTime
	}
}

// makeRoom ends the wait for the body that has been on its way for longest.
func (a *arrivals) makeRoom() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.makeRoomLocked()
}

func (a *arrivals) makeRoomLocked() {
	if oldest := a.waiting.Front(); oldest != nil {
		cut, _ := a.waiting.Remove(oldest).(func())
		cut()
	}
}
