package backend

import (
	"context"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// delivered returns the run that an earlier delivery with this key has made of another job, which had the hook before j. It finds
// each run that was created before the hook came to j. nil: there is none.
func (b *Backend) delivered(ctx context.Context, hook, key string, j *job.Job, now time.Time) (*job.Run, error) {
	if now.Sub(j.Updated) > job.KeyRetention {
		return nil, nil
	}
	if err := b.mirror.WaitFor(ctx, j.Rev); err != nil {
		return nil, err
	}
	for _, r := range b.mirror.RunsNamed(runID(key, time.Time{})) {
		if r.Job != j.Name && r.Key == key && strings.HasPrefix(r.By, job.HookPrincipal(hook)+" ") { // no client can submit with this By
			return r, nil
		}
	}
	return nil, nil
}

// deliveryKey returns the key of the run of a delivery.
func deliveryKey(hook, id string) string { return job.HookPrincipal(hook) + "/" + id }
