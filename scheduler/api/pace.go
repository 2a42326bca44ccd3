package api

import (
	"net/http"
	"time"

	"golang.org/x/time/rate"
)

// A refusal with its connection takes some 50 µs of a processor. Without a bound, strangers could take as much as they like from
// the jobs and the store on the same machine.
const (
	refusalsAnswered = 500         // a second, without a delay
	longestDelay     = time.Second // of one refusal
)

// pace delays refusals beyond a rate. The server reads the next request of a connection only after its answer, so a delay slows
// down the client.
type pace struct{ refusals *rate.Limiter }

func newPace() *pace { return &pace{rate.NewLimiter(refusalsAnswered, refusalsAnswered)} }

// delay returns how long the answer to a refused request must wait.
func (p *pace) delay(now time.Time) time.Duration {
	reserved := p.refusals.ReserveN(now, 1)
	wait := reserved.DelayFrom(now)
	if wait > longestDelay {
		reserved.CancelAt(now) // otherwise refusals after a flood would wait as long as the flood lasted
		return longestDelay
	}
	return wait
}

// slowDown waits before the answer to a refused request, if there are many of them. Meanwhile the connection makes room for others
// as an idle one does.
func (s *Server) slowDown(r *http.Request) {
	if _, ok := r.Context().Value(servedKey{}).(served); !ok {
		return
	}
	wait := s.pace.delay(time.Now())
	if wait == 0 {
		return
	}
	defer interrupt(r, true)()
	select {
	case <-time.After(wait):
	case <-r.Context().Done():
	case <-s.stopping.Done():
	}
}
