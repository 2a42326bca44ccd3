package api

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// MaxActive is how many runs JobView.Active names. A million delayed runs of a job may wait.
const MaxActive = 100

// JobView is a job in the form of the API: its record, and values that are derived from it.
type JobView struct {
	job.Job
	Revision     int64      `json:"revision" doc:"Store revision of the definition, for If-Match"`
	Next         *time.Time `json:"next" doc:"The next slot; null if there is none"`
	Active       []string   `json:"active" doc:"At most 100 runs that have not ended. Delayed ones come last, the earliest first"`
	ActiveRuns   int        `json:"active_runs" doc:"How many runs have not ended"`
	Last         *LastRun   `json:"last" doc:"The latest run that has ended"`
	ScheduleText string     `json:"schedule_text,omitempty" doc:"The schedule in words; for a step, its parents"`

	Recent []RecentRun `json:"recent,omitempty" doc:"The latest runs, the oldest first; only in a page of jobs"`
	State  string      `json:"state,omitempty" doc:"failing, running, waiting, paused, ok or new; only in a page of jobs"`
}

// LimitView is a limit in the form of the API.
type LimitView struct {
	job.Limit
	Revision int64 `json:"revision" doc:"Store revision of the definition, for If-Match"`
	Held     int   `json:"held" doc:"Runs that are with workers and hold the limit"`
}

// LastRun is the latest ended run of a job.
type LastRun struct {
	Ref      string    `json:"run"`
	State    job.State `json:"state"`
	Finished time.Time `json:"finished"`
}

// RunView is a run in the form of the API.
type RunView struct {
	job.Run
	Ref      string `json:"run" doc:"<job>/<slot or id>"`
	Revision int64  `json:"revision" doc:"Store revision of the record"`

	CopyRuns []CopyView `json:"copy_runs,omitempty" doc:"The copies of a run on every worker; only in the answer about one run"`
}

// CopyView is the copy of a run on every worker for one of them.
type CopyView struct {
	Worker string    `json:"worker"`
	Ref    string    `json:"run"`
	State  job.State `json:"state,omitempty" doc:"Absent if there is no record of the copy"`
	Reason string    `json:"reason,omitempty"`
}

// NewRunView returns the view of r.
func NewRunView(r job.Run) RunView { return RunView{Run: r, Ref: r.Name(), Revision: r.Rev} }

// WorkerView is a worker in the form of the API.
type WorkerView struct {
	job.Worker
	Running  int   `json:"running" doc:"Attempts that it executes"`
	Armed    int   `json:"armed" doc:"Runs that are assigned to it and have not started"`
	Free     int   `json:"free" doc:"Further attempts that it could execute now; 0 while it accepts none"`
	Revision int64 `json:"revision"`
}

// NewWorkerView returns the view of w, without what the runs at it say. It leaves out the names of runs that w keeps, because a
// client that may see workers need not see all jobs.
func NewWorkerView(w job.Worker) WorkerView {
	w.Keeps = nil
	return WorkerView{Worker: w, Revision: w.Rev}
}

// ClusterView is the state of the cluster from the view of one replica.
type ClusterView struct {
	Name        string           `json:"name" doc:"Prefix of the store"`
	Node        string           `json:"node" doc:"The replica that answers"`
	Version     string           `json:"version" doc:"Of the replica that answers"`
	Ready       bool             `json:"ready"`
	NotReady    []string         `json:"not_ready,omitempty" doc:"Why not"`
	Leader      *LeaderView      `json:"leader" doc:"null while there is no leader"`
	Replicas    []ReplicaView    `json:"replicas"`
	Workers     int              `json:"workers" doc:"How many are present"`
	Jobs        int              `json:"jobs"`
	Store       StoreView        `json:"store"`
	Files       FilesView        `json:"files"`
	Paused      *job.Pause       `json:"paused" doc:"Set while all jobs are paused"`
	Quarantined []QuarantineView `json:"quarantined" doc:"Values in the store that cannot be read and are ignored"`
	Clocks      []ClockView      `json:"clocks,omitempty"`
	LagSeconds  *float64         `json:"lag_seconds,omitempty" doc:"How late the leader dispatches; absent if it is unknown"`
	Members     []MemberView     `json:"members" doc:"The replicas that the cluster expects"`
	Tolerated   *int             `json:"tolerated,omitempty" doc:"Members that may yet be lost; -1: no majority, absent: unknown"`
	Attention   []attention.Item `json:"attention" doc:"Things that need attention, the most urgent first"`
	Runs        RunCounts        `json:"runs" doc:"Counts of the runs"`
	AgeSeconds  float64          `json:"age_seconds" doc:"How old the answer may be: the time since the store was last heard"`
}

