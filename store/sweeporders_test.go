package store

import (
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/store/mem"
)

func TestOrdersOfAbsentWorkersAreRemoved(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		term := reign(t, c, "a")
		p := present(t, s) // the worker w
		for n, worker := range []string{"w", "gone", "gone", "w2"} {
			r := slot("j", n)
			d := fire(given(r, worker), 0)
			d.Cursor = nil
			if applied := commit(t, s, term, d); applied[0].Err != nil {
				t.Fatal(applied[0].Err)
			}
		}
		put(t, c, s.keys.order("gone", "noise"), "noise")
		removed, err := s.SweepOrders(within(t), term)
		if err != nil || removed != 4 {
			t.Errorf("%d orders were removed (%v), want the 4 of workers that are not there", removed, err)
		}
		resp, err := c.Get(within(t), s.keys.family(KindQueues), clientv3.WithPrefix())
		if err != nil || len(resp.Kvs) != 1 || string(resp.Kvs[0].Key)[:len(s.keys.queue("w"))] != s.keys.queue("w") {
			t.Errorf("got %v (%v), want the order of the worker that is there", resp.Kvs, err)
		}
		if err := p.Close(within(t)); err != nil {
			t.Fatal(err)
		}
		remove(t, c, term.Key)
		if removed, err := s.SweepOrders(within(t), term); removed != 0 || !errors.Is(err, election.ErrTermLost) {
			t.Errorf("after the term: %d removed, %v", removed, err)
		}
		if _, err := s.SweepOrders(within(t), election.Term{}); !errors.Is(err, election.ErrTermLost) {
			t.Errorf("without a term: %v", err)
		}
	})
}

// A worker appears after the leader has found it absent. It closes its orders itself.
func TestOrdersOfAWorkerThatAppearsStay(t *testing.T) {
	var appear func()
	_, s, c := scripted(t, nil, nil, func(mem.Op) mem.Verdict {
		appear()
		return mem.Verdict{}
	})
	term := reign(t, c, "a")
	for n := range 2 {
		d := fire(given(slot("j", n), "w"), 0)
		d.Cursor = nil
		if applied := commit(t, s, term, d); applied[0].Err != nil {
			t.Fatal(applied[0].Err)
		}
	}
	appear = func() { put(t, c, s.keys.record(KindWorkers, "w"), "{}") }
	if removed, err := s.SweepOrders(within(t), term); removed != 0 || err != nil {
		t.Errorf("%d orders were removed (%v), want none", removed, err)
	}
	resp, err := c.Get(within(t), s.keys.queue("w"), clientv3.WithPrefix())
	if err != nil || len(resp.Kvs) != 2 {
		t.Errorf("%d orders are left (%v), want both", len(resp.Kvs), err)
	}
}
