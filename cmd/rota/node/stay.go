package node

import (
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/backend"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	// stayLeast is how long a stopping member of several stays at least. Others that were stopped at the same time show by then
	// that they drain.
	stayLeast = 500 * time.Millisecond
	// stayPoll is the time between two checks of the others.
	stayPoll = 100 * time.Millisecond
	// stayBeyond is how much longer than its own shutdown grace a member stays: another node needs time to stop after its grace.
	stayBeyond = 5 * time.Second
)

// observer knows the other workers and what they execute.
type observer interface {
	Workers() []*job.Worker
	Runs(of string, keep func(*job.Run) bool) []*job.Run
	Current() (rev int64, heard time.Time)
}

// stay keeps a stopping member in the cluster while another worker drains, but not after until. If all nodes are stopped at once,
// as by `docker compose down`, the idle ones would otherwise take etcd's majority away. The node that still executes something
// could not renew its session, and would have to kill it.
func stay(others observer, self string, until time.Time, now func() time.Time) {
	least := now().Add(stayLeast)
	for now().Before(until) {
		if !now().Before(least) && !otherDrains(others, self, now()) {
			return
		}
		time.Sleep(stayPoll)
	}
}

// otherDrains reports whether another worker drains and executes something. It returns false once the watch of the store is
// silent.
func otherDrains(others observer, self string, now time.Time) bool {
	if _, heard := others.Current(); now.Sub(heard) > backend.MaxSilence {
		return false
	}
	draining := make(map[string]bool)
	for _, w := range others.Workers() {
		draining[w.Name] = w.Draining && w.Name != self
	}
	return len(others.Runs("", func(r *job.Run) bool { return r.State == job.Running && draining[r.Worker] })) > 0
}
