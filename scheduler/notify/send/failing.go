package send

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// failed records at now that a sending failed, and whether the message was given up.
func (q *queue) failed(now time.Time, err error, gaveUp bool) {
	q.queues.mu.Lock()
	defer q.queues.mu.Unlock()
	if q.failures++; q.failures == 1 {
		q.failing = job.Undelivered{Notifier: q.to.name, Since: now}
	}
	q.failing.Cause, q.failing.GaveUp = err.Error(), time.Time{}
	if gaveUp {
		q.failing.GaveUp = now
	}
}

// arrivedLocked records that a message arrived. It also ends what other queues of this name report about messages that they gave
// up, because somebody has corrected the URL since. qs.mu is held.
func (q *queue) arrivedLocked() {
	for _, other := range q.queues.queues {
		if other == q || other.to.name == q.to.name && !other.failing.GaveUp.IsZero() {
			other.failing, other.failures = job.Undelivered{}, 0
		}
	}
}

// Undelivered returns the notifiers whose messages do not arrive, the longest first. A single failure that was not repeated yet
// does not count. A message that was given up counts for as long as keep.
func (qs *Queues) Undelivered(now time.Time, keep time.Duration) (list []job.Undelivered) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range qs.queues {
		if gaveUp := q.failing.GaveUp; gaveUp.IsZero() && q.failures > 1 || now.Sub(gaveUp) < keep {
			list = append(list, q.failing)
		}
	}
	slices.SortFunc(list, func(a, b job.Undelivered) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Notifier, b.Notifier))
	})
	return list
}