// RunCounts counts the runs in the store. They equal a scan of all records. Ended runs count while history keeps them.
type RunCounts struct {
	Scheduled int               `json:"scheduled" doc:"Wait for their time"`
	Waiting   int               `json:"waiting" doc:"Are due, and wait for something else"`
	Reasons   map[string]int    `json:"reasons,omitempty" doc:"Of the waiting runs, by what they wait for"`
	Armed     int               `json:"armed" doc:"Are assigned to a worker, and have not started"`
	Running   int               `json:"running"`
	Retrying  int               `json:"retrying" doc:"Wait for their next attempt"`
	Hour      map[job.State]int `json:"ended_hour,omitempty" doc:"Ended within the last hour, by outcome"`
	Day       map[job.State]int `json:"ended_day,omitempty" doc:"Ended within the last 24 hours, by outcome"`
}

// MemberView is a replica that the cluster expects.
type MemberView struct {
	Name  string    `json:"name"`
	State string    `json:"state" doc:"present, missing, or stopped in good order" enum:"present,missing,stopped"`
	Since time.Time `json:"since,omitzero" doc:"Since when it is missing; absent if unknown"`
}

// LeaderView is the leader of the cluster.
type LeaderView struct {
	Node  string    `json:"node"`
	Addr  string    `json:"addr,omitempty"`
	Term  int64     `json:"term" doc:"Create revision of its election key"`
	Since time.Time `json:"since"`
}

// ReplicaView is a replica in the form of the API.
type ReplicaView struct {
	job.Replica
	Leader bool `json:"leader"`
}

// StoreView is the state of the store.
type StoreView struct {
	Revision    int64     `json:"revision" doc:"The revision that the replica has reached"`
	AsOf        time.Time `json:"as_of,omitzero" doc:"The replica has all changes that the store had at this time"`
	Members     []string  `json:"members,omitempty" doc:"Endpoints"`
	Unavailable []string  `json:"unavailable,omitempty" doc:"The members that do not answer, or cannot reach the others"`
	DBSize      int64     `json:"db_size,omitempty" doc:"Bytes, the largest of the members"`
	Quota       int64     `json:"quota,omitempty" doc:"Bytes"`
	Full        bool      `json:"full,omitempty" doc:"Out of space: only deletions are accepted"`
}

// FilesView describes the job files that are in force.
type FilesView struct {
	Hash  string    `json:"hash,omitempty"`
	By    string    `json:"by,omitempty" doc:"The replica that applied them"`
	At    time.Time `json:"at,omitzero"`
	Agree bool      `json:"agree" doc:"All replicas have read the same files"`
	Notes []string  `json:"notes,omitempty"`
}

// QuarantineView is an unreadable record in the store.
type QuarantineView struct {
	Key      string `json:"key"`
	Revision int64  `json:"revision"`
	Error    string `json:"error"`
}

// ClockView is the clock of another replica, measured by this replica.
type ClockView struct {
	Node               string    `json:"node"`
	OffsetSeconds      float64   `json:"offset_seconds" doc:"Its clock minus ours"`
	UncertaintySeconds float64   `json:"uncertainty_seconds"`
	At                 time.Time `json:"at"`
}

// NextView lists future slots.
type NextView struct {
	Slots []time.Time `json:"slots"`
	Notes []string    `json:"notes" doc:"Changes of the clock, and other notes"`
}

