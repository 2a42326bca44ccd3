package job

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// EveryWorker is the key among the labels of Spec.Workers that asks for a run on every worker that accepts the job. An earlier
// version of rota takes it for a label that no worker has, and never starts such a job.
const EveryWorker = "all"

// OnEveryWorker reports whether each run of the job is a run on every worker that accepts it.
func (s *Spec) OnEveryWorker() bool { return s.Workers[EveryWorker] == "true" }

// WorkerLabels returns the labels that a worker must have. The caller must not change them.
func (s *Spec) WorkerLabels() map[string]string {
	if !s.OnEveryWorker() {
		return s.Workers
	}
	labels := maps.Clone(s.Workers)
	delete(labels, EveryWorker)
	return labels
}

// checkEveryWorker returns an error if a job for every worker has a key that is not defined for it.
func (s *Spec) checkEveryWorker() error {
	switch {
	case !s.OnEveryWorker():
		return nil
	case s.Step():
		return errors.New("it has after and workers.all: a step runs on one worker")
	case s.Approve != nil:
		return errors.New("it has approve and workers.all: only a run on one worker can wait for a person")
	}
	return nil
}

// WhenCopiesEnd is the due time of a run whose copies have not all ended. An earlier version of rota knows no copies, and never
// starts such a run.
var WhenCopiesEnd = WhenApproved.Add(-time.Second)

// SpreadOver decides on which workers a pending run runs: from now on it waits for one copy on each. workers must not be empty.
func (r Run) SpreadOver(workers []string, now time.Time) Run {
	r.Copies, r.Armed, r.Due, r.Ahead = workers, now, WhenCopiesEnd, false
	r.Reason = fmt.Sprintf("waits for its copies on workers: %d", len(workers))
	return r
}

// Copy returns the copy of r for a worker, pending. Its id is that of r, a dot and the name of the worker.
func (r *Run) Copy(worker string, now time.Time) Run {
	return Run{
		Job: r.Job, ID: r.CopyID(worker), Kind: KindCopy, Slot: r.Slot, Due: r.Armed, State: Pending, Reason: ReasonNew, Late: r.Late,
		On: worker, Payload: r.Payload, Params: r.Params, Defaulted: r.Defaulted, By: r.By, Created: now, Generation: r.Generation,
		Spec: r.Spec,
	}
}

// CopyID returns the id of the copy of r for a worker.
func (r *Run) CopyID(worker string) string { return r.ID + "." + worker }

// CopyOf returns the id of the run of which r is a copy; "" if it is none.
func (r *Run) CopyOf() string {
	if r.Kind != KindCopy {
		return ""
	}
	return strings.TrimSuffix(r.ID, "."+r.On)
}

// Siblings reports whether one of two runs is a copy of the other, or both are copies of the same run.
func Siblings(a, b *Run) bool {
	return (a.Kind == KindCopy || b.Kind == KindCopy) && cmp.Or(a.CopyOf(), a.ID) == cmp.Or(b.CopyOf(), b.ID)
}

// Gather ends a run whose copies have all ended. It succeeds if every copy did. bad has the workers whose copies did not.
func (r Run) Gather(bad []string, now time.Time) (Run, error) {
	to := Succeeded
	if len(bad) > 0 {
		to = Failed
	}
	total := len(r.Copies)
	if total == 0 {
		return r, &TransitionError{Run: r.Name(), From: r.State, To: to}
	}
	if err := r.move(to); err != nil {
		return r, err
	}
	r.Due, r.Finished = r.Armed, now
	if len(bad) > 0 {
		r.Reason = fmt.Sprintf("did not succeed on %d of %d workers: %s", len(bad), total, firstNames(bad))
	}
	return r, nil
}

// firstNames returns the first names of a list, and how many more there are.
func firstNames(list []string) string {
	const most = 5
	if extra := len(list) - most; extra > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), extra)
	}
	return strings.Join(list, ", ")
}
