package api

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Precondition is the condition of a write to a definition, from If-Match and If-None-Match. Its zero value has no condition.
type Precondition struct {
	Revision int64 // the definition must have this revision; 0: any
	Exists   bool  // the definition must exist
	Absent   bool  // the definition must not exist
}

// Any reports whether p has no condition.
func (p Precondition) Any() bool { return p == Precondition{} }

// Holds reports whether p allows a write to a definition at revision rev. rev is 0 if the definition does not exist.
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
	Job      string
	Kind     job.RunKind       // KindManual, or KindDelayed if the client gave Due.
	Asked    time.Time         // time of the request.
	Due      time.Time         // earliest start.
	Key      string            // empty: every submission creates another run.
	Payload  json.RawMessage   // nil: the payload of the job.
	Params   map[string]string // those that the client gave; nil: none
	Workflow bool              // also start the steps behind the job
	Earlier  bool              // only return the run of an earlier submission with the key: the job seems to be deleted
	Spec     *job.Spec         // spec of an ad hoc run, without defaults; nil for the run of a job.
	By       string
	Hook     string // the hook that submits it, whose deliveries have keys and leave audit records; empty for other clients
}

// RunQuery selects runs.
type RunQuery struct {
	Job    string      // empty: of all jobs
	States []job.State // empty: in any state
	Since  time.Time   // earliest slot
	After  *RunMark    // only runs that follow it in the order of CompareRuns; nil: from the first run
	Limit  int

	// Visible reports whether runs of a job are included; nil: runs of all jobs. It reads the jobs, so the caller must hold no lock
	// of theirs.
	Visible func(job string) bool
}

// ListQuery selects a page of jobs.
type ListQuery struct {
	After   string              // only jobs whose names come after it; empty: from the first job
	Bytes   int                 // of the JSON of the page, about. A larger job has a page of its own.
	Accepts func(*job.Job) bool // nil: all jobs. It reads the jobs, so the caller must hold no lock of theirs.
}

// RunMark is a position in the order of CompareRuns.
type RunMark struct {
	Slot    time.Time
	Job     string
	ID      string
	Created time.Time
}

// Includes reports whether q selects r, apart from Visible.
func (q *RunQuery) Includes(r *job.Run) bool {
	switch {
	case q.Job != "" && r.Job != q.Job,
		len(q.States) > 0 && !slices.Contains(q.States, r.State),
		r.Slot.Before(q.Since):
		return false
	}
	if q.After == nil {
		return true
	}
	return CompareRuns(&job.Run{Job: q.After.Job, ID: q.After.ID, Slot: q.After.Slot, Created: q.After.Created}, r) < 0
}

// Shows reports whether runs of a job are visible.
func (q *RunQuery) Shows(job string) bool { return q.Visible == nil || q.Visible(job) }

// CompareRuns compares runs by their order in lists: the latest slot first, then by job. Of the runs of one slot, the last one that
// was created is first, because a retry has the slot of its run.
func CompareRuns(a, b *job.Run) int {
	return cmp.Or(b.Slot.Compare(a.Slot), cmp.Compare(a.Job, b.Job), b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
}

// RunRequest is the body of POST /v1/jobs/{job}/runs.
type RunRequest struct {
	Payload  json.RawMessage `json:"payload,omitempty" doc:"Replaces the job's payload. At most 256 KiB, for a program 131058 bytes"`
	In       string          `json:"in,omitempty" doc:"Earliest start, as a span from now, for example 90s or 2h" example:"90s"`
	At       *time.Time      `json:"at,omitempty" doc:"Earliest start"`
	Key      string          `json:"key,omitempty" minLength:"1" doc:"The same as the header Idempotency-Key"`
	Workflow bool            `json:"workflow,omitempty" doc:"Also start the steps behind the job, with the same id"`

	Params map[string]json.RawMessage `json:"params,omitempty" doc:"Values of declared parameters: texts, numbers, booleans"`
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
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Shown as the reason"`
}

// text returns the reason; empty without a body.
func (r *ReasonRequest) text() string {
	if r == nil {
		return ""
	}
	return r.Reason
}
