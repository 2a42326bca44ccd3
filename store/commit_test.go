package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/store/mem"
)

func TestADeposedLeaderWritesNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		term := reign(t, c, "a")
		first := commit(t, s, term, fire(slot("j", 1), 0))[0]
		if first.Err != nil {
			t.Fatal(first.Err)
		}
		deposed := remove(t, c, term.Key)
		again := reign(t, c, "a") // the same key, another term

		ds := []job.Decision{fire(slot("j", 2), first.Rev), fire(slot("k", 1), 0), {Job: "l", Event: &job.Event{ID: "e", Job: "l"}}}
		for i, a := range commit(t, s, term, ds...) {
			if a.Err != election.ErrTermLost {
				t.Errorf("decision %d: got %v, want %v", i, a.Err, election.ErrTermLost)
			}
		}
		for _, a := range commit(t, s, election.Term{Key: prefix + "/election/nobody"}, ds...) {
			if a.Err != election.ErrTermLost {
				t.Errorf("no term: got %v, want %v", a.Err, election.ErrTermLost)
			}
		}
		resp, err := c.Get(within(t), prefix+"/", clientv3.WithPrefix(), clientv3.WithMinModRev(deposed))
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range resp.Kvs {
			if string(kv.Key) != term.Key {
				t.Errorf("%s was written after the term", kv.Key)
			}
		}
		if got := s.Counts().Fenced; got != 3 {
			t.Errorf("got %d fenced, want 3", got)
		}
		if a := commit(t, s, again, ds[0])[0]; a.Err != nil {
			t.Errorf("next term: %v", a.Err)
		}
	})
}

func TestAStaleDecisionFailsAlone(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		term := reign(t, c, "a")
		was := commit(t, s, term, fire(slot("b", 1), 0))[0]
		j, err := s.PutJob(within(t), definition("d"))
		if err != nil {
			t.Fatal(err)
		}
		gone := fire(slot("d", 1), 0)
		gone.JobRev = j.Rev + 1
		out := commit(t, s, term, fire(slot("a", 1), 0), fire(slot("b", 1), was.Rev), fire(slot("c", 1), 0), gone)
		if out[0].Err != nil || out[2].Err != nil {
			t.Errorf("the others: got %v, %v, want nil", out[0].Err, out[2].Err)
		}
		b := out[1]
		if b.Err != job.ErrConflict || b.Run == nil || b.Run.Rev != was.Rev || b.Cursor == nil || b.Cursor.Rev != was.Rev {
			t.Errorf("stale: got %+v, want a conflict with the records at %d", b, was.Rev)
		}
		if d := out[3]; d.Err != job.ErrConflict || d.Run != nil || d.Cursor != nil {
			t.Errorf("of another definition: got %+v, want a conflict without records", d)
		}
		if n := s.Counts(); n.Conflicts != 2 {
			t.Errorf("got %d conflicts, want 2", n.Conflicts)
		}
	})
}

// A slot that nobody has decided is decided with the cursor that stands, or not at all.
func TestARunIsCreatedOnlyWithItsCursor(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		first := commit(t, s, term, fire(slot("j", 1), 0))[0]
		second := commit(t, s, term, fire(slot("j", 2), first.Rev))[0]
		if first.Err != nil || second.Err != nil {
			t.Fatal(first.Err, second.Err)
		}
		third := slot("j", 3)
		run := s.keys.run(third.Job, third.ID)
		a := commit(t, s, term, fire(third, first.Rev))[0]
		if a.Err != job.ErrConflict || a.Run != nil || a.Cursor == nil || a.Cursor.Rev != second.Rev {
			t.Errorf("with a stale cursor: got %+v, want a conflict with the cursor at %d and no run", a, second.Rev)
		}
		if got := value(t, c, run); got != "" {
			t.Errorf("with a stale cursor: the run was created: %s", got)
		}
		a = commit(t, s, term, fire(third, second.Rev))[0]
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		for _, key := range []string{run, s.keys.cursor(third.Job)} {
			if resp, err := c.Get(within(t), key); err != nil || len(resp.Kvs) != 1 || resp.Kvs[0].ModRevision != a.Rev {
				t.Errorf("%s after the decision: got %v, %v, want it written by that, at %d", key, resp, err, a.Rev)
			}
		}
	})
}

