package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Backend is everything that a Server asks. A part that is nil is not served: a worker has Logs, Restorer, Health and Metrics.
// Planner, Editor and Operator are of no use without a Reader.
//
// Every method honours its context. Errors are told apart by the sentinels of package job, by ErrUnavailable, Invalid
// and Refusal; whatever else is returned becomes a 500.
type Backend struct {
	Reader   Reader
	Planner  Planner
	Editor   Editor
	Operator Operator
	Logs     Logs
	Events   Events
	Restorer Restorer

	// Schemas are the JSON Schemas of definitions in requests, by their names in the document: Spec and LimitSpec.
	Schemas map[string]json.RawMessage

	// Now dates a change that somebody asks for; nil: by the time of day. An error refuses the change.
	Now func(ctx context.Context) (time.Time, error)

	Health  Health
	Metrics http.Handler     // at /metrics
	Clock   func() time.Time // at /clock, for those that compare their clocks with this one
	Term    func() int64     // at /clock: the term that this process leads, zero for none; may be nil
}

// Reader answers from the replica's mirror of the store, and with ErrUnavailable while that is not filled yet.
type Reader interface {
	Cluster(ctx context.Context) (ClusterView, error)
	// Jobs are in the order of their names.
	Jobs(ctx context.Context) ([]JobView, error)
	// Job returns job.ErrNotFound if there is no such job.
	Job(ctx context.Context, name string) (JobView, error)
	// Runs returns at most q.Limit of the runs that q includes, in the order of CompareRuns.
	Runs(ctx context.Context, q RunQuery) ([]RunView, error)
	// Run returns job.ErrNotFound if there is no such run (any more).
	Run(ctx context.Context, jobName, id string) (RunView, error)
	// Limits are in the order of their names.
	Limits(ctx context.Context) ([]LimitView, error)
	// Workers are in the order of their names.
	Workers(ctx context.Context) ([]WorkerView, error)
}

// Planner tells what a job's schedule means. Both return job.ErrNotFound for an unknown job.
type Planner interface {
	// Next returns the first n slots strictly after from.
	Next(ctx context.Context, jobName string, from time.Time, n int) (NextView, error)
	Explain(ctx context.Context, jobName string, at time.Time) (ExplainView, error)
}

// Editor changes definitions in the store by compare-and-set. It returns job.ErrConflict if the precondition does not hold,
// job.ErrNotFound for an unknown definition, and a *Refusal for a definition of a file or one that is in use. It returns
// *Invalid for a text with mistakes. It returns job.ErrUnreadable for a record that cannot be read, unless the precondition
// names its revision.
type Editor interface {
	// Put creates or replaces a definition and reports whether it created it. kind is KindJob or KindLimit, text the JSON of
	// the definition, by the client that sent it. view is a JobView or a LimitView. A definition equal to the present one
	// changes nothing and is returned as it is.
	Put(ctx context.Context, kind, name string, text []byte, pre Precondition, by string) (view any, created bool, err error)
	Delete(ctx context.Context, kind, name string, pre Precondition, by string) error
	// PauseJob pauses the job, or resumes it if p is nil. Pausing what is paused already returns it as it is.
	PauseJob(ctx context.Context, name string, p *job.Pause) (JobView, error)
	// PauseAll does the same to the whole cluster.
	PauseAll(ctx context.Context, p *job.Pause) (job.Gate, error)
}

// Operator makes and ends runs. Cancel and Retry return job.ErrNotFound for an unknown run.
type Operator interface {
	// Submit makes a run, or returns the run that an earlier submission with the same job and key has made, and says
	// which of the two. job.ErrNotFound: there is no such job.
	Submit(ctx context.Context, s Submission) (v RunView, created bool, err error)
	// Cancel asks for the end of a run. A run that is being canceled already is returned as it is; for one that has
	// ended it returns *job.TransitionError.
	Cancel(ctx context.Context, jobName, id string, c job.Cancel) (RunView, error)
	// Retry makes a new run that names the old one, which must have ended: NotEnded otherwise.
	Retry(ctx context.Context, jobName, id, by string) (RunView, error)
}

// Logs reads what attempts have printed.
type Logs interface {
	// Logs returns the output of an attempt (0: the latest) from its beginning: what there is so far, or with follow
	// until the attempt ends. Close may be called while Read blocks, and ends it. job.ErrNotFound: no such run or
	// attempt, or its output is gone; ErrUnavailable: the worker that has it does not answer.
	Logs(ctx context.Context, jobName, id string, attempt int, follow bool) (io.ReadCloser, error)
}

// Events tells what changes in the store.
type Events interface {
	// Watch delivers all changes after a revision, or from now on if after is 0. from is where it begins: if it is
	// not after, the history between them cannot be had (it is compacted, or the store was restored from a backup).
	//
	// Each message holds all events of one revision, in ascending revisions. The channel is closed by the
	// implementation: when ctx ends, and when the reader is too slow, so that it never waits for one.
	Watch(ctx context.Context, after int64) (from int64, events <-chan []Event, err error)
}

// Restorer lets a process go on that waits, since the store was restored from a backup.
type Restorer interface {
	// AcceptRestored accepts the store as it is, for every process that waits. A *Refusal if this one does not.
	AcceptRestored(ctx context.Context, by string) (RestoredView, error)
}
