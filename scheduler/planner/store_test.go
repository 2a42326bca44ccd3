package planner_test

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// fakeStore behaves like store.Store: records have revisions, writes are guarded, a transaction has one revision, and a log
// has every change.
type fakeStore struct {
	rev     int64
	term    int64 // the term whose writes are accepted
	records map[recordKey]job.Change
	log     []job.Change
	orders  []order

	// onCommit is called for every decision that takes effect, before it does.
	onCommit func(d job.Decision)
}

type recordKey struct {
	kind job.RecordKind
	name string
}

// order is a message to a worker.
type order struct {
	worker, session string
	run             job.Run // the armed run, or the run to stop
	stop            bool
	received        time.Time // when its worker received it
}

var errTermLost = errors.New("term lost")

func newFakeStore() *fakeStore { return &fakeStore{records: make(map[recordKey]job.Change)} }

func (s *fakeStore) put(c job.Change) int64 {
	s.rev++
	s.write(c)
	return s.rev
}

// write writes a record at the present revision.
func (s *fakeStore) write(c job.Change) {
	c.Rev = s.rev
	switch v := c.Value.(type) {
	case *job.Job:
		r := *v
		r.Rev, c.Value = s.rev, &r
	case *job.Run:
		r := *v
		r.Rev, c.Value = s.rev, &r
	case *job.Cursor:
		r := *v
		r.Rev, c.Value = s.rev, &r
	case *job.Backfill:
		r := *v
		r.Rev, c.Value = s.rev, &r
	case *job.Worker:
		r := *v
		r.Rev, c.Value = s.rev, &r
	}
	key := recordKey{c.Kind, c.Name}
	if c.Deleted() {
		if _, ok := s.records[key]; !ok {
			return
		}
		delete(s.records, key)
	} else {
		s.records[key] = c
	}
	s.log = append(s.log, c)
}

func (s *fakeStore) putJob(j job.Job) {
	s.put(job.Change{Kind: job.RecordJob, Name: j.Name, Value: &j})
}

func (s *fakeStore) putWorker(w job.Worker) {
	s.put(job.Change{Kind: job.RecordWorker, Name: w.Name, Value: &w})
}

// endWorker removes a worker that is proven dead.
func (s *fakeStore) endWorker(name string) {
	s.putWorker(job.EndedWorker(name))
	s.remove(job.RecordWorker, name)
}

func (s *fakeStore) remove(kind job.RecordKind, name string) {
	s.put(job.Change{Kind: kind, Name: name})
}

func (s *fakeStore) deleteJob(name string) {
	s.rev++
	s.write(job.Change{Kind: job.RecordJob, Name: name})
	s.write(job.Change{Kind: job.RecordCursor, Name: name})
}

func (s *fakeStore) job(name string) *job.Job {
	return job.ValueOf[job.Job](s.records[recordKey{job.RecordJob, name}])
}

// backfill returns the backfill of a job, nil if there is none.
func (s *fakeStore) backfill(name string) *job.Backfill {
	return job.ValueOf[job.Backfill](s.records[recordKey{job.RecordBackfill, name}])
}

// orderBackfill writes a backfill of all slots that may run between two times, as the API does. It returns false if there is none,
// or if a backfill of the job is running.
func (s *fakeStore) orderBackfill(j *job.Job, b job.Backfill) bool {
	when, err := policy.When(j.Name, j.Spec)
	old := s.backfill(j.Name)
	if err != nil || when == nil || old != nil && old.State == job.BackfillRunning {
		return false
	}
	decided := scheduledAfter(j)
	if c := s.cursor(j.Name); c != nil {
		decided = job.Later(decided, c.After)
	}
	b.Job, b.State, b.JobCreated, b.SinceGeneration = j.Name, job.BackfillRunning, j.Created, j.SinceGeneration
	b.Ranges = policy.Backfillable(j, when, old, nil, b.From, b.To, decided)
	b.Steps = workflow.Of(s.specs()).Behind(j.Name)
	if old != nil {
		b.Past = old.Decided()
	}
	s.put(job.Change{Kind: job.RecordBackfill, Name: j.Name, Value: &b})
	return true
}

func (s *fakeStore) run(name string) *job.Run {
	return job.ValueOf[job.Run](s.records[recordKey{job.RecordRun, name}])
}

func (s *fakeStore) cursor(name string) *job.Cursor {
	return job.ValueOf[job.Cursor](s.records[recordKey{job.RecordCursor, name}])
}

func (s *fakeStore) gate() job.Gate {
	if g := job.ValueOf[job.Gate](s.records[recordKey{job.RecordGate, ""}]); g != nil {
		return *g
	}
	return job.Gate{}
}

// runs returns all runs by name.
func (s *fakeStore) runs() (list []*job.Run) {
	for _, c := range s.records {
		if r := job.ValueOf[job.Run](c); r != nil {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *job.Run) int {
		return slices.Compare([]string{a.Job, a.ID}, []string{b.Job, b.ID})
	})
	return list
}

