package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// register is a record in memory with compare-and-set. Before each write of ours, another client writes the next entry
// of races.
type register struct {
	gate  job.Gate
	races []job.Gate
	reads int
}

func (r *register) read(context.Context) (job.Gate, error) {
	r.reads++
	return r.gate, nil
}

func (r *register) write(_ context.Context, g job.Gate) (job.Gate, error) {
	if len(r.races) > 0 {
		r.gate, r.races = r.races[0], r.races[1:]
	}
	if g.Rev != r.gate.Rev {
		return job.Gate{}, fmt.Errorf("write the gate: %w", job.ErrConflict)
	}
	g.Rev++
	r.gate = g
	return g, nil
}

func setOp(op string) func(job.Gate) (job.Gate, bool, error) {
	return func(g job.Gate) (job.Gate, bool, error) {
		changed := g.Op != op
		g.Op = op
		return g, changed, nil
	}
}

// TestEditRepeatsAfterConflict checks that an edit is made on top of the record that another client wrote in between.
func TestEditRepeatsAfterConflict(t *testing.T) {
	r := &register{gate: job.Gate{Rev: 1}, races: []job.Gate{{Rev: 7}, {Rev: 9}}}
	got, err := Edit(t.Context(), r.read, setOp("x"), r.write)
	if err != nil || got.Rev != 10 || got.Op != "x" || r.reads != 3 {
		t.Errorf("got revision %d, op %q, %d reads, error %v; want 10, x, 3, nil", got.Rev, got.Op, r.reads, err)
	}
}

// TestEditWithoutChangeWritesNothing also covers an edit that another client made first.
func TestEditWithoutChangeWritesNothing(t *testing.T) {
	r := &register{gate: job.Gate{Rev: 1}, races: []job.Gate{{Rev: 7, Op: "x"}}}
	got, err := Edit(t.Context(), r.read, setOp("x"), r.write)
	if err != nil || got.Rev != 7 || r.gate.Rev != 7 {
		t.Errorf("got revision %d, store at %d, error %v; want 7, 7, nil", got.Rev, r.gate.Rev, err)
	}
}

// TestEditEndsWithOtherErrors checks that only a conflict of the write repeats the edit.
func TestEditEndsWithOtherErrors(t *testing.T) {
	broken := errors.New("broken")
	r := &register{}
	fail := func(context.Context, job.Gate) (job.Gate, error) { return job.Gate{}, broken }
	for name, edit := range map[string]func() (job.Gate, error){
		"read": func() (job.Gate, error) {
			return Edit(t.Context(), func(ctx context.Context) (job.Gate, error) { return fail(ctx, job.Gate{}) }, setOp("x"), r.write)
		},
		"conflict of the read": func() (job.Gate, error) {
			return Edit(t.Context(), func(context.Context) (job.Gate, error) {
				return job.Gate{}, fmt.Errorf("%w: %w", broken, job.ErrConflict)
			}, setOp("x"), r.write)
		},
		"change": func() (job.Gate, error) {
			return Edit(t.Context(), r.read, func(g job.Gate) (job.Gate, bool, error) { return g, true, broken }, r.write)
		},
		"write": func() (job.Gate, error) { return Edit(t.Context(), r.read, setOp("x"), fail) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := edit(); !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestKnownFirst checks that a stale known record costs one conflict and one read.
func TestKnownFirst(t *testing.T) {
	r := &register{gate: job.Gate{Rev: 5}}
	got, err := Edit(t.Context(), KnownFirst(job.Gate{Rev: 3}, r.read), setOp("x"), r.write)
	if err != nil || got.Rev != 6 || r.reads != 1 {
		t.Errorf("got revision %d after %d reads, error %v", got.Rev, r.reads, err)
	}
}

func ExampleEdit() {
	r := &register{gate: job.Gate{Rev: 1}}
	gate, err := Edit(context.Background(), r.read, setOp("maintenance"), r.write)
	fmt.Println(gate.Op, gate.Rev, err)
	// Output: maintenance 2 <nil>
}
