package kubernetes

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

const (
	// sweepPeriod lies between two sweeps of a worker. All workers sweep, so it is longer than that of containers.
	sweepPeriod = time.Minute
	// sweepGrace is how long a Job may outlive its run: its own worker deletes it, or Kubernetes is about to record its end.
	sweepGrace = 15 * time.Second
	// sweepPage is the number of Jobs in one answer.
	sweepPage = 200
)

// Records reads the record of a run. It returns job.ErrNotFound if there is none.
type Records func(ctx context.Context, jobName, id string) (job.Run, error)

// Sweep deletes unfinished Jobs whose run has ended, until ctx ends. So the pod of a run that was canceled after the death of its
// worker ends as soon as another worker of the namespace sweeps. Jobs of runs that the store does not have may belong to another
// cluster, and stay.
func (e *Executor) Sweep(ctx context.Context, records Records, log hclog.Logger) error {
	reachable := true
	for {
		var err error
		for _, namespace := range e.cfg.Namespaces {
			err = errors.Join(err, e.sweep(ctx, namespace, records, log))
		}
		if err != nil && reachable && ctx.Err() == nil {
			log.Warn("Jobs of ended runs are not deleted", "err", err)
		}
		reachable = err == nil
		sleep(ctx, sweepPeriod)
		if ctx.Err() != nil {
			return nil
		}
	}
}

// sweep examines the Jobs of a namespace, page by page.
func (e *Executor) sweep(ctx context.Context, namespace string, records Records, log hclog.Logger) error {
	// The API server leaves out the Jobs that succeeded, which are most.
	query := url.Values{
		"labelSelector": {managedLabel + "=rota," + runLabel}, "fieldSelector": {"status.successful=0"},
		"limit": {strconv.Itoa(sweepPage)},
	}
	var trouble error
	for {
		a := attempt{api: e.cfg.API, namespace: namespace}
		var page jobList
		if err := a.api.Call(ctx, http.MethodGet, a.jobs()+"?"+query.Encode(), nil, &page); err != nil {
			return errors.Join(trouble, err)
		}
		for i := range page.Items {
			j := &page.Items[i]
			needed, err := e.needed(ctx, j, records)
			if err == nil && !needed {
				log.Info("deleting the Job of an ended run", "namespace", namespace, "name", j.Metadata.Name,
					"run", j.Metadata.Annotations[runAnnotation])
				err = a.delete(ctx, j.Metadata.Name)
			}
			if !errors.Is(err, kubeapi.ErrNotFound) {
				trouble = errors.Join(trouble, err)
			}
		}
		if page.Metadata.Continue == "" {
			return trouble
		}
		query.Set("continue", page.Metadata.Continue)
	}
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
	return !own || !run.State.Terminal() || e.now().Sub(run.Finished) < sweepGrace, nil
}
