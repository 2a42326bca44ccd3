package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// definitionAge bounds for how long a definition is used without asking again. Generations tell an edited job apart at
// once; the age is for a job that was deleted and created anew, whose generations begin again.
const definitionAge = time.Second

// errOutdated is returned when the store's definition is older than the run that refers to it.
var errOutdated = errors.New("definition is older than the run")

// definitions keeps the jobs that were read lately.
type definitions struct {
	read func(ctx context.Context, name string) (job.Job, error)

	mu    sync.Mutex
	kept  map[string]definition
	swept time.Time // when old ones were last thrown away
}

type definition struct {
	job  job.Job
	read time.Time
}

// spec returns what run is to do: its own spec, or that of its job in force now. The error is job.ErrNotFound if the
// job is gone and errOutdated if the store's answer is older than the run.
func (d *definitions) spec(ctx context.Context, run *job.Run, now time.Time) (job.Spec, error) {
	if run.Spec != nil {
		return *run.Spec, nil
	}
	if j, ok := d.recent(run, now); ok {
		return j.Spec, nil
	}
	j, err := d.read(ctx, run.Job)
	if err != nil {
		return job.Spec{}, fmt.Errorf("read job %s: %w", run.Job, err)
	}
	if j.Generation < run.Generation {
		return job.Spec{}, fmt.Errorf("read job %s: generation %d, want %d: %w", run.Job, j.Generation, run.Generation, errOutdated)
	}
	d.keep(j, now)
	return j.Spec, nil
}

func (d *definitions) recent(run *job.Run, now time.Time) (job.Job, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	have, ok := d.kept[run.Job]
	return have.job, ok && have.job.Generation >= run.Generation && now.Sub(have.read) < definitionAge
}

func (d *definitions) keep(j job.Job, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept == nil || now.Sub(d.swept) > 10*definitionAge {
		for name, have := range d.kept {
			if now.Sub(have.read) >= definitionAge {
				delete(d.kept, name)
			}
		}
		d.swept = now
	}
	if d.kept == nil {
		d.kept = make(map[string]definition)
	}
	if !d.kept[j.Name].read.After(now) { // a slow answer does not hide a later one
		d.kept[j.Name] = definition{job: j, read: now}
	}
}
