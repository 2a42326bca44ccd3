package worker

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Store is the part of the store that a worker uses.
type Store interface {
	// Orders delivers the orders in the queue of worker, and then new ones until ctx ends. An order may be delivered twice. The
	// Rev of an order, and of each of its runs, is the revision that created the order. deliver does not block.
	Orders(ctx context.Context, worker string, deliver func(job.Order)) error
	// CloseOrder removes an order from the queue. Removing one that is gone is no error.
	CloseOrder(ctx context.Context, worker, id string) error
	// Write replaces the record at revision run.Rev and returns it with its new Rev. It does the same if an earlier send of the
	// same write has been applied. It blocks until the answer is definite or ctx ends. If ctx ends, it is unknown whether the
	// write happens. With job.ErrConflict it returns the present record, or the zero Run if there is none. job.ErrTooLarge,
	// job.ErrFull without job.ErrOutcomeUnknown, and job.ErrUnreadable for an unreadable record are definite refusals.
	Write(ctx context.Context, run job.Run) (job.Run, error)
	// Run reads a record. It sees every write that was made before the call.
	Run(ctx context.Context, jobName, id string) (job.Run, error)
	// Replaced reads the record that replaced revision rev of a run whose record is gone. The error is job.ErrNotFound if the
	// store does not know it any more.
	Replaced(ctx context.Context, jobName, id string, rev int64) (job.Run, error)
	// Job reads a definition; job.ErrNotFound if there is none. A leader that arms a run copies the job's Generation into
	// it, so that the worker can recognize an outdated answer.
	Job(ctx context.Context, name string) (job.Job, error)
	// Record creates an event. If it exists under the same job and id, that is no error.
	Record(ctx context.Context, ev job.Event) error
}

// Session is a lease to which the presence record workers/<name> is attached. Its owner, outside this package, renews it.
type Session interface {
	// ID returns the name of the session that orders and runs use.
	ID() string
	// Deadline returns the time from which others may think the worker dead. Each renewal moves it forward. It carries a
	// monotonic reading and lies safely before the end of the lease.
	Deadline() time.Time
	// Done is closed when the lease is known to be gone.
	Done() <-chan struct{}
	// Back has a token after the presence was removed before its time and put back. Leaders may have given up attempts of this
	// session before that.
	Back() <-chan struct{}
	// Taken reports, after Done, whether another session has replaced the presence.
	Taken() bool
	// Close revokes the lease at once, so that leaders assign the runs of this session to other workers.
	Close(ctx context.Context) error
}

// Sessions opens sessions.
type Sessions interface {
	// Open creates a session and writes w as its presence. It fills in w.Session.
	Open(ctx context.Context, w job.Worker) (Session, error)
	// Update replaces the presence of s.
	Update(ctx context.Context, s Session, w job.Worker) error
}
