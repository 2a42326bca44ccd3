package worker

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Store is what a worker asks of the store.
type Store interface {
	// Orders delivers the orders that are queued for worker, then new ones until ctx ends. An order may be delivered
	// twice. Its Rev, and that of each of its runs, is the revision that created it. deliver does not block.
	Orders(ctx context.Context, worker string, deliver func(job.Order)) error
	// CloseOrder removes an order from the queue. Removing one that is gone is no error.
	CloseOrder(ctx context.Context, worker, id string) error
	// Write replaces the record at revision run.Rev and returns it with its new Rev, also when an earlier send of the
	// same write turns out to have been applied. It blocks until the answer is definite or ctx ends; then the write
	// may or may not happen. With job.ErrConflict it returns the record as it stands, the zero Run if it is gone;
	// job.ErrTooLarge, job.ErrFull, and job.ErrUnreadable if nobody can read what is there now, are definite refusals.
	Write(ctx context.Context, run job.Run) (job.Run, error)
	// Run reads a record, with every write that was made before the call.
	Run(ctx context.Context, jobName, id string) (job.Run, error)
	// Job reads a definition, job.ErrNotFound if there is none. Leaders set Run.Generation to the job's when they arm
	// a run, so that the worker can tell an outdated answer.
	Job(ctx context.Context, name string) (job.Job, error)
	// Record creates an event. One that exists under the same job and id is this one, and no error.
	Record(ctx context.Context, ev job.Event) error
}

// Session is one incarnation of the worker: a lease with the presence record workers/<name> on it, renewed by its
// owner.
type Session interface {
	// ID is what orders and runs name as their Session.
	ID() string
	// Deadline is when others may think us dead. It moves forward with each renewal, carries a monotonic reading, and
	// lies safely before the end of the lease.
	Deadline() time.Time
	// Done is closed when the lease is known to be gone.
	Done() <-chan struct{}
	// Taken says, of a session that is done, whether it is because another one has its presence in the place of ours.
	Taken() bool
	// Close gives the lease back at once, so that what this session still holds is handed to others.
	Close(ctx context.Context) error
}

// Sessions opens sessions.
type Sessions interface {
	// Open creates a session and writes w, with its Session filled in, as its presence.
	Open(ctx context.Context, w job.Worker) (Session, error)
	// Update replaces the presence of s.
	Update(ctx context.Context, s Session, w job.Worker) error
}
