package embedded

import (
	"sync"
	"time"
)

// mostPerMinute is how often a warning is logged in a minute. A member of another cluster makes etcd write some of them twenty
// times a second, on all members, until somebody repairs that member.
const mostPerMinute = 10

// repeats counts the warnings of etcd by their message. Etcd has a fixed number of messages.
type repeats struct {
	mu sync.Mutex
	of map[string]*minute // guarded by mu
}

// minute counts one message.
type minute struct {
	since time.Time
	n     int
}

// tooMany counts a message, and reports whether it was there too often in its present minute.
func (r *repeats) tooMany(message string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.of[message]
	if m == nil {
		if r.of == nil {
			r.of = map[string]*minute{}
		}
		m = &minute{since: now}
		r.of[message] = m
	}
	if now.Sub(m.since) >= time.Minute {
		*m = minute{since: now}
	}
	m.n++
	return m.n > mostPerMinute
}