// writeRun replaces a run if its record still has the revision of r.
func (s *fakeStore) writeRun(r job.Run) (job.Run, error) {
	if have := s.records[recordKey{job.RecordRun, r.Name()}]; have.Rev != r.Rev {
		if there := job.ValueOf[job.Run](have); there != nil {
			return *there, job.ErrConflict
		}
		return job.Run{}, job.ErrConflict
	}
	s.put(job.Change{Kind: job.RecordRun, Name: r.Name(), Value: &r})
	return *s.run(r.Name()), nil
}

// stopRun writes a request to stop a run, and sends it to the worker.
func (s *fakeStore) stopRun(r job.Run) error {
	r, err := s.writeRun(r)
	if err == nil && r.State == job.Running {
		s.orders = append(s.orders, order{worker: r.Worker, session: r.Session, run: r, stop: true})
	}
	return err
}

// commit applies decisions in one transaction of a term. Each has its own guards.
func (s *fakeStore) commit(term int64, ds []job.Decision) []job.Applied {
	out := make([]job.Applied, len(ds))
	if term != s.term {
		for i := range out {
			out[i].Err = errTermLost
		}
		return out
	}
	s.rev++
	armed := false // set once a run with limits was armed at this revision
	for i, d := range ds {
		if limited := d.Run != nil && d.Run.State == job.Armed && len(d.Run.Limits) > 0; limited && armed {
			s.rev++ // two holders of a limit never share a revision
		} else {
			armed = armed || limited
		}
		out[i] = s.decide(d)
	}
	return out
}

func (s *fakeStore) decide(d job.Decision) job.Applied {
	holds := d.JobRev == 0 || s.records[recordKey{job.RecordJob, d.Job}].Rev == d.JobRev
	var a job.Applied
	if d.Run != nil {
		have := s.records[recordKey{job.RecordRun, d.Run.Name()}]
		holds = holds && have.Rev == d.Run.Rev && (d.Run.State != job.Armed && d.Cursor == nil || s.records[recordKey{job.RecordGate, ""}].Rev == d.Gate)
		a.Run, a.Unreadable = job.ValueOf[job.Run](have), have.Bad != nil
	}
	if d.Cursor != nil {
		have := s.records[recordKey{job.RecordCursor, d.Job}]
		holds = holds && have.Rev == d.Cursor.Rev
		a.Cursor, a.BadCursor = job.ValueOf[job.Cursor](have), have.Bad != nil
	}
	for _, g := range d.Guards {
		have := s.records[recordKey{g.Kind, g.Name}]
		holds = holds && have.Rev == g.Rev
		if g.Kind == job.RecordRun && have.Rev == 0 {
			have = g.Gone()
		}
		if g.Kind == job.RecordRun {
			a.Guarded = append(a.Guarded, have)
		}
	}
	if d.Backfill != nil {
		holds = holds && s.records[recordKey{job.RecordBackfill, d.Job}].Rev == d.Backfill.Rev
	}
	for _, r := range d.Deletions {
		holds = holds && s.records[recordKey{job.RecordRun, r.Name()}].Rev == r.Rev
	}
	for _, step := range d.Behind {
		holds = holds && s.records[recordKey{job.RecordRun, step.Name()}].Rev == 0
	}
	if !holds {
		a.Err = job.ErrConflict
		return a
	}
	if s.onCommit != nil {
		s.onCommit(d)
	}
	if d.Run != nil {
		r := *d.Run
		s.write(job.Change{Kind: job.RecordRun, Name: r.Name(), Value: &r})
		r = *s.run(r.Name())
		if d.Stop || r.State == job.Armed {
			s.orders = append(s.orders, order{worker: r.Worker, session: r.Session, run: r, stop: d.Stop})
		}
	}
	for _, step := range d.Behind {
		s.write(job.Change{Kind: job.RecordRun, Name: step.Name(), Value: &step})
	}
	if d.Cursor != nil {
		c := *d.Cursor
		s.write(job.Change{Kind: job.RecordCursor, Name: d.Job, Value: &c})
	}
	if d.Backfill != nil {
		b := *d.Backfill
		s.write(job.Change{Kind: job.RecordBackfill, Name: d.Job, Value: &b})
	}
	if e := d.Event; e != nil && e.Kind == job.EventLate {
		s.write(job.Change{Kind: job.RecordEvent, Name: e.Job + "/" + e.ID, Value: e})
	}
	for _, r := range d.Deletions {
		s.write(job.Change{Kind: job.RecordRun, Name: r.Name()})
	}
	return job.Applied{Rev: s.rev}
}

// snapshot returns every record, in random order.
func (s *fakeStore) snapshot() []job.Change { return slices.Collect(maps.Values(s.records)) }

// putGarbage writes an unreadable record.
func (s *fakeStore) putGarbage(kind job.RecordKind, name string) {
	s.put(job.Change{Kind: kind, Name: name, Bad: errors.New("garbage")})
}
