package planner

import (
	"cmp"
	"time"
)

// Config holds the settings of a planner. They are not in the store.
type Config struct {
	// WorkerTTL is how long a dead worker may still look present: the TTL of its lease, plus the delay of etcd and of
	// the watch. Zero means DefaultWorkerTTL.
	WorkerTTL time.Duration
	// ReturnGrace is how long after the start of a term an absent worker may return before its runs are lost. It applies
	// to workers that this planner has never seen present. Zero means DefaultReturnGrace.
	ReturnGrace time.Duration
	// RestoreGrace is how long a worker counts as present after its record was removed, unless its process is proven dead. In
	// this time it may put its record back. Zero means DefaultRestoreGrace.
	RestoreGrace time.Duration
	// ClaimTimeout is how long a present worker may keep a due run without starting it or handing it back. After that
	// the leader takes the run back. Zero means DefaultClaimTimeout.
	ClaimTimeout time.Duration
	// StopMargin is how long after its timeout and kill grace an attempt may still run before its worker is asked to stop it. It
	// is counted from the start of the planner's first term at the earliest. It covers a slow worker clock, a claim that the
	// planner saw late, and a leader whose clock is set soon after its start. Zero means DefaultStopMargin.
	StopMargin time.Duration
	// StopPatience is how long after that request the attempt is given up. Zero means DefaultStopPatience.
	StopPatience time.Duration
	// ArmAhead is how long before its time a run may be assigned to a worker. Zero turns arming ahead off.
	ArmAhead time.Duration
	// Retention bounds the history of each job.
	Retention Retention
}

// Retention says how many ended runs of each job are kept, and for how long. Zero means no bound.
type Retention struct {
	Success int // runs that succeeded or were skipped
	Failed  int // all other runs
	MaxAge  time.Duration
}

// The defaults of Config. DefaultWorkerTTL is a lease of 5 s plus the usual delay of etcd and the watch; if etcd's leader dies
// together with the worker, the delay is longer. DefaultClaimTimeout is longer than the time for which a worker tries to read a
// definition and waits for room.
const (
	DefaultWorkerTTL    = 7 * time.Second
	DefaultReturnGrace  = 7 * time.Second
	DefaultRestoreGrace = time.Second
	DefaultClaimTimeout = time.Minute
	DefaultStopMargin   = time.Minute
	DefaultStopPatience = 2 * time.Minute
)

// withDefaults returns c with its zero values replaced by the defaults.
func (c Config) withDefaults() Config {
	c.WorkerTTL = cmp.Or(c.WorkerTTL, DefaultWorkerTTL)
	c.ReturnGrace = cmp.Or(c.ReturnGrace, DefaultReturnGrace)
	c.RestoreGrace = cmp.Or(c.RestoreGrace, DefaultRestoreGrace)
	c.ClaimTimeout = cmp.Or(c.ClaimTimeout, DefaultClaimTimeout)
	c.StopMargin = cmp.Or(c.StopMargin, DefaultStopMargin)
	c.StopPatience = cmp.Or(c.StopPatience, DefaultStopPatience)
	return c
}
