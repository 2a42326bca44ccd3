package backend

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// hookMoves has the other jobs that each hook has started, by the name of the hook. The zero value is ready to use.
type hookMoves struct {
	mu    sync.Mutex
	known map[string]hookMove // guarded by mu
}

type hookMove struct {
	rev  int64    // of the definition of the present job, since which the others have no new runs
	jobs []string // their names
}

// delivered returns the run that an earlier delivery with this key has made of another job. Since then, the hook may have moved
// from that job to j.
func (b *Backend) delivered(ctx context.Context, hook, key string, j *job.Job) (job.Run, bool) {
	for _, other := range b.startedBy(hook, j) {
		if there, ok := b.earlier(ctx, &job.Run{Job: other, ID: runID(key, time.Time{}), Key: key}); ok {
			return there, true
		}
	}
	return job.Run{}, false
}

// startedBy returns the jobs with runs of a hook, without j, its present job. It reads all runs once for each definition of j.
func (b *Backend) startedBy(hook string, j *job.Job) []string {
	m := &b.moves
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[hook].rev == j.Rev {
		return m.known[hook].jobs
	}
	rev, _ := b.mirror.Current()
	others, prefix := map[string]bool{}, deliveryKey(hook, "")
	b.mirror.RunsDue(time.Time{}, func(r *job.Run) bool {
		if r.Job != j.Name && strings.HasPrefix(r.Key, prefix) {
			others[r.Job] = true
		}
		return false
	})
	jobs := slices.Sorted(maps.Keys(others))
	if rev >= j.Rev { // otherwise the other job may still get runs that the mirror lacks
		if m.known == nil {
			m.known = map[string]hookMove{}
		}
		m.known[hook] = hookMove{j.Rev, jobs}
	}
	return jobs
}

// deliveryKey returns the key of the run of a delivery.
func deliveryKey(hook, id string) string { return job.HookPrincipal(hook) + "/" + id }
