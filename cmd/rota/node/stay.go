package node

import (
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/backend"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	// stayLeast is the minimum time for which a stopping member of a cluster stays. If other members were stopped at the same
	// time, their records show within this time that they drain.
	stayLeast = 500 * time.Millisecond
	// stayPoll is the time between two checks of the others.
	stayPoll = 100 * time.Millisecond
	// stayBeyond is how long a member may stay after its own shutdown grace has ended. Another node needs time to stop after its
	// grace.
	stayBeyond = 5 * time.Second
)

// observer reads the other workers and their runs.
type observer interface {
	Workers() []*job.Worker
	RunsThat(accept func(*job.Run) bool) []*job.Run
	Current() (rev int64, heard time.Time)
}

// stay keeps a stopping member in the cluster while another worker drains, at most until the time until. Suppose that all nodes
// are stopped at once, as by `docker compose down`. Without stay, the idle nodes would leave, and etcd would lose its majority. A
// node that still executes an attempt could not renew its session, and would have to kill the attempt.
func stay(others observer, self string, until time.Time, now func() time.Time) {
	least := now().Add(stayLeast)
	for now().Before(until) {
		if !now().Before(least) && !otherDrains(others, self, now()) {
			return
		}
		time.Sleep(stayPoll)
	}
}

// otherDrains reports whether another worker drains and still executes runs. It returns false if the watch of the store is
// silent.
func otherDrains(others observer, self string, now time.Time) bool {
	if _, heard := others.Current(); now.Sub(heard) > backend.MaxSilence {
		return false
	}
	draining := make(map[string]bool)
	for _, w := range others.Workers() {
		draining[w.Name] = w.Draining && w.Name != self
	}
	return len(others.RunsThat(func(r *job.Run) bool { return r.State == job.Running && draining[r.Worker] })) > 0
}
