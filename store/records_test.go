package store

import (
	"context"
	"errors"
	"fmt"
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

func TestOrdersDeliverWhatWaitsAndWhatComes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		give := func(name, worker string) job.Applied {
			return commit(t, s, term, fire(given(slot(name, 1), worker), 0))[0]
		}
		waits := give("a", "w")
		give("b", "w2") // a longer name: not ours
		put(t, c, s.keys.order("w", "garbage"), "garbage")
		put(t, c, s.keys.order("w", "foreign"), `{"id":"other"}`)

		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan job.Order, 10)
		ended := make(chan error, 1)
		go func() { ended <- s.Orders(ctx, "w", func(o job.Order) { got <- o }) }() // waited for below
		next := func(name string, rev int64) job.Order {
			t.Helper()
			o := <-got
			if o.Rev != rev || len(o.Runs) != 1 || o.Runs[0].Job != name || o.Runs[0].Rev != rev || o.Session != "s-w" {
				t.Errorf("got %+v, want run %s at %d", o, name, rev)
			}
			run, err := s.Run(ctx, name, o.Runs[0].ID)
			if err != nil || run.Rev != o.Rev {
				t.Errorf("got record at %d (%v), want the order's revision %d", run.Rev, err, o.Rev)
			}
			return o
		}
		first := next("a", waits.Rev)
		comes := give("c", "w")
		second := next("c", comes.Rev)

		eventually(t, "what cannot be read is removed", func() bool {
			return value(t, c, s.keys.order("w", "garbage"))+value(t, c, s.keys.order("w", "foreign")) == ""
		})
		for _, o := range []job.Order{first, second, second} { // closing twice is fine
			if err := s.CloseOrder(ctx, "w", o.ID); err != nil {
				t.Error(err)
			}
		}
		resp, err := c.Get(ctx, s.keys.queue("w"), clientv3.WithPrefix())
		if err != nil || len(resp.Kvs) != 0 {
			t.Errorf("got %d orders left (%v), want none", len(resp.Kvs), err)
		}

		claimed, err := first.Runs[0].Claim(first.Rev, epoch)
		if err != nil {
			t.Fatal(err)
		}
		claimed, err = s.Write(ctx, claimed)
		if err != nil || claimed.Rev <= first.Rev {
			t.Errorf("claim: got revision %d (%v)", claimed.Rev, err)
		}
		stopping, _ := claimed.Stop(job.Cancel{At: epoch})
		stopping, err = s.Stop(ctx, stopping)
		if o := <-got; err != nil || o.Rev != stopping.Rev || len(o.Stop) != 1 || o.Stop[0] != claimed.Name() {
			t.Errorf("stop: got %+v (%v), want one at %d", o, err, stopping.Rev)
		}
		cancel()
		if err := <-ended; err != context.Canceled {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
}

func TestHandoutsOfABatchShareAnOrder(t *testing.T) {
	c := fake(t, nil).Client()
	s, term := open(t, c), reign(t, c, "a")
	var ds []job.Decision
	for n := range 60 {
		ds = append(ds, fire(given(slot(fmt.Sprint("j", n), 1), fmt.Sprint("w", n%2)), 0))
	}
	commit(t, s, term, ds...)
	resp, err := c.Get(t.Context(), prefix+"/queues/", clientv3.WithPrefix())
	if err != nil || len(resp.Kvs) != 2 {
		t.Errorf("got %d orders (%v), want one for each of two workers", len(resp.Kvs), err)
	}
}

func TestOnlyTheTokenOfTheAttemptClaims(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		first := given(slot("j", 1), "w1")
		first.Rev = commit(t, s, term, fire(first, 0))[0].Rev
		second, err := first.Assign(&job.Worker{Name: "w2", Session: "s-w2"}) // w1 was lost
		if err != nil {
			t.Fatal(err)
		}
		second.Rev = commit(t, s, term, job.Decision{Job: "j", Run: &second})[0].Rev

		stale, _ := first.Claim(first.Rev, epoch)
		stands, err := s.Write(t.Context(), stale)
		if err != job.ErrConflict || stands.Rev != second.Rev || stands.Worker != "w2" {
			t.Errorf("the lost worker: got %v with %+v, want a conflict with the record at %d", err, stands, second.Rev)
		}
		claim, _ := second.Claim(second.Rev, epoch)
		claim, err = s.Write(t.Context(), claim)
		if err != nil {
			t.Fatal(err)
		}
		end, _ := claim.Finish(job.Outcome{State: job.Succeeded, At: epoch})
		if _, err := s.Write(t.Context(), end); err != nil {
			t.Error(err)
		}
		if stands, err := s.Write(t.Context(), end); err != job.ErrConflict || stands.State != job.Succeeded {
			t.Errorf("the outcome again: got %v with %s, want a conflict", err, stands.State)
		}
		missing := *slot("none", 1)
		missing.Rev = 5
		if stands, err := s.Write(t.Context(), missing); err != job.ErrConflict || stands.ID != "" {
			t.Errorf("no record: got %v with %+v, want a conflict with none", err, stands)
		}
		put(t, c, s.keys.run("j", end.ID), "garbage")
		if stands, err := s.Write(t.Context(), end); !errors.Is(err, job.ErrUnreadable) || errors.Is(err, job.ErrConflict) || stands.ID != "" {
			t.Errorf("garbage in its place: got %v with %+v, want that nobody can read it", err, stands)
		}
	})
}

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
		if err != job.ErrConflict || again.Rev != first.Rev || again.By != "" {
			t.Errorf("got %v with %+v, want a conflict with the first at %d", err, again, first.Rev)
		}
		r.ID = slot("j", 2).ID
		var made atomic.Int64
		var wg sync.WaitGroup
		for range 100 { // many at once, as clients do that retry
			wg.Go(func() {
				switch _, err := s.Submit(t.Context(), r); err {
				case nil:
					made.Add(1)
				case job.ErrConflict:
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
		if a := commit(t, s, term, d)[0]; a.Err != job.ErrConflict {
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
		// A leader that has not heard of it brings no cursor back.
		late := job.Decision{Job: "j", Cursor: cursor(slot("j", 2), fired.Rev)}
		if a := commit(t, s, term, late)[0]; a.Err != job.ErrConflict || a.Cursor != nil {
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

// Tombstones go with the revision that the leader was at the last time, and not before: a sending may still be on its way.
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
