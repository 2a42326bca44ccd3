package kubernetes

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

const (
	// sweepPeriod lies between two sweeps, by any of the workers.
	sweepPeriod = time.Minute
	// sweepGrace is how long a Job may outlive its run: its own worker deletes it, or Kubernetes is about to record its end.
	sweepGrace = 15 * time.Second
)

// Records reads the record of a run. It returns job.ErrNotFound if there is none.
type Records func(ctx context.Context, jobName, id string) (job.Run, error)

// Workers counts the present workers that execute Jobs, this one included.
type Workers func(ctx context.Context) (int, error)

// Sweep deletes unfinished Jobs whose run has ended, until ctx ends. So the pod of a run that was canceled after the death of its
// worker ends as soon as another worker of the namespace sweeps. Jobs of runs that the store does not have may belong to another
// cluster, and stay.
//
// A sweep lists all Jobs that have not succeeded, and reads the runs of those that have not ended. Workers take turns: each waits
// for about as many periods as there are workers. So the load on the API server and on etcd does not grow with the number of
// workers.
func (e *Executor) Sweep(ctx context.Context, records Records, workers Workers, log hclog.Logger) error {
	reachable, count := true, countOf(ctx, workers, 1)
	sleep(ctx, firstTurn(count, rand.Float64()))
	for ctx.Err() == nil {
		var err error
		for _, namespace := range e.cfg.Namespaces {
			err = errors.Join(err, e.sweep(ctx, namespace, records, log))
		}
		if err != nil && reachable && ctx.Err() == nil {
			log.Warn("Jobs of ended runs are not deleted", "err", err)
		}
		reachable = err == nil
		count = countOf(ctx, workers, count)
		sleep(ctx, nextTurn(count, rand.Float64()))
	}
	return nil
}

// countOf returns the number of workers, or the last one if the store does not answer.
func countOf(ctx context.Context, workers Workers, last int) int {
	n, err := workers(ctx)
	if err != nil {
		return last
	}
	return max(1, n)
}

// firstTurn returns how long a new worker waits for its first sweep. The only worker does not wait: nobody has swept since the last
// one ended. r is random, from 0 to 1.
func firstTurn(workers int, r float64) time.Duration {
	return time.Duration(r * float64(workers-1) * float64(sweepPeriod))
}

// nextTurn returns the pause between two sweeps of one worker. On average it is one period for each worker. r is random, from 0
// to 1.
func nextTurn(workers int, r float64) time.Duration {
	return time.Duration((0.75 + r/2) * float64(workers) * float64(sweepPeriod))
}

// sweep examines the Jobs of a namespace.
func (e *Executor) sweep(ctx context.Context, namespace string, records Records, log hclog.Logger) error {
	// The API server leaves out the Jobs that succeeded, which are most.
	query := url.Values{"labelSelector": {managedLabel + "=rota," + runLabel}, "fieldSelector": {"status.successful=0"}}
	a := attempt{api: e.cfg.API, namespace: namespace}
	var trouble error
	err := a.eachJob(ctx, query, func(j *batchJob) error {
		needed, err := e.needed(ctx, j, records)
		if err == nil && !needed {
			log.Info("deleting the Job of an ended run", "namespace", namespace, "name", j.Metadata.Name,
				"run", j.Metadata.Annotations[runAnnotation])
			err = a.delete(ctx, j.Metadata.Name)
		}
		if !errors.Is(err, kubeapi.ErrNotFound) {
			trouble = errors.Join(trouble, err)
		}
		return nil
	})
	return errors.Join(trouble, err)
}

// needed reports whether a Job must stay: it has ended, its run has not, or it may belong to another cluster.
func (e *Executor) needed(ctx context.Context, j *batchJob, records Records) (bool, error) {
	if j.ended() || j.Metadata.deleted() {
		return true, nil
	}
	jobName, id, _ := strings.Cut(j.Metadata.Annotations[runAnnotation], "/")
	run, err := records(ctx, jobName, id)
	if errors.Is(err, job.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return true, err
	}
	own := j.Metadata.Labels[runLabel] == run.PodHash()
	return !own || !run.State.Terminal() || e.now().Sub(run.Ended()) < sweepGrace, nil
}
