package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// specOf returns the spec of run as await does, with a single read.
func specOf(t *testing.T, d *definitions, run *job.Run, rev int64) (*job.Spec, error) {
	t.Helper()
	if spec := d.cached(run, rev); spec != nil {
		return spec, nil
	}
	return d.fetch(t.Context(), run, rev)
}

func TestDefinitionsAreReadOncePerRevision(t *testing.T) {
	now := time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)
	stored := job.Job{Name: "j", Generation: 1, Rev: 5, Spec: &job.Spec{Shell: "one"}}
	reads := 0
	d := &definitions{
		read: func(context.Context, string) (job.Job, error) { reads++; return stored, nil },
		now:  func() time.Time { return now },
	}
	run := &job.Run{Job: "j", Generation: 1}
	shell := func(rev int64) (string, error) {
		t.Helper()
		spec, err := specOf(t, d, run, rev)
		if err != nil {
			return "", err
		}
		return spec.Shell, nil
	}
	for _, step := range []struct {
		what  string
		do    func()
		rev   int64
		want  string
		reads int // the number of reads
	}{
		{"the first run of a revision reads it", func() {}, 5, "one", 1},
		{"the next run uses the cache at any age", func() { now = now.Add(time.Hour) }, 5, "one", 1},
		{"an order without a revision reads an old definition again", func() {}, 0, "one", 2},
		{"an order without a revision uses a fresh definition", func() {}, 0, "one", 2},
		{"a later revision is read", func() { stored.Rev, stored.Spec = 6, &job.Spec{Shell: "two"} }, 6, "two", 3},
		{"an order of an earlier revision gets the latest definition", func() {}, 5, "two", 3},
	} {
		step.do()
		got, err := shell(step.rev)
		if err != nil || got != step.want || reads != step.reads {
			t.Errorf("%s: got %q (%v) after %d reads, want %q after %d", step.what, got, err, reads, step.want, step.reads)
		}
	}
	if _, err := shell(7); !errors.Is(err, errOutdated) {
		t.Errorf("the store is behind the order: got %v, want errOutdated", err)
	}
	run.Generation = 2
	if _, err := shell(6); !errors.Is(err, errOutdated) {
		t.Errorf("the job was deleted and created again: got %v, want errOutdated", err)
	}
}

func TestDefinitionsInMemoryAreNotRead(t *testing.T) {
	known := &job.Job{Name: "j", Generation: 1, Rev: 5, Spec: &job.Spec{Shell: "one"}}
	d := &definitions{
		read:  func(context.Context, string) (job.Job, error) { return job.Job{}, job.ErrNotFound },
		known: func(_ string, rev int64) (*job.Job, bool) { return known, known.Rev >= rev },
		now:   time.Now,
	}
	run := &job.Run{Job: "j", Generation: 1}
	if spec, err := specOf(t, d, run, 5); err != nil || spec != known.Spec {
		t.Errorf("got %v, %v; want the definition in memory", spec, err)
	}
	// The definition in memory is too old, or of an earlier job of that name, or the order names no revision.
	for rev, gen := range map[int64]int64{6: 1, 5: 2, 0: 1} {
		run.Generation = gen
		if _, err := specOf(t, d, run, rev); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("revision %d, generation %d: got %v, want the store's answer", rev, gen, err)
		}
	}
	own := &job.Run{Job: "j", Spec: &job.Spec{Shell: "own"}}
	if spec, err := specOf(t, d, own, 0); err != nil || spec.Shell != "own" {
		t.Errorf("got %v, %v; want the run's own", spec, err)
	}
}

// A run that was armed ahead is handed back if its job has changed since. A run that was armed when it was due is not, and a memory
// that is behind the order proves no change.
func TestAChangeOfTheDefinitionIsKnownBeforeTheClaim(t *testing.T) {
	due := time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		armed   time.Time
		jobRev  int64
		known   *job.Job // nil: the memory is behind the order
		changed bool
	}{
		{"unchanged", due.Add(-time.Second), 5, &job.Job{Rev: 5}, false},
		{"changed", due.Add(-time.Second), 5, &job.Job{Rev: 6}, true},
		{"changed, but the run was due", due, 5, &job.Job{Rev: 6}, false},
		{"changed, but the run has its own spec", due.Add(-time.Second), 0, &job.Job{Rev: 6}, false},
		{"not known", due.Add(-time.Second), 5, nil, false},
	} {
		w := &Worker{cfg: Config{Known: func(string, int64) (*job.Job, bool) { return tt.known, tt.known != nil }}}
		a := &assignment{run: job.Run{Job: "j", Due: due, Armed: tt.armed}, jobRev: tt.jobRev}
		if got := w.definitionChanged(a); got != tt.changed {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.changed)
		}
	}
}
