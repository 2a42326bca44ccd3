package job

import (
	"strings"
	"sync"
)

// notifies are values of Spec.Notify that many definitions have in common: a map of its own would take half a kilobyte of
// each job.
type notifies struct {
	mu    sync.Mutex
	known map[string]Notify // guarded by mu, by what they say; at most maxNotifies
}

const maxNotifies = 256

// sharedNotifies are those of the specs that were read.
var sharedNotifies notifies

// share returns a Notify that says the same as n. It must not be changed.
func (s *notifies) share(n Notify) Notify {
	if len(n) != 1 { // the usual number, and then there is no order of names
		return n
	}
	var key strings.Builder
	for name, to := range n {
		key.WriteString(name + "\x00" + to.URL)
		for _, o := range to.When {
			key.WriteString("\x00" + string(o))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.known[key.String()]; ok {
		return known
	}
	if s.known == nil || len(s.known) >= maxNotifies {
		s.known = make(map[string]Notify)
	}
	s.known[key.String()] = n
	return n
}
