package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Config configures a Worker.
type Config struct {
	Name     string            // unique in the cluster. A second process of this name takes the first one's presence away.
	Addr     string            // the address of the API of this process, which serves the attempts' output; may be empty.
	Version  string            // the version of the program
	Capacity int               // the number of attempts that execute at a time
	Labels   map[string]string // the labels by which jobs select workers.
	Handlers []string          // names of the Go handlers that the executor knows, sorted
	Kinds    []string          // what the worker executes at all, of job.WorkerKinds; nil: job.UsualKinds
	Limits   []string          // kinds of resources that the executor can limit, sorted
	// TLSOptional has the settings that let this process accept connections without TLS, for its presence.
	TLSOptional []string
	DataDir     string           // holds the attempts' output
	Uploads     *output.Uploader // copies the output of ended attempts to a shared directory; nil: it stays on this worker

	// ShutdownGrace is how long attempts may go on when the worker stops; 0: they are stopped at once.
	ShutdownGrace time.Duration

	// NannyCommand is the argv of the process that kills the processes of a killed worker's attempts; empty: there is none.
	NannyCommand []string

	// Known returns the definition of a job from the memory of this process, if it has one at revision rev or later. The
	// definition is shared; nil says that the job was deleted. If Known is nil, definitions are read from the store.
	Known func(name string, rev int64) (*job.Job, bool)

	// Paused reports whether this process knows that all jobs were paused after a revision, and still are. nil: it never knows.
	Paused func(after int64) bool

	// StartCheck returns why attempts cannot start; nil if they can. After a failed start the worker calls it every second until
	// it returns nil. If StartCheck is nil, the worker assumes after a second that attempts can start.
	StartCheck func() error

	// KindCheck returns why attempts of a kind cannot start, as when no container engine answers; nil if they can. After an attempt
	// failed so, the worker calls it every second until it returns nil. nil: the worker assumes that they can after a while.
	KindCheck func(ctx context.Context, kind string) error

	// Pressure returns the pressure of the machine now; nil: none is read. While a value is not below its PressureLimits, the worker
	// hands back runs that it has not begun, until the value is below half of the limit. 0: no limit.
	Pressure       func() Pressure
	PressureLimits Pressure

	Observer Observer // nil: none
	Tracer   Tracer   // nil: none
	// Now returns the time of the wall clock with a reading of the monotonic clock. nil: time.Now.
	Now func() time.Time
	// LeaderNow returns the earliest time that the clock of the term's leader may show now; false if that is unknown. With it,
	// the transit time of an order does not delay a run. May be nil.
	LeaderNow func(term int64) (time.Time, bool)

	outputBytes int64         // maxOutput; tests set less
	stopTimeout time.Duration // usualStopTimeout; tests set less
}

const (
	defaultCapacity = 64
	outputAge       = 7 * 24 * time.Hour // how long output is kept
	// maxOutput is how many bytes all output may use. It may also use at most a tenth of the file system's bytes and a tenth of its
	// files.
	maxOutput = 10 << 30
	// usualStopTimeout is how long the worker waits for attempts that it has stopped, in addition to the kill grace of their jobs. If
	// their session is over, executor.HurryGrace takes the place of that grace. It also bounds waits for a disk that does not answer.
	usualStopTimeout = 5 * time.Second
	// settleTimeout is how long undelivered outcomes may delay the end of a session, a new session, and a shutdown.
	settleTimeout = 10 * time.Second
	// roomTimeout is how long after its time a run waits for room. Then it is handed back.
	roomTimeout = time.Second
)

// Defaults returns c with a default in the place of each zero field that has one.
func (c Config) Defaults() Config {
	c.Capacity = cmp.Or(c.Capacity, defaultCapacity)
	c.outputBytes = cmp.Or(c.outputBytes, maxOutput)
	c.stopTimeout = cmp.Or(c.stopTimeout, usualStopTimeout)
	if c.Observer == nil {
		c.Observer = noObserver{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Validate returns all errors of c. c must have its defaults.
func (c Config) Validate() error {
	var errs []error
	if err := job.CheckName(c.Name); err != nil {
		errs = append(errs, fmt.Errorf("worker %w", err))
	}
	if c.Capacity < 1 {
		errs = append(errs, fmt.Errorf("worker capacity %d: must be at least 1", c.Capacity))
	}
	if c.DataDir == "" {
		errs = append(errs, errors.New("worker data directory is not set"))
	}
	return errors.Join(errs...)
}
