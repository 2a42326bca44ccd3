package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestOrdersDeliversOldAndNewOrders(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		give := func(name, worker string) job.Applied {
			return commit(t, s, term, fire(given(slot(name, 1), worker), 0))[0]
		}
		waits := give("a", "w")
		give("b", "w2") // for a worker with a longer name
		put(t, c, s.keys.order("w", "garbage"), "garbage")
		put(t, c, s.keys.order("w", "foreign"), `{"id":"other"}`)

		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan job.Order, 10)
		ended := make(chan error, 1)
		go func() { ended <- s.Orders(ctx, "w", func(o job.Order) { got <- o }) }() // the test waits for its end below
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
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
}

// The leader stops a run with an order to its worker, in the transaction that writes the request.
func TestADecisionToStopReachesTheWorker(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		r := given(slot("j", 1), "w")
		armed := commit(t, s, term, fire(r, 0))[0]
		claimed, _ := r.Claim(armed.Rev, epoch)
		claimed.Rev = armed.Rev
		claimed, err := s.Write(within(t), claimed)
		if err != nil {
			t.Fatal(err)
		}
		stopping, _ := claimed.Stop(job.Cancel{At: epoch})
		a := commit(t, s, term, job.Decision{Job: r.Job, Run: &stopping, Stop: true})[0]
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		ctx, cancel := context.WithCancel(within(t))
		_ = s.Orders(ctx, "w", func(o job.Order) {
			if o.Rev == armed.Rev {
				return
			}
			if o.Rev != a.Rev || o.Session != r.Session || len(o.Runs) != 0 || len(o.Stop) != 1 || o.Stop[0] != r.Name() {
				t.Errorf("got %+v, want one that stops %s, at %d", o, r.Name(), a.Rev)
			}
			cancel()
		})
		if ctx.Err() == context.DeadlineExceeded {
			t.Error("the order has not come")
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
		if !errors.Is(err, job.ErrConflict) || stands.Rev != second.Rev || stands.Worker != "w2" {
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
		if stands, err := s.Write(t.Context(), end); !errors.Is(err, job.ErrConflict) || stands.State != job.Succeeded {
			t.Errorf("the outcome again: got %v with %s, want a conflict", err, stands.State)
		}
		missing := *slot("none", 1)
		missing.Rev = 5
		if stands, err := s.Write(t.Context(), missing); !errors.Is(err, job.ErrConflict) || stands.ID != "" {
			t.Errorf("no record: got %v with %+v, want a conflict with none", err, stands)
		}
		put(t, c, s.keys.run("j", end.ID), "garbage")
		if stands, err := s.Write(t.Context(), end); !errors.Is(err, job.ErrUnreadable) || errors.Is(err, job.ErrConflict) || stands.ID != "" {
			t.Errorf("garbage in its place: got %v with %+v, want job.ErrUnreadable", err, stands)
		}
	})
}
