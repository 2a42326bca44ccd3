package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// holding returns the decision that arms the first slot of a job. The run holds limits.
func holding(name string, limits ...string) job.Decision {
	r := given(slot(name, 1), "w")
	r.Limits = limits
	return fire(r, 0)
}

func TestHoldersOfALimitHaveDifferentRevisions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		var ds []job.Decision
		for n := range 5 {
			ds = append(ds, holding(fmt.Sprint("x", n), "x"), holding(fmt.Sprint("both", n), "y", "x"), holding(fmt.Sprint("y", n), "y"))
			ds = append(ds, holding(fmt.Sprint("free", n)))
		}
		holders := make(map[string]bool)
		for i, a := range commit(t, s, term, ds...) {
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			for _, name := range ds[i].Run.Limits {
				at := fmt.Sprint(name, " ", a.Rev)
				if holders[at] {
					t.Errorf("two runs hold limit %s from revision %d on", name, a.Rev)
				}
				holders[at] = true
			}
		}
		if n := s.Counts().Transactions; n > 11 { // ten, and the first one, which leaves at once with one write
			t.Errorf("got %d transactions, want those of one limit to be shared with those of others", n)
		}
	})
}

func TestWritesThatClashKeepTheirOrder(t *testing.T) {
	g := &group{behind: make(map[string][]*write)}
	for _, name := range []string{"1 x", "2 x", "3", "4 x", "5"} {
		w := &write{id: name}
		if len(name) > 1 {
			w.limits = []string{"x"}
		}
		g.pushLocked(w)
	}
	var got []string
	for range 3 {
		ids := ""
		for _, w := range g.takeLocked().writes {
			ids += w.id + ","
		}
		got = append(got, ids)
	}
	if want := "[1 x,3,5, 2 x, 4 x,]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		m := following(t, s)
		if _, err := s.Limit(within(t), "database"); !errors.Is(err, job.ErrNotFound) {
			t.Fatalf("got %v, want none", err)
		}
		l := job.Limit{Name: "database", Generation: 1, Spec: job.LimitSpec{Concurrent: 4, Rate: job.Rate{Count: 10, Per: time.Second}}}
		l, err := s.PutLimit(within(t), l)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.PutLimit(within(t), job.Limit{Name: "database", Spec: job.LimitSpec{Concurrent: 1}}); !errors.Is(err, job.ErrConflict) {
			t.Errorf("made a second time: got %v, want a conflict", err)
		}
		back, err := s.Limit(within(t), "database")
		if err != nil || back != l {
			t.Errorf("got %+v, %v, want %+v", back, err, l)
		}
		if err := m.WaitFor(within(t), l.Rev); err != nil {
			t.Fatal(err)
		}
		if got, ok := m.Limit("database"); !ok || *got != l || len(m.Limits()) != 1 {
			t.Errorf("the mirror has %+v", got)
		}
		put(t, c, s.keys.record(KindLimits, "nothing"), `{"name":"nothing","spec":{}}`)
		put(t, c, s.keys.record(KindLimits, "other"), `{"name":"database","spec":{"concurrent":1}}`)
		rev := put(t, c, s.keys.record(KindLimits, "text"), `limit`)
		if err := m.WaitFor(within(t), rev); err != nil {
			t.Fatal(err)
		}
		if n := len(m.Quarantine()); n != 3 || len(m.Limits()) != 1 {
			t.Errorf("got %d quarantined values and %d limits, want 3 and 1", n, len(m.Limits()))
		}
		if err := s.DeleteLimit(within(t), "database", l.Rev+1); !errors.Is(err, job.ErrConflict) {
			t.Errorf("removed at another revision: got %v, want a conflict", err)
		}
		if err := s.DeleteLimit(within(t), "database", l.Rev); err != nil {
			t.Error(err)
		}
		if err := s.DeleteLimit(within(t), "database", l.Rev); !errors.Is(err, job.ErrConflict) {
			t.Errorf("removed by another call: got %v, want a conflict", err)
		}
	})
}
