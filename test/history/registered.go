package history

import (
	"encoding/json"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// registration is one version of a worker's record; present is nil once it is gone or unreadable.
type registration struct {
	rev     int64
	seen    time.Time
	present *job.Worker
}

func (t *timeline) addWorker(v Version, name string) {
	g := registration{rev: v.Rev, seen: v.Seen}
	if w := (job.Worker{}); !v.Deleted && json.Unmarshal(v.Value, &w) == nil {
		g.present = &w
	}
	t.workers[name] = append(t.workers[name], g)
}

// accepting returns since when a worker has accepted runs of spec at a revision, without an interruption; zero if it did not. last
// is the latest time up to then at which it accepted them; zero if it never did.
func (t *timeline) accepting(worker string, spec *job.Spec, rev int64) (since, last time.Time) {
	for _, g := range t.workers[worker] {
		if g.rev >= rev {
			break
		}
		accepts := g.present != nil && g.present.Accepts(spec)
		switch {
		case accepts && since.IsZero():
			since = g.seen
		case !accepts && !since.IsZero():
			since, last = time.Time{}, g.seen
		}
	}
	return since, job.Later(last, since)
}