// A leader that has not heard of a pause of all jobs, or of its end, arms nothing.
func TestAPauseOfAllJobsRefusesWhatIsArmedUnawares(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		term := reign(t, c, "a")
		arm := func(name string, gate int64) error {
			d := fire(slot(name, 1), 0)
			d.Run.State, d.Run.Worker, d.Run.Session, d.Gate = job.Armed, "w", "1", gate
			return commit(t, s, term, d)[0].Err
		}
		if err := arm("before", 0); err != nil {
			t.Fatal(err)
		}
		g, err := s.PutGate(within(t), job.Gate{Paused: &job.Pause{At: epoch}})
		if err != nil {
			t.Fatal(err)
		}
		if err := arm("unawares", 0); err != job.ErrConflict {
			t.Errorf("armed by a leader that knows of no pause: got %v, want %v", err, job.ErrConflict)
		}
		if err := commit(t, s, term, fire(slot("waits", 1), 0))[0].Err; err != job.ErrConflict {
			t.Errorf("a slot's run that waits, by a leader that knows of no pause: got %v, want %v", err, job.ErrConflict)
		}
		if err := arm("aware", g.Rev); err != nil {
			t.Errorf("armed by a leader that knows the gate: got %v, want nil", err)
		}
	})
}

func TestARecordThatNobodyCanReadIsToldApart(t *testing.T) {
	c := fake(t, nil).Client()
	s, term := open(t, c), reign(t, c, "a")
	r := slot("j", 1)
	put(t, c, s.keys.run(r.Job, r.ID), "garbage")
	if a := commit(t, s, term, fire(r, 0))[0]; a.Err != job.ErrConflict || !a.Unreadable || a.Run != nil {
		t.Errorf("got %+v, want a conflict with something unreadable", a)
	}
}

func TestDecisionsOfOneJobHaveDifferentRevisions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		var ds []job.Decision
		for n := range 5 {
			ds = append(ds, job.Decision{Job: "j", Run: given(slot("j", n), "w")}, job.Decision{Job: fmt.Sprint("k", n), Run: slot(fmt.Sprint("k", n), 1)})
		}
		seen := make(map[int64]bool)
		for i, a := range commit(t, s, term, ds...) {
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			if ds[i].Job == "j" && seen[a.Rev] {
				t.Errorf("two runs of one job were armed at revision %d", a.Rev)
			}
			if ds[i].Job == "j" {
				seen[a.Rev] = true
			}
		}
		if n := s.Counts().Transactions; n > 6 {
			t.Errorf("got %d transactions, want the other jobs in those of the first", n)
		}
	})
}

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

func TestALoneWriteLeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		c := srv.Client()
		s := New(Config{Prefix: prefix, Process: "p"}, c, nullLog)
		defer s.Close()
		began := time.Now()
		if _, err := s.PutJob(t.Context(), definition("j")); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != 0 || s.Counts().Transactions != 1 {
			t.Errorf("took %v and %d transactions, want none and 1", d, s.Counts().Transactions)
		}
	})
}

func TestWritesGatherUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		s := New(Config{Prefix: prefix, Process: "p"}, srv.Client(), nullLog)
		defer s.Close()
		const n, every = 10_000, 100 * time.Microsecond
		var wg sync.WaitGroup
		for i := range n {
			time.Sleep(every)
			wg.Go(func() {
				began := time.Now()
				if _, err := s.PutJob(t.Context(), definition(fmt.Sprint("j", i))); err != nil {
					t.Error(err)
				}
				if d := time.Since(began); d > pace {
					t.Errorf("a write took %v, want %v at most", d, pace)
				}
			})
		}
		wg.Wait()
		if got, most := s.Counts().Transactions, int64(n*every/pace+2*burst); got > most {
			t.Errorf("got %d transactions, want %d at most", got, most)
		}
	})
}

// Requests of a full queue leave as fast as they can, and those behind them do not pay for it.
func TestAHerdIsNotPaidForByWhatComesAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &group{behind: make(map[string][]*write), pace: leadPace}
		for range 50 * maxWrites {
			g.pushLocked(&write{})
		}
		for g.readyLocked() > 0 {
			if wait := g.waitLocked(); wait > 0 {
				t.Fatalf("a full request waits for %v", wait)
			}
			g.takeLocked()
		}
		g.pushLocked(&write{})
		if wait := g.waitLocked(); wait > leadPace {
			t.Errorf("what comes after the herd waits for %v, want %v at most", wait, leadPace)
		}
	})
}

