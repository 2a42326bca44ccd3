package node

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	// stayLeast is how long a member of several stays that was told to stop. Others that were told at the same time have
	// shown by then that they drain.
	stayLeast = 500 * time.Millisecond
	// stayLook is the pause from one look at them to the next.
	stayLook = 100 * time.Millisecond
	// stayBeyond is how much longer than our own shutdown grace it stays: what others stop after theirs takes time to end.
	stayBeyond = 5 * time.Second
)

// company is what is known of the others.
type company interface {
	Workers() []*job.Worker
	Runs(of string, keep func(*job.Run) bool) []*job.Run
	Current() (rev int64, heard time.Time)
}

// stay keeps a member that stops in the cluster while another worker drains, at most until it is time. If all are told to stop
// at once, as by `docker compose down`, those with nothing to do would take etcd's majority away from the one that executes
// something, which could not renew its session and would have to kill it.
func stay(others company, self string, until time.Time, now func() time.Time) {
	least := now().Add(stayLeast)
	for now().Before(until) {
		if !now().Before(least) && !drains(others, self, now()) {
			return
		}
		time.Sleep(stayLook)
	}
}

// drains says whether another worker drains and executes something. It is not known when nothing is heard of the store any more.
func drains(others company, self string, now time.Time) bool {
	if _, heard := others.Current(); now.Sub(heard) > maxSilence {
		return false
	}
	draining := make(map[string]bool)
	for _, w := range others.Workers() {
		draining[w.Name] = w.Draining && w.Name != self
	}
	return len(others.Runs("", func(r *job.Run) bool { return r.State == job.Running && draining[r.Worker] })) > 0
}
