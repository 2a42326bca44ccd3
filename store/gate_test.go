package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/store/mem"
)

// A process uses an open gate only while few of its own submissions are missing in its mirror.
func TestMissingSubmissionsCloseAGate(t *testing.T) {
	s := open(t, fake(t, nil).Client())
	in := NewIntake(s, NewMirror(s), 1000)
	const most = 2 * 2 * openShare // two submissions may be missing
	opens := func() bool {
		ps := []*passage{{name: "j", max: most}, {name: allGate, max: in.all}}
		in.enter(ps)
		defer in.leave(ps)
		_, err := in.decide(ps)
		if err != nil {
			t.Fatal(err)
		}
		if ps[0].open {
			in.settle(ps, 5, false)
		}
		return ps[0].open
	}
	for n := range 3 {
		if got, want := opens(), n < 2; got != want {
			t.Errorf("after %d submissions that the mirror does not show, the gate is open: %t", n, got)
		}
	}
	in.mirror.rev = 4
	if opens() {
		t.Error("the gate opens before the mirror shows the submissions")
	}
	in.mirror.rev = 5
	if !opens() {
		t.Error("the gate does not open after the mirror shows the submissions")
	}
}

func TestAnUnknownSubmissionCountsForAWhile(t *testing.T) {
	later, earlier := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	g := gate{unseen: []unseen{{rev: 5}, {rev: 6}, {rev: math.MaxInt64, until: later}, {rev: math.MaxInt64, until: earlier}}}
	g.prune(5)
	if len(g.unseen) != 2 || g.unseen[0].rev != 6 || !g.unseen[1].until.Equal(later) {
		t.Errorf("got %+v, want the one after revision 5, and the one that may still be written", g.unseen)
	}
}

// The mirror is old. So the submission that it takes for admissible finds another gate in the store, and is not written.
func TestAnOldMirrorAdmitsNothing(t *testing.T) {
	for name, most := range map[string]int{"through a gate that another process closed": 1000, "before it shows the closed gate": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := mem.New(mem.Config{})
				defer srv.Close()
				c := srv.Client()
				s := New(Config{Prefix: prefix, Process: "p"}, c, nullLog)
				defer s.Close()
				m := stopped(t, s)
				if most > 1 {
					put(t, c, s.keys.record(KindIntake, "j"), `{"op":"another"}`)
				}
				ctx, giveUp := context.WithTimeout(t.Context(), time.Minute)
				defer giveUp()
				r := submission("j", "a")
				if _, err := NewIntake(s, m, 100_000).Submit(ctx, r, most); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want the end of the context", err)
				}
				if got := value(t, c, s.keys.run("j", r.ID)); got != "" {
					t.Errorf("the run was written: %s", got)
				}
			})
		})
	}
}

func TestGatesOfJobsAreForgotten(t *testing.T) {
	s := open(t, fake(t, nil).Client())
	m := following(t, s)
	catchUp(t, s, m)
	in := NewIntake(s, m, 100_000)
	for i := range 200 {
		if _, err := in.Submit(within(t), submission(fmt.Sprint("job-", i), "a"), 1000); err != nil {
			t.Fatal(err)
		}
	}
	catchUp(t, s, m)
	if _, err := in.Submit(within(t), submission("last", "a"), 1000); err != nil {
		t.Fatal(err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if n := len(in.gates); n > 2 {
		t.Errorf("%d gates are left, want those of the last submission at most", n)
	}
}
