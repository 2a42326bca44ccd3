package worker

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Observer counts events for metrics. Its methods are called concurrently and must not block.
type Observer interface {
	// Began reports the start of an attempt. late is the delay of the start after its time.
	Began(run *job.Run, late time.Duration)
	// Conflicted reports that a run was changed before its claim, which is a normal outcome.
	Conflicted(run *job.Run)
	// Recalled reports that a run was handed back to the leader before it began.
	Recalled(run *job.Run, reason string)
	// Ended reports the end of an attempt, and how long it took.
	Ended(run *job.Run, o *job.Outcome, took time.Duration)
	// Fenced reports an outcome that came too late and changed nothing.
	Fenced(run *job.Run, o *job.Outcome)
	// Load reports how many attempts execute and how many outcomes are not in the store yet.
	Load(executing, unsent int)
	// Pressure reports the pressure of the machine, and whether the worker accepts no runs because of it.
	Pressure(p Pressure, tooHigh bool)
	// SessionEnded reports that the worker has lost its session.
	SessionEnded()
}

// Tracer follows single attempts. Its methods are called concurrently and must not block. Each took a time that ends now.
type Tracer interface {
	// Claimed reports the claim of a run.
	Claimed(run *job.Run, took time.Duration)
	// Ended reports the end of an attempt.
	Ended(run *job.Run, o *job.Outcome, took time.Duration)
	// Settled reports that the store took the outcome of an attempt. settled is the record after that.
	Settled(attempt, settled *job.Run, took time.Duration)
}

// noObserver is the Observer of a Config without one.
type noObserver struct{}

func (noObserver) Began(*job.Run, time.Duration)               {}
func (noObserver) Conflicted(*job.Run)                         {}
func (noObserver) Recalled(*job.Run, string)                   {}
func (noObserver) Ended(*job.Run, *job.Outcome, time.Duration) {}
func (noObserver) Fenced(*job.Run, *job.Outcome)               {}
func (noObserver) Load(int, int)                               {}
func (noObserver) Pressure(Pressure, bool)                     {}
func (noObserver) SessionEnded()                               {}
