package worker

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Config is what a Worker is told about itself.
type Config struct {
	Name     string            // unique in the cluster; a second process under it takes the first one's orders away
	Addr     string            // where its API answers, for output; may be empty
	Version  string            // of the program
	Capacity int               // attempts that execute at a time
	Labels   map[string]string // that jobs may ask for
	Handlers []string          // Go handlers that the executor knows, sorted
	Limits   []string          // kinds of resources that the executor can limit, sorted
	DataDir  string            // holds the attempts' output

	OutputCap int64         // bytes of one attempt's output that are kept
	OutputAge time.Duration // how long they are
	// OutputBytes is how much of the disk all attempts' output takes, and no more than a tenth of the file system; nor are there
	// more than a tenth of the files that it can have.
	OutputBytes int64

	// ShutdownGrace is how long a stopping worker lets its attempts run before it stops them; 0: not at all.
	ShutdownGrace time.Duration
	// StopTimeout is how long a stopping worker waits for the end of attempts that it has killed, beyond the kill grace of
	// their jobs, and a fenced one beyond executor.HurryGrace; and for what waits for a disk. Those that do not end are left behind.
	StopTimeout time.Duration
	// SettleTimeout is how long outcomes in the journal may hold up the end of a session, a new one, and a shutdown.
	SettleTimeout time.Duration
	// RoomTimeout is how long after its time a run waits for room before it is handed back.
	RoomTimeout time.Duration

	// NannyCommand is the argv of the process that kills what a killed worker leaves behind; empty: none.
	NannyCommand []string

	// Known returns the definition of a job that this process has in memory anyway, if that is not older than the revision
	// rev. What it returns is shared. nil: definitions are read from the store.
	Known func(name string, rev int64) (*job.Job, bool)

	// Trial says why attempts cannot begin, nil if they can. It is asked every second once one could not, until they can. nil: they
	// can the next time.
	Trial func() error

	Observer Observer // nil: nobody
	// Now is the wall clock, with the reading of the monotonic one; time.Now if nil.
	Now func() time.Time
	// LeaderNow returns the least that the clock of a term's leader may show now, false if that is not known. With it, a
	// run begins no later because its order took long. May be nil.
	LeaderNow func(term int64) (time.Time, bool)
}

// The defaults of Config.
const (
	DefaultCapacity      = 64
	DefaultOutputCap     = 16 << 20
	DefaultOutputAge     = 7 * 24 * time.Hour
	DefaultOutputBytes   = 10 << 30
	DefaultStopTimeout   = 5 * time.Second
	DefaultSettleTimeout = 10 * time.Second
	DefaultRoomTimeout   = time.Second
)

// Defaults returns c with everything set that has a default.
func (c Config) Defaults() Config {
	c.Capacity = cmp.Or(c.Capacity, DefaultCapacity)
	c.OutputCap = cmp.Or(c.OutputCap, DefaultOutputCap)
	c.OutputAge = cmp.Or(c.OutputAge, DefaultOutputAge)
	c.OutputBytes = cmp.Or(c.OutputBytes, DefaultOutputBytes)
	c.StopTimeout = cmp.Or(c.StopTimeout, DefaultStopTimeout)
	c.SettleTimeout = cmp.Or(c.SettleTimeout, DefaultSettleTimeout)
	c.RoomTimeout = cmp.Or(c.RoomTimeout, DefaultRoomTimeout)
	if c.Observer == nil {
		c.Observer = silent{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Validate says everything that is wrong with c, defaults applied.
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
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"stop timeout", c.StopTimeout},
		{"settle timeout", c.SettleTimeout},
		{"room timeout", c.RoomTimeout},
	} {
		if d.value <= 0 {
			errs = append(errs, fmt.Errorf("worker %s %s: must be above zero", d.name, d.value))
		}
	}
	return errors.Join(errs...)
}
