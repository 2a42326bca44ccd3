package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// The checks of single kinds: whether this version can act on a record. Each also sets the record's revision.

func same(field, got, want string) error {
	if got != want {
		return fmt.Errorf("%s is %.80q, but the key says %.160q", field, got, want)
	}
	return nil
}

// maxCount bounds counters in records. rota never counts so far, and the bound rules out overflows.
const maxCount = 1 << 30

func checkJob(j *job.Job, name string, rev int64) error {
	j.Rev = rev
	if err := job.CheckName(name); err != nil {
		return err
	}
	if name == job.AdHoc {
		return errors.New("the name is reserved for commands without a job")
	}
	if j.Generation < 1 || j.Generation > maxCount {
		return fmt.Errorf("generation is %d, and the first is 1", j.Generation)
	}
	if j.Spec == nil {
		return errors.New("it has no spec")
	}
	if err := j.Spec.Check(); err != nil {
		return err
	}
	return same("name", j.Name, name)
}

func checkLimit(l *job.Limit, name string, rev int64) error {
	l.Rev = rev
	if err := job.CheckName(name); err != nil {
		return err
	}
	if l.Spec == (job.LimitSpec{}) {
		return errors.New("it has no limit")
	}
	if err := l.Spec.Check(); err != nil {
		return err
	}
	return same("name", l.Name, name)
}

func checkCursor(c *job.Cursor, name string, rev int64) error {
	c.Rev = rev
	if c.After.IsZero() {
		return errors.New("it has no time up to which slots are decided")
	}
	if !c.Next.IsZero() && !c.Next.After(c.After) { // the cursor would move back
		return errors.New("its next slot is decided already")
	}
	return same("job", c.Job, name)
}

func checkRun(r *job.Run, name string, rev int64) error {
	r.Rev = rev
	jobName, id, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(id, "/") {
		return errors.New("the key is not runs/<job>/<slot or id>")
	}
	if !r.State.Valid() {
		return fmt.Errorf("state %.40q is not known", r.State)
	}
	if (r.State == job.Armed || r.State == job.Running) && (r.Worker == "" || r.Attempt < 1) {
		return fmt.Errorf("it is %s, but has no worker or no attempt", r.State)
	}
	if r.Attempt < 0 || r.Attempt > maxCount || r.Bound < 0 {
		return fmt.Errorf("attempt is %d, bound %v", r.Attempt, r.Bound)
	}
	if r.Spec != nil { // nil: the job's spec applies
		if err := r.Spec.Check(); err != nil {
			return err
		}
	}
	if r.Job != jobName || r.ID != id {
		return same("run", r.Name(), name)
	}
	r.Job, r.ID = jobName, id // they share the memory of the key
	for _, reason := range []string{job.ReasonNotYet, job.ReasonNew, job.ReasonParents} {
		if r.Reason == reason {
			r.Reason = reason // shared by all runs: a million may wait
		}
	}
	return nil
}

func checkWorker(w *job.Worker, name string, rev int64) error {
	w.Rev = rev
	if w.Session == "" || !job.CapacityRange.Holds(w.Capacity) {
		return fmt.Errorf("no session, or a capacity that is not between %d and %d", job.CapacityRange.Low, job.CapacityRange.High)
	}
	return same("name", w.Name, name)
}

func checkReplica(r *job.Replica, name string, rev int64) error {
	r.Rev = rev
	return same("name", r.Name, name)
}

func checkBackfill(b *job.Backfill, name string, rev int64) error {
	b.Rev = rev
	if err := b.Check(); err != nil {
		return err
	}
	return same("job", b.Job, name)
}

func checkGate(g *job.Gate, _ string, rev int64) error {
	g.Rev = rev
	if g.Paused == nil && g.Since.IsZero() {
		return errors.New("it has neither a pause nor the time of the last resumption")
	}
	return nil
}

func checkFiles(f *job.Files, _ string, rev int64) error {
	f.Rev = rev
	if f.Hash == "" {
		return errors.New("no hash")
	}
	return nil
}

func checkEvent(e *job.Event, name string, rev int64) error {
	e.Rev = rev
	return same("key", e.Job+"/"+e.ID, name)
}

func checkNotifyState(t *job.NotifyState, name string, rev int64) error {
	t.Rev = rev
	return same("job", t.Job, name)
}

func checkIntake(g *intakeGate, _ string, _ int64) error {
	if g.Op == "" {
		return errors.New("it has no id of the submission")
	}
	return nil
}

func checkTombstone(t *tombstone, _ string, _ int64) error {
	if t.Op == "" {
		return errors.New("it has no id of the removal")
	}
	return nil
}

func checkSession(r *auth.Session, _ string, _ int64) error {
	if r.Principal == "" || r.Expires.IsZero() {
		return errors.New("a session has a principal and an end")
	}
	return nil
}

func checkAudit(a *job.Audit, name string, rev int64) error {
	a.Rev = rev
	return same("id", a.ID, name)
}

func checkEra(e *era, _ string, _ int64) error {
	if e.Era < 0 || e.Era == 0 && e.Cluster == "" {
		return fmt.Errorf("era %d: they begin at 1", e.Era)
	}
	return nil
}

// checkOrder checks whether a value looks like an order. If it begins and ends as rota writes orders, the rest is not parsed: its
// worker reads all of it. The record is the value itself.
func checkOrder(_ string, value []byte, _ int64) (any, error) {
	if bytes.HasPrefix(value, []byte(`{"id":"`)) && bytes.HasSuffix(value, []byte(`]}`)) {
		return value, nil
	}
	var order struct{ Session string }
	if json.Unmarshal(value, &order) != nil || order.Session == "" {
		return nil, errors.New("not an order")
	}
	return value, nil
}
