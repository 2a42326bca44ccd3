package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// Backend has the parts that answer requests. If a part is nil, a Server does not serve it. A worker has only Logs, Restorer,
// Health and Metrics.
//
// Every method stops when its context ends. The errors of package job, ErrUnavailable, Invalid and Refusal have their own
// statuses. Every other error becomes a 500.
type Backend struct {
	Replica  Replica // nil in a worker
	Overview Overviewer
	Events   Events
	Logs     Logs
	Restorer Restorer
	Trail    Trail
	Tokens   Tokens
	Hooks    Hooks
	Importer Importer
	Examiner Examiner

	// Schemas are the JSON Schemas of definitions in requests, by their names in the document: Spec and LimitSpec.
	Schemas map[string]json.RawMessage

	// Now returns the time to record for a change by a client. If it returns an error, the change is refused. nil stands for the
	// clock of this machine.
	Now func(ctx context.Context) (time.Time, error)

	// Present returns the leader's time, for requests that mean the present. nil stands for the clock of this machine.
	Present func() time.Time

	// Labels returns the labels of a job, for the scopes of roles; none for an unknown job. nil: jobs have no labels.
	Labels func(job string) map[string]string

	// Audited returns a context for a request that changes something. A change that the Replica or the Restorer makes with it
	// leaves an audit record with this author and verb. nil: no change leaves a record.
	Audited func(ctx context.Context, by job.Author, verb string) context.Context

	// Age returns how long ago the store was last heard; nil: unknown. Answers that are older than StaleAfter say so in AgeHeader.
	Age func() time.Duration

	// Addresses returns where the replicas of the cluster answer, as host:port. nil: unknown.
	Addresses func() []string

	Health  Health
	Metrics http.Handler     // at /metrics
	Clock   func() time.Time // at /clock, for processes that compare their clocks with this one
	Term    func() int64     // at /clock: the term in which this process leads, 0 for none; may be nil
}

// Replica answers requests that concern the whole cluster.
type Replica interface {
	Reader
	Planner
	Editor
	Operator
	Approver
	Backfiller
}

// Reader answers from the replica's mirror of the store. It returns ErrUnavailable until the mirror is filled.
type Reader interface {
	Cluster(ctx context.Context) (ClusterView, error)
	// Jobs returns all jobs, sorted by name.
	Jobs(ctx context.Context) ([]JobView, error)
	// ListJobs returns a page of the jobs that q selects, sorted by name. more reports whether another page follows.
	ListJobs(ctx context.Context, q ListQuery) (page []JobView, more bool, err error)
	// Job returns job.ErrNotFound if there is no such job.
	Job(ctx context.Context, name string) (JobView, error)
	// Runs returns at most q.Limit of the runs that q selects, in the order of CompareRuns.
	Runs(ctx context.Context, q RunQuery) ([]RunView, error)
	// Run returns job.ErrNotFound if there is no such run, or if it was removed.
	Run(ctx context.Context, jobName, id string) (RunView, error)
	// Limits returns all limits, sorted by name.
	Limits(ctx context.Context) ([]LimitView, error)
	// Workers returns all workers, sorted by name.
	Workers(ctx context.Context) ([]WorkerView, error)
	// Timeline returns the entries of the timeline that q selects, oldest first.
	Timeline(ctx context.Context, q timeline.Query) ([]timeline.Entry, error)
	// Incident summarizes the incident at an instant, or the last one before it. It returns job.ErrNotFound if there was none.
	Incident(ctx context.Context, at time.Time) (timeline.Incident, error)
}

// Planner explains schedules. Its methods return job.ErrNotFound for an unknown job.
type Planner interface {
	// Next returns the first n slots strictly after from.
	Next(ctx context.Context, jobName string, from time.Time, n int) (NextView, error)
	Explain(ctx context.Context, jobName string, at time.Time) (ExplainView, error)
	// Month returns the slots of a month in the zone of the job, and how their runs ended.
	Month(ctx context.Context, jobName string, year int, month time.Month) (MonthView, error)
	// Workflow returns the jobs that are joined with a job. If id is not empty, each has its run of that slot or id.
	Workflow(ctx context.Context, jobName, id string) (WorkflowView, error)
	// WorkflowRuns returns the latest limit slots and ids of the workflow of a job, with the runs of all its jobs.
	WorkflowRuns(ctx context.Context, jobName string, limit int) (WorkflowRunsView, error)
}

// Editor changes definitions in the store by compare-and-set. It returns job.ErrConflict if the precondition does not hold, and
// job.ErrNotFound for an unknown definition. It returns a *Refusal for a definition of a file, or for one that is in use. It
// returns *Invalid for a text with mistakes. It returns job.ErrUnreadable for an unreadable record, unless the precondition names
// its revision.
type Editor interface {
	// Put creates or replaces a definition and reports whether it created it. kind is KindJob or KindLimit. text is the definition
	// in JSON, as the client sent it. view is a JobView or a LimitView. If text is equal to the present definition, Put changes
	// nothing.
	Put(ctx context.Context, kind, name string, text []byte, pre Precondition, by string) (view any, created bool, err error)
	Delete(ctx context.Context, kind, name string, pre Precondition, by string) error
	// PauseJob pauses the job, or resumes it if p is nil. Pausing a paused job changes nothing.
	PauseJob(ctx context.Context, name string, p *job.Pause) (JobView, error)
	// PauseAll pauses or resumes all jobs.
	PauseAll(ctx context.Context, p *job.Pause) (job.Gate, error)
}

// Operator creates and cancels runs. Cancel and Retry return job.ErrNotFound for an unknown run.
type Operator interface {
	// Submit creates a run and reports whether it did. If an earlier submission of the job had the same key, Submit returns the
	// run of that submission. It returns job.ErrNotFound for an unknown job.
	Submit(ctx context.Context, s Submission) (v RunView, created bool, err error)
	// Cancel requests the end of a run. A second Cancel of the same run changes nothing. For an ended run it returns
	// *job.TransitionError.
	Cancel(ctx context.Context, jobName, id string, c job.Cancel) (RunView, error)
	// Retry creates a run that repeats an ended run. The new run names the ended one. Retry returns NotEnded for a run that has
	// not ended. If an earlier repetition had the same key, Retry returns that run, and created is false. An empty key always creates
	// a run.
	Retry(ctx context.Context, jobName, id, key, by string, resume bool) (v RunView, created bool, err error)
}

// Logs reads the output of attempts.
type Logs interface {
	// Logs returns the output of an attempt from its beginning. Attempt 0 is the latest. With follow the output continues until
	// the attempt ends. Close ends a Read that blocks. Logs returns job.ErrNotFound if the run, the attempt or its output does
	// not exist, and ErrUnavailable if the worker with the output does not answer.
	Logs(ctx context.Context, jobName, id string, attempt int, follow bool) (io.ReadCloser, error)
}

// Events delivers the changes of the store.
type Events interface {
	// Watch delivers all changes after the revision after, or from now on if after is 0. from is the revision at which the stream
	// starts. If after is not 0 and from differs from it, the events between them are lost. The store was compacted, or restored
	// from a backup.
	//
	// Each message has all events of one revision, and the revisions ascend. The implementation closes the channel when ctx ends.
	// It also closes it when the reader is too slow, because it never waits for a reader.
	Watch(ctx context.Context, after int64) (from int64, events <-chan []Event, err error)
}

// Restorer lets processes continue that wait because the store was restored from a backup.
type Restorer interface {
	// AcceptRestored accepts the restored store for every process that waits. It returns a *Refusal if this process does not wait.
	AcceptRestored(ctx context.Context, by string) (RestoredView, error)
}
