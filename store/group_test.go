package store

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/mem"
)

func TestReadyWritesShareTransactions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		var ds []job.Decision
		for n := range 2000 {
			ds = append(ds, fire(given(slot(fmt.Sprint("j", n), 1), fmt.Sprint("w", n%3)), 0))
		}
		for _, a := range commit(t, s, term, ds...) {
			if a.Err != nil {
				t.Fatal(a.Err)
			}
		}
		if n := s.Counts(); n.Transactions > 25 || n.Writes != 2000 {
			t.Errorf("got %d transactions for %d writes, want about 20 for 2000", n.Transactions, n.Writes)
		}
	})
}

func TestUnsentWriteIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		c := srv.Client()
		s := New(Config{Prefix: prefix, Process: "p"}, c, nullLog)
		defer s.Close()
		srv.Cut(c)
		var wg sync.WaitGroup
		const n = 3*maxWrites + 50
		var unsent, unknown int
		var mu sync.Mutex
		for i := range n {
			wg.Go(func() {
				ctx, cancel := contextWithTimeout(t, time.Minute)
				defer cancel()
				time.Sleep(time.Duration(i) * time.Nanosecond)
				_, err := s.Submit(ctx, *slot(fmt.Sprint("j", i), 1))
				mu.Lock()
				defer mu.Unlock()
				if strings.Contains(err.Error(), "not sent") {
					unsent++
				} else {
					unknown++
				}
			})
		}
		wg.Wait()
		srv.Heal(c)
		time.Sleep(time.Minute)
		synctest.Wait()
		resp, err := srv.Client().Get(t.Context(), prefix+"/runs/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		if unsent == 0 || int(resp.Count) != unknown {
			t.Errorf("got %d runs, %d that were never sent and %d unknown: want those unknown", resp.Count, unsent, unknown)
		}
		if left := len(s.free.urgent) + len(s.free.queue); left != 0 || len(s.free.behind) != 0 {
			t.Errorf("got %d writes and %d lanes left over", left, len(s.free.behind))
		}
	})
}

func TestLanesTakeTurns(t *testing.T) {
	g := &group{behind: make(map[string][]*write)}
	for i := range 10_000 {
		g.pushLocked(&write{id: fmt.Sprint("long", i), lane: "long"})
	}
	g.pushLocked(&write{id: "short", lane: "short"})
	g.pushLocked(&write{id: "free"})
	first, second := g.takeLocked(), g.takeLocked()
	if len(first.writes) != 3 || first.writes[0].id != "long0" || len(second.writes) != 1 || second.writes[0].id != "long1" {
		t.Errorf("got %d and %d writes, want one of each lane and then the next one", len(first.writes), len(second.writes))
	}
	if g.withdraw(second.writes[0]) {
		t.Error("a write that is under way was withdrawn")
	}
	if next := g.queue[0]; !g.withdraw(next) || g.queue[0].id != "long3" {
		t.Errorf("after %s, got %s in its place, want the next of its lane", next.id, g.queue[0].id)
	}
}

// While many runs are due, claims go before outcomes. But one request in yieldEvery takes outcomes first, so outcomes
// do not wait for all claims.
func TestClaimsGoBeforeOutcomes(t *testing.T) {
	g := &group{behind: make(map[string][]*write)}
	const requests = 40
	for range requests * maxWrites {
		g.pushLocked(&write{})
		g.pushLocked(&write{urgent: true})
	}
	claims := 0
	for n := 1; n <= requests; n++ {
		b := g.takeLocked()
		for _, w := range b.writes {
			if w.urgent {
				claims++
			}
		}
		if least := (n - n/yieldEvery) * maxWrites; len(b.writes) != maxWrites || claims < least {
			t.Fatalf("request %d: %d writes, %d claims so far, want %d at least", n, len(b.writes), claims, least)
		}
	}
	if outcomes := requests*maxWrites - claims; outcomes < requests/yieldEvery*maxWrites {
		t.Errorf("%d outcomes in %d requests, want a quarter", outcomes, requests)
	}
	for b := g.takeLocked(); len(b.writes) > 0; b = g.takeLocked() {
		if len(b.writes) < maxWrites && len(g.urgent)+len(g.queue) > 0 {
			t.Errorf("a request with %d writes while %d wait", len(b.writes), len(g.urgent)+len(g.queue))
		}
	}
}

// A cancellation is urgent and may wait behind the outcome of the same run.
func TestWithdrawnWriteFreesItsLane(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {1, 2, 0}, {2, 1, 0}} {
		g := &group{behind: make(map[string][]*write)}
		writes := []*write{{lane: "a"}, {lane: "a", urgent: true, awaited: true}, {lane: "a"}}
		for _, w := range writes {
			g.pushLocked(w)
		}
		for _, i := range order {
			if !g.withdraw(writes[i]) || g.withdraw(writes[i]) {
				t.Errorf("order %v: write %d waits, and was not withdrawn once", order, i)
			}
		}
		if len(g.urgent)+len(g.queue)+len(g.behind)+g.eager+g.awaited > 0 {
			t.Errorf("order %v left over: %v %v %v, %d eager and %d awaited", order, g.urgent, g.queue, g.behind, g.eager, g.awaited)
		}
	}
}
