package store

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// The pace of requests that are not full. Under load, a request costs more than the writes in it. Without the pace, a store on a
// fast disk would get one request for each write. The pace does not delay a write that a client waits for. Writes about a run that
// was armed ahead of its time are patient: they are made early, or nobody waits for them.
const (
	pace   = 5 * time.Millisecond  // from one request to the next, on average
	burst  = 8                     // how many may be sent at once
	gather = 20 * time.Millisecond // from the request before to one that has only patient writes
)

// hurriesLocked reports whether the next request does not keep to the pace.
func (g *group) hurriesLocked() bool { return g.awaited > 0 || g.readyLocked() >= maxWrites }

// waitLocked returns how long it takes until a request with the ready writes may leave.
func (g *group) waitLocked() time.Duration {
	switch {
	case g.hurriesLocked():
		return 0
	case g.eager == 0:
		return time.Until(job.Later(g.turn, g.patience))
	}
	return time.Until(g.turn)
}

// patientDecision reports whether the write of a decision is patient. Such a decision arms a run ahead of its time, or is about no
// run at all, as a deletion of history. A backfill creates its next run only after the answer.
func patientDecision(d *job.Decision) bool {
	return d.Backfill == nil && (d.Run == nil || d.Run.State == job.Armed && armedAhead(d.Run))
}

// patientRun reports whether the write by which a worker makes r from an assigned run is patient. Such a write is a claim before
// the start, or the end of a run. A run that is due when it is armed may be one of many steps, or somebody waits for it.
func patientRun(r *job.Run, now time.Time) bool {
	return armedAhead(r) && (r.State.Terminal() || r.State == job.Running && r.Started.After(now))
}

// armedAhead reports whether r was given to its worker before it was due.
func armedAhead(r *job.Run) bool { return !r.Armed.IsZero() && r.Armed.Before(r.Due) }
