package worker

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Observer is told what happens, for metrics. Its methods are called concurrently and must not block.
type Observer interface {
	// Began: an attempt has begun, late after its time.
	Began(run *job.Run, late time.Duration)
	// Conflicted: somebody else changed a run before it was claimed. A normal outcome.
	Conflicted(run *job.Run)
	// Recalled: a run was handed back to the leader before it began.
	Recalled(run *job.Run, reason string)
	// Ended: an attempt has ended after took.
	Ended(run *job.Run, o *job.Outcome, took time.Duration)
	// Fenced: an outcome came too late and changed nothing.
	Fenced(run *job.Run, o *job.Outcome)
	// Load: so many attempts execute, so many outcomes are not yet in the store.
	Load(executing, unsent int)
	// SessionEnded: the worker has lost its session.
	SessionEnded()
}

// silent is the Observer of those who gave none.
type silent struct{}

func (silent) Began(*job.Run, time.Duration)               {}
func (silent) Conflicted(*job.Run)                         {}
func (silent) Recalled(*job.Run, string)                   {}
func (silent) Ended(*job.Run, *job.Outcome, time.Duration) {}
func (silent) Fenced(*job.Run, *job.Outcome)               {}
func (silent) Load(int, int)                               {}
func (silent) SessionEnded()                               {}
