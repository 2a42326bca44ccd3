package job

import (
	"slices"
	"time"
)

// Worker is the presence of a process that executes attempts. Stored at workers/<name>, on its lease.
type Worker struct {
	Name     string            `json:"name"`
	Session  string            `json:"session"` // hex id of its lease; another session is another incarnation
	Addr     string            `json:"addr,omitempty"`
	Capacity int               `json:"capacity"` // attempts that it executes at a time
	Labels   map[string]string `json:"labels,omitempty"`
	Handlers []string          `json:"handlers,omitempty"` // registered Go handlers, sorted
	Limits   []string          `json:"limits,omitempty"`   // kinds of resources that it can limit, sorted: see Resources.Kinds
	Draining bool              `json:"draining,omitempty"` // takes nothing new
	Started  time.Time         `json:"started"`
	Version  string            `json:"version,omitempty"`
	PID      int               `json:"pid,omitempty"`

	Rev int64 `json:"-"`
}

// Accepts says whether the worker may execute jobs of this spec: every label matches, it can limit each of the resources
// and, for a Go handler, the handler is registered.
func (w *Worker) Accepts(s *Spec) bool {
	if w.Draining {
		return false
	}
	for k, v := range s.Workers {
		if w.Labels[k] != v {
			return false
		}
	}
	for _, kind := range s.Resources.Kinds() {
		if !slices.Contains(w.Limits, kind) {
			return false
		}
	}
	if s.Handler == "" {
		return true
	}
	for _, h := range w.Handlers {
		if h == s.Handler {
			return true
		}
	}
	return false
}

// Replica is the presence of a `rota serve` process. Stored at replicas/<name>, on its lease.
type Replica struct {
	Name      string    `json:"name"`
	Session   string    `json:"session"`
	Addr      string    `json:"addr,omitempty"`
	Version   string    `json:"version,omitempty"`
	Started   time.Time `json:"started"`
	PID       int       `json:"pid,omitempty"`
	FilesHash string    `json:"files_hash,omitempty"` // of the job files that it has read
	FilesNote string    `json:"files_note,omitempty"` // why they are not in force, if they are not

	Rev int64 `json:"-"`
}

// Order is what a leader hands to one worker in one transaction. Stored at queues/<worker>/<id> and deleted by the
// worker once every run in it is claimed or refused; the store revision that created it is the fencing token of each
// of its runs.
type Order struct {
	ID      string   `json:"id"`
	Session string   `json:"session"`        // of the worker that it is for
	JobRevs []int64  `json:"jobs,omitempty"` // for each of Runs the revision of the definition that it was armed from; 0: it has its own
	Stop    []string `json:"stop,omitempty"` // names of runs whose attempt is to be killed: their records say why
	Runs    []Run    `json:"runs,omitempty"` // armed runs, as their records were written in the same transaction

	Rev int64 `json:"-"`
}
