package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	// definitionAge is how long a cached definition is used for orders that name no revision. Generations distinguish the edits
	// of one job, but they start again when a job is deleted and recreated. So the cache needs an age limit. For an order that
	// names a revision, a definition of that revision is used at any age.
	definitionAge = time.Second
	// definitionIdle is how long an unused definition is cached.
	definitionIdle = time.Minute
	// definitionTimeout is how long a run waits for its definition. Then it is handed back.
	definitionTimeout = 5 * time.Second
)

// errOutdated is returned when the store's definition is older than the run that refers to it.
var errOutdated = errors.New("definition is older than the run")

// definitions caches the definitions that were read lately.
type definitions struct {
	read  func(ctx context.Context, name string) (job.Job, error)
	known func(name string, rev int64) (*job.Job, bool) // Config.Known
	now   func() time.Time
	log   hclog.Logger

	mu    sync.Mutex
	cache map[string]definition // guarded by mu: by job
	swept time.Time             // guarded by mu: when unused definitions were last removed
}

type definition struct {
	job  *job.Job
	read time.Time
	used time.Time // last use
}

// await returns the spec that run executes. It reads the job until the definition is as recent as the run needs. rev is the
// revision of the definition from which the run was armed; 0 if that is unknown. The spec is shared. The error is
// job.ErrNotFound if the job is gone, and errNoSpec after definitionTimeout.
func (d *definitions) await(ctx context.Context, run *job.Run, rev int64) (*job.Spec, error) {
	if spec := d.cached(run, rev); spec != nil {
		return spec, nil
	}
	limit, cancel := context.WithTimeoutCause(ctx, definitionTimeout, errNoSpec)
	defer cancel()
	delays := newBackoff()
	for {
		spec, err := d.fetch(limit, run, rev)
		if err == nil || errors.Is(err, job.ErrNotFound) {
			return spec, err
		}
		d.log.Debug("definition is not there yet", "run", run.Name(), "err", err)
		if err := sleep(limit, delays.NextBackOff()); err != nil {
			return nil, err
		}
	}
}

// fetch reads the job of run, caches it and returns its spec. The error is errOutdated if the store's answer is older than
// the run.
func (d *definitions) fetch(ctx context.Context, run *job.Run, rev int64) (*job.Spec, error) {
	asked := d.now()
	j, err := d.read(ctx, run.Job)
	if err != nil {
		return nil, fmt.Errorf("read job %s: %w", run.Job, err)
	}
	if j.Generation < run.Generation || j.Rev < rev {
		return nil, fmt.Errorf("read job %s: generation %d at revision %d, want %d at %d: %w",
			run.Job, j.Generation, j.Rev, run.Generation, rev, errOutdated)
	}
	d.add(&j, asked)
	return j.Spec, nil
}

// cached returns the spec from the caches; nil if the store must be read.
func (d *definitions) cached(run *job.Run, rev int64) *job.Spec {
	if run.Spec != nil {
		return run.Spec
	}
	if d.known != nil && rev > 0 {
		if j, ok := d.known(run.Job, rev); ok && j != nil && j.Generation >= run.Generation {
			return j.Spec
		}
	}
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	have, ok := d.cache[run.Job]
	if !ok || have.job.Generation < run.Generation || have.job.Rev < rev || rev <= 0 && now.Sub(have.read) >= definitionAge {
		return nil
	}
	have.used = now
	d.cache[run.Job] = have
	return have.job.Spec
}

// add caches j, which was read at now, unless the cache has a later definition. It removes unused definitions.
func (d *definitions) add(j *job.Job, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cache == nil {
		d.cache = make(map[string]definition)
	}
	if now.Sub(d.swept) > definitionIdle {
		for name, have := range d.cache {
			if now.Sub(have.used) > definitionIdle {
				delete(d.cache, name)
			}
		}
		d.swept = now
	}
	if have, ok := d.cache[j.Name]; !ok || j.Rev >= have.job.Rev {
		d.cache[j.Name] = definition{job: j, read: now, used: now}
	}
}
