package api

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Precondition is what must be true of a job for a write to happen: If-Match and If-None-Match. Its zero value asks
// for nothing.
type Precondition struct {
	Revision int64 // the job is at this revision; 0: at any
	Exists   bool  // the job exists
	Absent   bool  // the job does not exist
}

// Any says that the precondition asks for nothing.
func (p Precondition) Any() bool { return p == Precondition{} }

// Holds says whether a write may happen to a job that is at rev, 0 if it does not exist.
func (p Precondition) Holds(rev int64) bool {
	switch {
	case p.Absent:
		return rev == 0
	case p.Revision != 0:
		return rev == p.Revision
	case p.Exists:
		return rev != 0
	}
	return true
}

// Submission is a request for one run.
type Submission struct {
	Job     string
	Kind    job.RunKind     // KindManual, or KindDelayed if Due was given
	Asked   time.Time       // when the request came
	Due     time.Time       // not before it
	Key     string          // "": every submission is another run
	Payload json.RawMessage // nil: the job's own
	Spec    *job.Spec       // of an ad hoc run, without defaults; nil otherwise
	By      string
}

// RunQuery selects runs.
type RunQuery struct {
	Job    string      // "": of all jobs
	States []job.State // none: in any state
	Since  time.Time   // slots at or after it
	After  *RunMark    // only what follows it in the order of CompareRuns; nil: from the beginning
	Limit  int
}

// RunMark is a place in the order of CompareRuns.
type RunMark struct {
	Slot time.Time
	Job  string
	ID   string
}

// Includes says whether the query selects r.
func (q *RunQuery) Includes(r *job.Run) bool {
	switch {
	case q.Job != "" && r.Job != q.Job,
		len(q.States) > 0 && !slices.Contains(q.States, r.State),
		r.Slot.Before(q.Since):
		return false
	}
	return q.After == nil || CompareRuns(&job.Run{Job: q.After.Job, ID: q.After.ID, Slot: q.After.Slot}, r) < 0
}

// CompareRuns orders runs as lists show them: latest slot first, then by job and id.
func CompareRuns(a, b *job.Run) int {
	return cmp.Or(b.Slot.Compare(a.Slot), cmp.Compare(a.Job, b.Job), cmp.Compare(a.ID, b.ID))
}

// RunRequest is the body of POST /v1/jobs/{job}/runs.
type RunRequest struct {
	Payload json.RawMessage `json:"payload,omitempty" doc:"JSON given to the run instead of the job's own payload, at most 256 KiB; for a program at most 131058 bytes, which is what fits into a variable"`
	In      string          `json:"in,omitempty" doc:"Not before so long from now, for example 90s or 2h" example:"90s"`
	At      *time.Time      `json:"at,omitempty" doc:"Not before this time"`
	Key     string          `json:"key,omitempty" minLength:"1" doc:"Same as the header Idempotency-Key: a second submission with it returns the first one's run"`
}

// AdHocRequest is the body of POST /v1/runs: a run of a command that is no job.
type AdHocRequest struct {
	Command []string          `json:"command,omitempty" doc:"argv; either this or shell"`
	Shell   string            `json:"shell,omitempty" doc:"Given to /bin/sh -c; either this or command"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"dir,omitempty" doc:"Working directory"`
	Timeout job.Duration      `json:"timeout,omitempty"`
	Workers map[string]string `json:"workers,omitempty" doc:"Labels that the worker must have"`
	RunRequest
}

// ReasonRequest is the optional body of pause, resume and cancel.
type ReasonRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Shown to whoever asks why"`
}