// ExplainView explains what happened or will happen to a slot.
type ExplainView struct {
	Job     string     `json:"job"`
	Asked   time.Time  `json:"asked"`
	Slot    *time.Time `json:"slot" doc:"null if there is none at that time"`
	Verdict string     `json:"verdict" doc:"One to three words: ran, ran late, skipped, waits, not a slot, …"`
	State   job.State  `json:"state,omitempty" doc:"Of its run"`
	Ref     string     `json:"run,omitempty"`
	Text    []string   `json:"text" doc:"Lines for people"`
	Late    string     `json:"late,omitempty" doc:"Why its run is late; absent if it is not"`
	Behind  string     `json:"behind,omitempty" doc:"The run that its late run waited behind"`
}

// RestoredView is a restored store that was accepted.
type RestoredView struct {
	Cluster  string `json:"cluster" doc:"Id of the etcd cluster"`
	Revision int64  `json:"revision" doc:"Store revision of the acceptance"`
	Era      int64  `json:"era" doc:"How often a restored store has been accepted"`
	Lost     int64  `json:"lost" doc:"How many revisions the restored store lacks"`
}

// VersionView is the version of a process.
type VersionView struct {
	Version string    `json:"version"`
	Commit  string    `json:"commit,omitempty"`
	Built   time.Time `json:"built,omitzero"`
	Go      string    `json:"go,omitempty"`
	Node    string    `json:"node,omitempty"`
}

// JobList is the body of the list of jobs.
type JobList struct {
	Jobs     []JobView `json:"jobs"`
	Continue string    `json:"continue,omitempty" doc:"Send it as the parameter of the same name to get the next page"`
}

// LimitList is the body of the list of limits.
type LimitList struct {
	Limits []LimitView `json:"limits"`
}

// RunList is the body of the list of runs.
type RunList struct {
	Runs     []RunView `json:"runs"`
	Continue string    `json:"continue,omitempty" doc:"Send it as the parameter of the same name to get the next page"`
}

// WorkerList is the body of the list of workers.
type WorkerList struct {
	Workers []WorkerView `json:"workers"`
}

// GateView shows whether all jobs are paused.
type GateView struct {
	Paused *job.Pause `json:"paused"`
	Since  time.Time  `json:"since,omitzero" doc:"When dispatching was last resumed"`
}

// Event is one change in the store.
type Event struct {
	Revision int64           `json:"revision"`
	Kind     string          `json:"kind" doc:"Also the event's name in the stream"`
	Name     string          `json:"name" doc:"Of the record: a job, <job>/<slot or id>, a node"`
	Deleted  bool            `json:"deleted,omitempty"`
	Value    json.RawMessage `json:"value,omitempty" doc:"The record as the API shows it elsewhere"`
}

// KindLimit is a kind of definition. Limits have no Events.
const KindLimit = "limit"

// The kinds of Events. KindJob is also a kind of definition.
const (
	KindJob     = "job"     // Value is a JobView
	KindRun     = "run"     // Value is a RunView
	KindWorker  = "worker"  // Value is a WorkerView
	KindReplica = "replica" // Value is a ReplicaView
	KindGate    = "gate"    // Value is a GateView
	KindEvent   = "event"   // Value is a job.Event
	KindAudit   = "audit"   // Value is an AuditView
	// KindReset means that events before Revision are missing. Then the client must read all records again. It has no Value.
	KindReset = "reset"
)

// Kinds lists the kinds of Events.
func Kinds() []string {
	return []string{KindJob, KindRun, KindWorker, KindReplica, KindGate, KindEvent, KindAudit, KindReset}
}

// Changed returns the event of a record that was written at rev. value is its view.
func Changed(kind, name string, rev int64, value any) (Event, error) {
	b, err := json.Marshal(value)
	if err != nil {
		return Event{}, fmt.Errorf("encode %s %s: %w", kind, name, err)
	}
	return Event{Revision: rev, Kind: kind, Name: name, Value: b}, nil
}

// Removed returns the event of a record that was deleted at rev.
func Removed(kind, name string, rev int64) Event {
	return Event{Revision: rev, Kind: kind, Name: name, Deleted: true}
}