// limits is a fault that never strikes: it checks what is sent.
func limits(t *testing.T) mem.FaultFunc {
	return func(op mem.Op) mem.Verdict {
		if op.Kind != mem.Txn {
			return mem.Verdict{}
		}
		r := op.Request.(*pb.TxnRequest)
		deepest := 0
		keys := make(map[string]bool)
		for _, o := range r.Success {
			n := o.GetRequestTxn()
			deepest = max(deepest, len(n.GetCompare()), len(n.GetSuccess()), len(n.GetFailure()))
			for _, in := range n.GetSuccess() {
				if k := string(in.GetRequestPut().GetKey()); k != "" && keys[k] {
					t.Errorf("%s is written twice", k)
				} else {
					keys[k] = true
				}
			}
		}
		if n := len(r.Success) + deepest; n > 128 {
			t.Errorf("got %d operations, at most 128 are allowed", n)
		}
		if n := proto.Size(r); n > 3<<19 {
			t.Errorf("got %d bytes, at most %d are allowed", n, 3<<19)
		}
		return mem.Verdict{}
	}
}

func TestRequestsStayWithinTheLimitsOfEtcd(t *testing.T) {
	t.Parallel()
	c := fake(t, limits(t)).Client()
	s, term := open(t, c), reign(t, c, "a")
	var ds []job.Decision
	for n := range 300 { // each to a worker of its own
		ds = append(ds, fire(given(slot(fmt.Sprint("worker", n), 1), fmt.Sprint("w", n)), 0))
	}
	var first []job.Decision
	for n := range 30 {
		for i := range job.MaxDeletions {
			first = append(first, job.Decision{Job: fmt.Sprint("drop", n), Run: slot(fmt.Sprint("drop", n), i)})
		}
	}
	old := commit(t, s, term, first...)
	for n := range 30 { // with as many removals as may be
		name := fmt.Sprint("drop", n)
		d := fire(given(slot(name, 100), fmt.Sprint("w", n)), 0)
		d.Event = &job.Event{ID: "e", Job: name}
		for i := range job.MaxDeletions {
			r := *first[n*job.MaxDeletions+i].Run
			r.Rev = old[n*job.MaxDeletions+i].Rev
			d.Deletions = append(d.Deletions, &r)
		}
		ds = append(ds, d)
	}
	for n := range 20 { // as large as may be, and full of what HTML escapes
		r := slot(fmt.Sprint("large", n), 1)
		r.Payload = []byte(`"` + strings.Repeat("<&>", 160<<10) + `"`)
		ds = append(ds, fire(given(r, "w0"), 0))
	}
	before := s.Counts().Transactions
	for i, a := range commit(t, s, term, ds...) {
		if a.Err != nil {
			t.Errorf("%s: %v", ds[i].Job, a.Err)
		}
	}
	if n := s.Counts().Transactions - before; n > 60 {
		t.Errorf("got %d transactions, want no request that was refused and cut up", n)
	}
}

func TestADecisionThatIsTooLargeFailsAlone(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		vast := fire(given(slot("vast", 1), "w"), 0)
		vast.Run.Payload = []byte(`"` + strings.Repeat("x", maxRecord-400) + `"`)
		vast.Event = &job.Event{ID: "e", Job: "vast", Reason: strings.Repeat("x", maxRecord-200)}
		record := fire(slot("record", 1), 0)
		record.Run.Payload = []byte(`"` + strings.Repeat("x", maxRecord) + `"`)
		invalid := fire(slot("invalid", 1), 0)
		invalid.Run.Payload = []byte(`{`)
		out := commit(t, s, term, fire(slot("a", 1), 0), vast, fire(slot("b", 1), 0), record, invalid)
		for i, want := range []error{nil, job.ErrTooLarge, nil, job.ErrTooLarge} {
			if !errors.Is(out[i].Err, want) {
				t.Errorf("decision %d: got %v, want %v", i, out[i].Err, want)
			}
		}
		if out[4].Err == nil {
			t.Error("a payload that is no JSON was taken")
		}
	})
}

