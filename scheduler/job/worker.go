package job

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Worker is the presence of a process that executes attempts. Stored at workers/<name>, on its lease.
type Worker struct {
	Name     string            `json:"name"`
	Session  string            `json:"session"` // hex id of its lease; a restarted worker has another one
	Addr     string            `json:"addr,omitempty"`
	Capacity int               `json:"capacity"` // attempts that it executes at a time
	Labels   map[string]string `json:"labels,omitempty"`
	Handlers []string          `json:"handlers,omitempty"` // registered Go handlers, sorted
	Limits   []string          `json:"limits,omitempty"`   // resources that it can limit, sorted: see Resources.Kinds
	Kinds    []string          `json:"kinds,omitempty"`    // of WorkerKinds, what it executes at all; nil: UsualKinds
	Draining bool              `json:"draining,omitempty"` // it accepts no new runs
	Started  time.Time         `json:"started"`
	Version  string            `json:"version,omitempty"`
	PID      int               `json:"pid,omitempty"`
	// TLSOptional has the settings that let its process accept connections without TLS beside those with it.
	TLSOptional []string `json:"tls_optional,omitempty"`
	// OutputTrouble is why it cannot upload output to output.store; "" if it can, or if it has none.
	OutputTrouble string `json:"output_trouble,omitempty"`
	// Pressure is the pressure of its machine because of which it accepts no new runs; "" if there is none. Then it also drains.
	Pressure string `json:"pressure,omitempty"`
	// Broken is what is broken so that it accepts no new runs, such as a full disk; "" if nothing is. Then it also drains.
	Broken string `json:"broken,omitempty"`
	// Away has the kinds of actions that it cannot start now, and why, such as container: no engine answers. nil: none. It accepts
	// runs of all other kinds. An older leader does not know Away, and the worker hands back the runs that it gets from it.
	Away map[string]string `json:"away,omitempty" doc:"Kinds of jobs that it cannot execute now, and why"`
	// Keeps has the names of runs whose attempts began in an earlier session of its process and went on after it, sorted; at most
	// MaxKeeps. They are not lost. A name stays here after the end of its attempt. An older leader gives these attempts up.
	Keeps []string `json:"keeps,omitempty" hidden:"true"`

	Rev int64 `json:"-"`
}

// MaxKeeps bounds Worker.Keeps, so that the presence stays small.
const MaxKeeps = 1000

// Has reports whether the worker is to end r: it got r in this session, or it keeps the attempt.
func (w *Worker) Has(r *Run) bool {
	if r.Session == w.Session || len(w.Keeps) == 0 {
		return r.Session == w.Session
	}
	_, kept := slices.BinarySearch(w.Keeps, r.Name())
	return kept && r.State == Running
}

// SessionEnded is the session in the last record of a worker whose process is proven dead.
const SessionEnded = "ended"

// EndedWorker returns the last record of a worker whose process is proven dead. It differs from a removed record, which a living
// worker may put back.
func EndedWorker(name string) Worker {
	return Worker{Name: name, Session: SessionEnded, Capacity: CapacityRange.Low, Draining: true}
}

// Accepts reports whether the worker accepts new runs now, and suits jobs of this spec.
func (w *Worker) Accepts(s *Spec) bool { return !w.Draining && !w.lacks(s) && w.Suits(s) }

// AcceptsNone reports whether the worker accepts no runs of any job now: it drains, or all kinds that it executes are away.
func (w *Worker) AcceptsNone() bool {
	present := func(kind string) bool { return w.Away[kind] == "" }
	return w.Draining || len(w.Kinds) > 0 && !slices.ContainsFunc(w.Kinds, present)
}

// lacks reports whether the kind of the spec is away.
func (w *Worker) lacks(s *Spec) bool { return len(w.Away) > 0 && w.Away[s.Kind()] != "" }

// AwayText names the kinds that are away, such as "no container"; "" if there are none.
func (w *Worker) AwayText() string {
	if len(w.Away) == 0 {
		return ""
	}
	return "no " + strings.Join(slices.Sorted(maps.Keys(w.Away)), ", no ")
}

// Ready returns the worker as if it neither drained nor had a kind away.
func (w Worker) Ready() *Worker {
	w.Draining, w.Away = false, nil
	return &w
}

// Suits reports whether the worker may execute jobs of this spec. Every label must match, and the worker must execute its kind,
// be able to limit each of the resources and have the Go handler.
func (w *Worker) Suits(s *Spec) bool {
	if !w.executes(s.action()) || !w.HasLabels(s) {
		return false
	}
	for _, kind := range s.LimitedByWorker() {
		if !slices.Contains(w.Limits, kind) {
			return false
		}
	}
	if s.Handler == "" {
		return true
	}
	return slices.Contains(w.Handlers, s.Handler)
}

// HasLabels reports whether the worker has each label that the spec asks for.
func (w *Worker) HasLabels(s *Spec) bool {
	every := s.OnEveryWorker()
	for k, v := range s.Workers {
		if w.Labels[k] != v && (k != EveryWorker || !every) {
			return false
		}
	}
	return true
}

// executes reports whether the worker executes actions of a kind at all. a is nil for a Spec without an action.
func (w *Worker) executes(a *action) bool {
	switch {
	case len(w.Kinds) == 0:
		return a == nil || !a.onDemand
	case a == nil:
		return false
	}
	return slices.Contains(w.Kinds, a.worker)
}

// InWorker reports whether runs of the spec execute within the worker's own process. They have no process that can be marked or
// killed.
func (s *Spec) InWorker() bool { return s.Handler != "" }

// Replica is the presence of a `rota serve` process. Stored at replicas/<name>, on its lease.
type Replica struct {
	Name      string    `json:"name"`
	Session   string    `json:"session"`
	Addr      string    `json:"addr,omitempty"`
	Version   string    `json:"version,omitempty"`
	Started   time.Time `json:"started"`
	PID       int       `json:"pid,omitempty"`
	FilesHash string    `json:"files_hash,omitempty"` // of the job files that it has read
	FilesNote string    `json:"files_note,omitempty"` // why they are not in force; "" if they are
	Leaving   time.Time `json:"leaving,omitzero"`     // when it began to stop in good order; zero: it does not stop
	Outages   []Outage  `json:"outages,omitempty"`    // the latest that it observed, oldest first
	// TLSOptional has the settings that let it accept connections without TLS beside those with it.
	TLSOptional []string `json:"tls_optional,omitempty"`
	// Undelivered has the notifiers whose messages do not arrive, if it leads; at most MaxUndelivered.
	Undelivered []Undelivered `json:"undelivered,omitempty"`
	// Members has the entries of etcd.embedded.cluster in its settings, sorted. Nil: it has no list.
	Members []string `json:"members,omitempty"`

	Rev int64 `json:"-"`
}

// MaxUndelivered is the largest number of notifiers that a replica reports.
const MaxUndelivered = 10

// Order is what a leader hands to one worker in one transaction. Stored at queues/<worker>/<id>. The worker deletes it
// when every run in it is claimed or refused. The revision that created it is the fencing token of each of its runs.
type Order struct {
	ID      string   `json:"id"`
	Session string   `json:"session"`        // of the worker
	JobRevs []int64  `json:"jobs,omitempty"` // for each of Runs, the revision of its job's definition; 0: the run has its own spec
	Stop    []string `json:"stop,omitempty"` // names of runs to kill: their records say why
	Runs    []Run    `json:"runs,omitempty"` // armed runs: copies of the records that the same transaction wrote

	Rev int64 `json:"-"`
}
