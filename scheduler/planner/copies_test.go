package planner_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// TestASuccessorCreatesTheMissingCopies lets a leader die after it has created the first of three copies. Its successor creates the
// others, for the workers that the record names, and no copy for a worker that has joined since.
func TestASuccessorCreatesTheMissingCopies(t *testing.T) {
	p, rev := planner.New(planner.Config{}), int64(0)
	apply := func(kind job.RecordKind, name string, value any) {
		rev++
		switch v := value.(type) {
		case *job.Job:
			v.Rev = rev
		case *job.Run:
			v.Rev = rev
		case *job.Worker:
			v.Rev = rev
		}
		p.Apply(job.Change{Kind: kind, Name: name, Rev: rev, Value: value}, midnight)
	}
	spec := job.Spec{Shell: "true", Workers: map[string]string{job.EveryWorker: "true"}}.WithDefaults()
	apply(job.RecordJob, "sweep", &job.Job{Name: "sweep", Generation: 1, Created: midnight, Since: midnight, Spec: &spec})
	for _, name := range []string{"a", "b", "c", "joined-later"} {
		apply(job.RecordWorker, name, &job.Worker{Name: name, Session: "s" + name, Capacity: 1})
	}
	r := job.Run{Job: "sweep", ID: "1", Kind: job.KindManual, Slot: midnight, Due: midnight, State: job.Pending, Created: midnight}
	r = r.SpreadOver([]string{"a", "b", "c"}, midnight)
	first := r.Copy("a", midnight)
	apply(job.RecordRun, r.Name(), &r)
	apply(job.RecordRun, first.Name(), &first)
	p.Lead(midnight)

	var created []string
	for i := range 10 {
		now := midnight.Add(time.Duration(i) * time.Millisecond)
		ds := p.Plan(now, 10)
		if len(ds) == 0 {
			break
		}
		for _, d := range ds {
			if d.Run.Rev == 0 {
				created = append(created, d.Run.ID+" on "+d.Run.Worker)
				if guard := (job.Guard{Kind: job.RecordRun, Name: r.Name(), Rev: r.Rev}); !slices.Contains(d.Guards, guard) {
					t.Errorf("the copy %s does not depend on the record of its run: got guards %v", d.Run.ID, d.Guards)
				}
			}
			rev++
			p.Resolve(d, job.Applied{Rev: rev}, now)
		}
	}
	if want := []string{"1.b on b", "1.c on c"}; !slices.Equal(created, want) {
		t.Errorf("got copies %v, want %v", created, want)
	}
}