func TestARefusedBatchIsSentOneByOne(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		gone := &write{lane: "gone"}
		gone.putAnyway(prefix+"/workers/gone", []byte("{}"), 42)
		good := &write{lane: "good"}
		good.putAnyway(prefix+"/workers/good", []byte("{}"), clientv3.NoLease)
		var wg sync.WaitGroup
		outs := make([]*written, 2)
		wg.Add(2)
		for i, w := range []*write{gone, good} {
			w.done = func(out *written) { outs[i] = out; wg.Done() }
		}
		s.free.mu.Lock()
		s.free.pushLocked(gone)
		s.free.pushLocked(good)
		b := s.free.takeLocked()
		s.free.mu.Unlock()
		s.free.send(b)
		wg.Wait()
		if outs[0].err == nil || outs[1].err != nil {
			t.Errorf("got %v and %v, want a refusal and nil", outs[0].err, outs[1].err)
		}
	})
}

func TestWithoutSpaceOnlyDeletionsAreTaken(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, c *clientv3.Client, fill func()) {
		s, term := open(t, c), reign(t, c, "a")
		old := slot("old", 1)
		old.Rev = commit(t, s, term, job.Decision{Job: "old", Run: old})[0].Rev
		j, err := s.PutJob(within(t), definition("j"))
		if err != nil {
			t.Fatal(err)
		}
		fill()
		drop := job.Decision{Job: "old", Deletions: []*job.Run{old}}
		out := commit(t, s, term, fire(slot("a", 1), 0), drop, fire(slot("b", 1), 0))
		if out[0].Err != job.ErrFull || out[1].Err != nil || out[2].Err != job.ErrFull {
			t.Errorf("got %v, %v, %v, want %v for what puts and nil for what deletes", out[0].Err, out[1].Err, out[2].Err, job.ErrFull)
		}
		if got := value(t, c, s.keys.run(old.Job, old.ID)); got != "" {
			t.Errorf("the run is still there: %s", got)
		}
		if err := s.DeleteJob(within(t), "j", j.Rev); err != nil {
			t.Errorf("the definition cannot be removed: %v", err)
		}
		if err := s.DeleteJob(within(t), "j", j.Rev); !errors.Is(err, job.ErrConflict) {
			t.Errorf("removed once more: %v, want %v", err, job.ErrConflict)
		}
	}
	t.Run("mem", func(t *testing.T) {
		srv := fake(t, nil)
		test(t, srv.Client(), func() { srv.SetNoSpace(true) })
	})
	t.Run("etcd", func(t *testing.T) {
		c := etcd(t, embedded.Config{NoSync: true, QuotaBytes: 4 << 20}).Client()
		test(t, c, func() {
			for {
				if _, err := c.Put(within(t), "full", strings.Repeat("x", 1<<20)); err != nil {
					return
				}
			}
		})
	})
}

func TestAWriteThatWasNeverSentIsNotSentLater(t *testing.T) {
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

// When a herd is due, all of it begins before its first ends are written; and those are written while more begins.
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
func TestAWriteThatIsWithdrawnMakesRoomInItsLane(t *testing.T) {
	g := &group{behind: make(map[string][]*write)}
	first, second, third := &write{lane: "a"}, &write{lane: "a", urgent: true}, &write{lane: "a"}
	for _, w := range []*write{first, second, third} {
		g.pushLocked(w)
	}
	for _, w := range []*write{first, second, third} {
		if !g.withdraw(w) {
			t.Error("a write that waits was not withdrawn")
		}
	}
	if len(g.urgent)+len(g.queue)+len(g.behind) > 0 {
		t.Errorf("left over: %v %v %v", g.urgent, g.queue, g.behind)
	}
}

func TestOrdersNameTheDefinitionOfEachRun(t *testing.T) {
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, term := open(t, c), reign(t, c, "a")
		j, err := s.PutJob(within(t), job.Job{Name: "j1", Generation: 1})
		if err != nil {
			t.Fatal(err)
		}
		of, adHoc := fire(given(slot("j1", 1), "w"), 0), fire(given(slot("j2", 1), "w"), 0)
		of.JobRev = j.Rev
		commit(t, s, term, of, adHoc)
		ctx, cancel := context.WithCancel(within(t))
		got := make(map[string]int64)
		_ = s.Orders(ctx, "w", func(o job.Order) {
			for i := range o.Runs {
				got[o.Runs[i].Job] = o.JobRevs[i]
			}
			if len(got) == 2 {
				cancel()
			}
		})
		if got["j1"] != j.Rev || got["j2"] != 0 || len(got) != 2 {
			t.Errorf("got %v, want j1 armed from revision %d, and j2 from none", got, j.Rev)
		}
	})
}
