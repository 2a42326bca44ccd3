package election

import (
	"sync/atomic"
	"time"
)

// How long a lease is kept while nothing is answered that only etcd's majority can answer: silentTTLs of its TTLs, and leastSilence
// at least. Renewals alone do not vouch for it: a member that takes nothing on any more, say since its disk hangs, still passes them
// on to the one that leads etcd, so that its leader would lead for ever and write nothing. It is longer than etcd takes to elect,
// twice, and than any single answer that is slow; where leases are short, whoever asks may do so every few seconds all the same.
const (
	silentTTLs   = 2
	leastSilence = 10 * time.Second
)

// silence is that time for a lease of ttl.
func silence(ttl time.Duration) time.Duration { return max(silentTTLs*ttl, leastSilence) }

// QuorumContact is when etcd's majority answered last, by its answers to reads and writes. The zero value has heard nothing. Its methods may
// be called at any time from anywhere.
type QuorumContact struct{ at atomic.Pointer[time.Time] }

// Record takes over that an answer has come now, by the monotonic clock.
func (h *QuorumContact) Record(now time.Time) { h.at.Store(&now) }

// since returns when the majority answered last, or granted if that is later.
func (h *QuorumContact) since(granted time.Time) time.Time {
	if at := h.at.Load(); at != nil && at.After(granted) {
		return *at
	}
	return granted
}
