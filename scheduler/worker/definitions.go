package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// How long a definition is kept. One that was read stands for the revision that an order names, however old; definitionAge
// is for orders that name none. Generations tell an edited job apart at once; the age is for a job that was deleted and
// created anew, whose generations begin again. What nobody has asked for in definitionRest is thrown away.
const (
	definitionAge  = time.Second
	definitionRest = time.Minute
)

// errOutdated is returned when the store's definition is older than the run that refers to it.
var errOutdated = errors.New("definition is older than the run")

// definitions keeps the jobs that were read lately.
type definitions struct {
	read  func(ctx context.Context, name string) (job.Job, error)
	known func(name string, rev int64) (*job.Job, bool) // Config.Known

	mu    sync.Mutex
	kept  map[string]definition // guarded by mu
	swept time.Time             // guarded by mu: when those that rest were last thrown away
}

type definition struct {
	job  *job.Job
	read time.Time // when it was
	used time.Time // when it was last asked for
}

// spec returns what run is to do: its own spec, or that of its job. rev is the revision of the definition that the run was
// armed from; 0 if that is not known. What it returns is shared. The error is job.ErrNotFound if the job is gone and
// errOutdated if the store's answer is older than the run.
func (d *definitions) spec(ctx context.Context, run *job.Run, rev int64, now time.Time) (*job.Spec, error) {
	if spec := d.atHand(run, rev, now); spec != nil {
		return spec, nil
	}
	j, err := d.read(ctx, run.Job)
	if err != nil {
		return nil, fmt.Errorf("read job %s: %w", run.Job, err)
	}
	if j.Generation < run.Generation || j.Rev < rev {
		return nil, fmt.Errorf("read job %s: generation %d at revision %d, want %d at %d: %w",
			run.Job, j.Generation, j.Rev, run.Generation, rev, errOutdated)
	}
	d.keep(&j, now)
	return j.Spec, nil
}

// atHand is spec without the store's help; nil if that takes the store.
func (d *definitions) atHand(run *job.Run, rev int64, now time.Time) *job.Spec {
	if run.Spec != nil {
		return run.Spec
	}
	if d.known != nil && rev > 0 {
		if j, ok := d.known(run.Job, rev); ok && j.Generation >= run.Generation {
			return j.Spec
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	have, ok := d.kept[run.Job]
	if !ok || have.job.Generation < run.Generation || have.job.Rev < rev || rev <= 0 && now.Sub(have.read) >= definitionAge {
		return nil
	}
	have.used = now
	d.kept[run.Job] = have
	return have.job.Spec
}

func (d *definitions) keep(j *job.Job, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept == nil {
		d.kept = make(map[string]definition)
	}
	if now.Sub(d.swept) > definitionRest {
		for name, have := range d.kept {
			if now.Sub(have.used) > definitionRest {
				delete(d.kept, name)
			}
		}
		d.swept = now
	}
	if have, ok := d.kept[j.Name]; !ok || j.Rev >= have.job.Rev { // a slow answer does not hide a later one
		d.kept[j.Name] = definition{job: j, read: now, used: now}
	}
}
