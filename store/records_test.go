package store

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestASubmissionIsMadeOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		r := *slot("j", 1)
		r.Key = "invoice 7"
		first, err := s.Submit(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.By = "somebody else"
		again, err := s.Submit(t.Context(), r)
		if !errors.Is(err, job.ErrConflict) || again.Rev != first.Rev || again.By != "" {
			t.Errorf("got %v with %+v, want a conflict with the first at %d", err, again, first.Rev)
		}
		r.ID = slot("j", 2).ID
		var made atomic.Int64
		var wg sync.WaitGroup
		for range 100 { // many at once, from clients that retry
			wg.Go(func() {
				switch _, err := s.Submit(t.Context(), r); {
				case err == nil:
					made.Add(1)
				case errors.Is(err, job.ErrConflict):
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if made.Load() != 1 {
			t.Errorf("made %d times, want once", made.Load())
		}
	})
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		ctx := t.Context()
		s, term := open(t, c), reign(t, c, "a")
		j, err := s.PutJob(ctx, definition("j"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.PutJob(ctx, definition("j")); !errors.Is(err, job.ErrConflict) {
			t.Errorf("a second one: got %v, want %v", err, job.ErrConflict)
		}
		j.Generation = 2
		old := j.Rev
		if j, err = s.PutJob(ctx, j); err != nil || j.Rev <= old {
			t.Errorf("replace: got revision %d (%v)", j.Rev, err)
		}
		if got, err := s.Job(ctx, "j"); err != nil || got.Rev != j.Rev || got.Generation != 2 {
			t.Errorf("got %+v (%v)", got, err)
		}
		d := fire(slot("j", 1), 0)
		d.JobRev = old
		if a := commit(t, s, term, d)[0]; !errors.Is(a.Err, job.ErrConflict) {
			t.Errorf("decided from an older definition: got %v, want %v", a.Err, job.ErrConflict)
		}
		d.JobRev = j.Rev
		fired := commit(t, s, term, d)[0]
		if fired.Err != nil {
			t.Fatal(fired.Err)
		}
		if err := s.DeleteJob(ctx, "j", old); !errors.Is(err, job.ErrConflict) {
			t.Errorf("delete an older one: got %v, want %v", err, job.ErrConflict)
		}
		if err := s.DeleteJob(ctx, "j", j.Rev); err != nil {
			t.Error(err)
		}
		if err := s.DeleteJob(ctx, "j", j.Rev); !errors.Is(err, job.ErrConflict) {
			t.Errorf("delete what another call has deleted: got %v, want %v", err, job.ErrConflict)
		}
		if got := value(t, c, s.keys.job("j")) + value(t, c, s.keys.cursor("j")); got != "" {
			t.Errorf("left over: %s", got)
		}
		if _, err := s.Job(ctx, "j"); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("got %v, want %v", err, job.ErrNotFound)
		}
		// A leader that does not know of the removal yet must not create the cursor again.
		late := job.Decision{Job: "j", Cursor: cursor(slot("j", 2), fired.Rev)}
		if a := commit(t, s, term, late)[0]; !errors.Is(a.Err, job.ErrConflict) || a.Cursor != nil {
			t.Errorf("cursor of a job that is gone: got %+v, want a conflict with none", a)
		}
	})
}

func TestSingleRecords(t *testing.T) {
	c := fake(t, nil).Client()
	s, ctx := open(t, c), t.Context()
	if g, err := s.Gate(ctx); err != nil || !reflect.DeepEqual(g, job.Gate{}) {
		t.Errorf("got %+v (%v), want the zero Gate", g, err)
	}
	g, err := s.PutGate(ctx, job.Gate{Paused: &job.Pause{At: epoch}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Gate(ctx); err != nil || got.Rev != g.Rev || got.Paused == nil {
		t.Errorf("got %+v (%v)", got, err)
	}
	if _, err := s.PutGate(ctx, job.Gate{Since: epoch}); !errors.Is(err, job.ErrConflict) {
		t.Errorf("from an older one: got %v, want %v", err, job.ErrConflict)
	}
	if f, err := s.Files(ctx); err != nil || f.Hash != "" {
		t.Errorf("got %+v (%v), want the zero Files", f, err)
	}
	if f, err := s.PutFiles(ctx, job.Files{Hash: "h"}); err != nil || f.Rev == 0 {
		t.Errorf("got %+v (%v)", f, err)
	}
	if _, err := s.Worker(ctx, "w"); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("got %v, want %v", err, job.ErrNotFound)
	}
}

func TestAnEventIsKeptOnce(t *testing.T) {
	c := fake(t, nil).Client()
	s, ctx := open(t, c), t.Context()
	for n := range 5 {
		e := job.Event{ID: job.EventID(epoch.Add(time.Duration(n)*time.Second), "x"), Job: "j", At: epoch, Reason: "first"}
		for range 2 {
			if err := s.Record(ctx, e); err != nil {
				t.Error(err)
			}
			e.Reason = "second"
		}
	}
	put(t, c, s.keys.event("jj", "e"), `{"id":"e","job":"jj"}`) // another job
	put(t, c, s.keys.event("j", "zzz"), "garbage")
	got, err := s.Events(ctx, "j", 4)
	if err != nil || len(got) != 3 || got[0].ID < got[1].ID || got[0].Reason != "first" {
		t.Errorf("got %+v (%v), want the latest three that can be read", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range []string{"", "null", "{}", "[]", `{"name":"j","generation":1}`, `{"job":"j","id":"i","state":"armed","attempt":-1}`, "\xff\xfe"} {
		f.Add("j", "i", []byte(v))
	}
	kinds := []Kind{KindJobs, KindCursors, KindRuns, KindWorkers, KindReplicas, KindGate, KindFiles, KindEvents, KindNotifyState, KindQueues, "", "x"}
	keys := NewKeys(prefix)
	f.Fuzz(func(t *testing.T, name, id string, value []byte) {
		for _, kind := range kinds {
			for _, n := range []string{"", name, name + "/" + id} {
				c := decode(kind, n, value, 7)
				if c.Deleted() || c.Kind != kind || c.Name != n || c.Rev != 7 {
					t.Errorf("%s %q: got %+v, want a record or a reason", kind, n, c)
				}
				if r := job.ValueOf[job.Run](c); r != nil && (r.Name() != n || strings.Count(n, "/") != 1) {
					t.Errorf("run %q passes for %q", r.Name(), n)
				}
			}
		}
		_, _ = decodeOrder(id, value, 7)
		_, _, _ = keys.Parse(prefix + "/" + name + "/" + id)
	})
}

func TestOldEventsAreSwept(t *testing.T) {
	c := fake(t, nil).Client()
	s, ctx := open(t, c), t.Context()
	for n := range 50 {
		e := job.Event{ID: job.EventID(epoch.Add(time.Duration(n)*time.Minute), "x"), Job: "j", At: epoch, Reason: "r"}
		if err := s.Record(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	term := reign(t, c, "a")
	removed, err := s.SweepEvents(ctx, term, epoch.Add(40*time.Minute))
	if err != nil || removed != 40 {
		t.Errorf("removed %d (%v), want 40", removed, err)
	}
	left, err := s.Events(ctx, "j", 100)
	if err != nil || len(left) != 10 {
		t.Errorf("%d events are left (%v), want 10", len(left), err)
	}
}

// A sweep removes only tombstones from before the leader's last sweep, because a newer sending may still be under way.
func TestOldTombstonesAreSwept(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, ctx := open(t, c), within(t)
		bury := func(name string) (stone string) {
			j, err := s.PutJob(ctx, definition(name))
			if err == nil {
				err = s.DeleteJob(ctx, name, j.Rev)
			}
			if err != nil {
				t.Fatal(err)
			}
			return s.keys.tombstone(KindJobs, name)
		}
		first, again := bury("first"), bury("again")
		last := s.Reached()
		bury("again")
		term := reign(t, c, "a")
		if removed, err := s.SweepTombstones(ctx, term, last); err != nil || removed != 1 {
			t.Errorf("removed %d (%v), want 1", removed, err)
		}
		if value(t, c, first) != "" || value(t, c, again) == "" {
			t.Errorf("what is left is not the tombstone that was put last")
		}
		if _, err := s.SweepTombstones(ctx, election.Term{}, last); !errors.Is(err, election.ErrTermLost) {
			t.Errorf("without a term: %v", err)
		}
	})
}
