package top

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Source is the cluster. A *client.Client is one.
type Source interface {
	Cluster(ctx context.Context) (api.ClusterView, error)
	Jobs(ctx context.Context) ([]api.JobView, error)
	Runs(ctx context.Context, f client.RunFilter, next string) (api.RunList, error)
	Run(ctx context.Context, name string) (api.RunView, error)
	Logs(ctx context.Context, run string, attempt int, follow bool) (io.ReadCloser, error)
	Workers(ctx context.Context) ([]api.WorkerView, error)
	Limits(ctx context.Context) ([]api.LimitView, error)
	Answering() string
	Changer
}

// Changer changes the cluster.
type Changer interface {
	Submit(ctx context.Context, job string, r api.RunRequest) (v api.RunView, created bool, err error)
	Cancel(ctx context.Context, run, reason string) (api.RunView, error)
	RetryOnce(ctx context.Context, run, key string) (v api.RunView, created bool, err error)
	PauseJob(ctx context.Context, name, reason string) (api.JobView, error)
	ResumeJob(ctx context.Context, name, reason string) (api.JobView, error)
}

// Query says what a screen needs besides the state of the cluster.
type Query struct {
	Kind Kind
	Job  string // of the runs; "" stands for all jobs
	Run  string // of the one run
}

// Snapshot is what a Source answered to a Query. Only the fields of the Query are set.
type Snapshot struct {
	Query   Query
	At      time.Time // when it was read, by this machine's clock
	Server  string    // that answered
	Cluster api.ClusterView
	Jobs    []api.JobView
	Running map[string]bool // jobs with a run that a worker executes
	Runs    []api.RunView   // the latest first
	Workers []api.WorkerView
	Limits  []api.LimitView
	Run     *api.RunView
	Output  string
	Err     error // why the rest is missing; nil if nothing is
}

const (
	mostRuns   = 200      // that a list shows
	mostOutput = 64 << 10 // bytes of the end of an output
)

// Read asks the cluster for what a screen needs.
func Read(ctx context.Context, src Source, q Query, now func() time.Time) Snapshot {
	s := Snapshot{Query: q}
	if s.Cluster, s.Err = src.Cluster(ctx); s.Err == nil {
		s.Err = s.read(ctx, src)
	}
	s.At, s.Server = now(), src.Answering()
	return s
}

func (s *Snapshot) read(ctx context.Context, src Source) (err error) {
	switch s.Query.Kind {
	case Jobs:
		if s.Jobs, err = src.Jobs(ctx); err != nil {
			return err
		}
		var active api.RunList
		active, err = src.Runs(ctx, client.RunFilter{States: []job.State{job.Running}, Limit: 1000}, "")
		s.Running = map[string]bool{}
		for i := range active.Runs {
			s.Running[active.Runs[i].Job] = true
		}
	case Runs:
		var list api.RunList
		list, err = src.Runs(ctx, client.RunFilter{Job: s.Query.Job, Limit: mostRuns}, "")
		s.Runs = list.Runs
	case Workers:
		s.Workers, err = src.Workers(ctx)
	case Limits:
		s.Limits, err = src.Limits(ctx)
	case OneRun:
		var r api.RunView
		if r, err = src.Run(ctx, s.Query.Run); err == nil {
			s.Run = &r
			s.Output = output(ctx, src, &r)
		}
	}
	return err
}

// output returns the end of the output of the latest attempt. If its worker does not answer, it is the end that the record has.
func output(ctx context.Context, src Source, r *api.RunView) string {
	if r.Attempt == 0 {
		return ""
	}
	stream, err := src.Logs(ctx, r.Ref, 0, false)
	if err != nil {
		if errors.Is(err, job.ErrNotFound) || r.Output != "" {
			return r.Output
		}
		return "(the output is not available: " + err.Error() + ")"
	}
	defer stream.Close()
	kept := make([]byte, 0, 2*mostOutput)
	chunk := make([]byte, 32<<10)
	for {
		n, err := stream.Read(chunk)
		if kept = append(kept, chunk[:n]...); len(kept) > mostOutput {
			kept = append(kept[:0], kept[len(kept)-mostOutput:]...)
		}
		if err != nil {
			return string(kept)
		}
	}
}
