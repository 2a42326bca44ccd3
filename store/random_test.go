package store

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/mem"
)

var seed = flag.Uint64("seed", 0, "the one random sequence to run")

// TestNoWriteIsLostOrDoubled lets two leaders and two workers write through faults of every kind, and compares the
// answers that they got with the store's history.
func TestNoWriteIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	var struck atomic.Int64
	sequences := 1000
	if testing.Short() || raceEnabled {
		sequences = 100
	}
	for n := uint64(1); n <= uint64(sequences); n++ {
		if *seed != 0 && n != *seed {
			continue
		}
		ok := t.Run(fmt.Sprintf("seed %d", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { (&chaos{T: t, struck: &struck}).run(n) })
		})
		if !ok {
			t.Fatalf("again with: go test ./store -run %s -args -seed %d", t.Name(), n)
		}
	}
	if got := struck.Load(); *seed == 0 && got < int64(sequences)*5 {
		t.Errorf("only %d faults struck in %d sequences", got, sequences)
	}
}

type chaos struct {
	*testing.T
	struck *atomic.Int64

	mu      sync.Mutex
	rand    *rand.Rand // guarded by mu
	calm    bool       // from now on there are no faults
	answers []answer   // guarded by mu
	clean   *clientv3.Client
}

// answer is the result that the writer of mark got.
type answer struct {
	mark string // unique to the write, kept in Run.By
	key  string
	rev  int64
	err  error
}

func (x *chaos) Before(op mem.Op) mem.Verdict {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.calm || op.Client == x.clean || op.Kind != mem.Txn || x.rand.IntN(3) > 0 {
		return mem.Verdict{}
	}
	x.struck.Add(1)
	v := mem.Verdict{Action: mem.Action(x.rand.IntN(4)), Hang: x.rand.IntN(4) == 0}
	if v.Action == mem.Late {
		v.Ops, v.Wait = int64(1+x.rand.IntN(20)), time.Duration(1+x.rand.IntN(10_000))*time.Millisecond
	}
	if x.rand.IntN(3) == 0 {
		v.Delay = time.Duration(x.rand.IntN(4000)) * time.Millisecond
	}
	return v
}

func (x *chaos) roll(n int) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rand.IntN(n)
}

func (x *chaos) run(n uint64) {
	x.rand = rand.New(rand.NewPCG(n, 1))
	srv := mem.New(mem.Config{Faults: x})
	defer srv.Close()
	x.clean = srv.Client()
	history := x.clean.Watch(x.Context(), prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(1))

	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { x.lead(srv.Client(), fmt.Sprint("leader", i)) })
		wg.Go(func() { x.work(srv.Client(), fmt.Sprint("worker", i)) })
	}
	wg.Wait()
	x.mu.Lock()
	x.calm = true
	x.mu.Unlock()
	srv.Release()
	time.Sleep(time.Minute)
	synctest.Wait()
	x.check(history, srv.Rev())
}

// lead leads several terms, each for some seconds, and decides about three jobs in each. The terms of the two leaders
// overlap: a deposed leader does not know that it is deposed.
func (x *chaos) lead(c *clientv3.Client, name string) {
	s := New(Config{Prefix: prefix, Process: name}, c, nullLog)
	defer s.Close()
	for n := range 3 {
		key := prefix + "/election/current"
		ctx, cancel := context.WithCancel(x.Context())
		// The new leader ends the other's term, as an election does.
		_, err1 := x.clean.Delete(ctx, key)
		resp, err2 := x.clean.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).Then(clientv3.OpPut(key, name)).Commit()
		if err1 != nil || err2 != nil {
			x.Errorf("take over: %v, %v", err1, err2)
		}
		if !resp.Succeeded {
			cancel()
			continue
		}
		term := election.Term{Key: key, Rev: resp.Header.Revision}
		var wg sync.WaitGroup
		for round := range 4 {
			var ds []job.Decision
			for j := range 3 {
				ds = append(ds, x.decide(ctx, fmt.Sprint("job", j), fmt.Sprintf("%s-%d-%d-%d", name, n, round, j)))
			}
			wg.Add(len(ds))
			s.Commit(ctx, term, ds, func(i int, a job.Applied) {
				defer wg.Done()
				x.record(ds[i].Run, a.Rev, a.Err)
			})
			time.Sleep(time.Duration(x.roll(3000)) * time.Millisecond)
		}
		wg.Wait()
		cancel()
	}
}

// decide returns a decision that fires the next slot of a job. It reads the present records; they may change before the caller
// writes the decision.
func (x *chaos) decide(ctx context.Context, name, mark string) job.Decision {
	reader := &Store{client: x.clean, keys: NewKeys(prefix)}
	n, rev := 1, int64(0)
	if c, at, err := get[job.Cursor](ctx, reader, KindCursors, name); err == nil {
		n, rev = int(c.After.Sub(epoch)/time.Minute)+1, at
	}
	r := given(slot(name, n), fmt.Sprint("worker", x.roll(2)))
	r.By = mark
	return fire(r, rev)
}

// work is a worker: it claims the runs of its orders, and ends them.
func (x *chaos) work(c *clientv3.Client, name string) {
	s := New(Config{Prefix: prefix, Process: name}, c, nullLog)
	defer s.Close()
	for n := range 15 {
		time.Sleep(time.Duration(x.roll(2000)) * time.Millisecond)
		ctx, cancel := context.WithTimeout(x.Context(), time.Duration(1+x.roll(30))*time.Second)
		resp, err := x.clean.Get(ctx, s.keys.queue(name), clientv3.WithPrefix())
		if err != nil {
			x.Error(err)
		}
		for i, kv := range resp.Kvs {
			o, err := decodeOrder(string(kv.Key[len(s.keys.queue(name)):]), kv.Value, kv.ModRevision)
			if err != nil {
				x.Error(err)
				continue
			}
			for _, r := range o.Runs {
				claimed, _ := r.Claim(o.Rev, time.Now())
				claimed.By = fmt.Sprintf("%s-%d-%d-%s-claim", name, n, i, r.Name())
				got, err := s.Write(ctx, claimed)
				x.record(&claimed, got.Rev, err)
				if err != nil {
					continue
				}
				ended, _ := got.Finish(job.Outcome{State: job.Succeeded, At: time.Now()})
				ended.By = claimed.By + "-end"
				got, err = s.Write(ctx, ended)
				x.record(&ended, got.Rev, err)
			}
			_ = s.CloseOrder(ctx, name, o.ID)
		}
		cancel()
	}
}

func (x *chaos) record(r *job.Run, rev int64, err error) {
	a := answer{mark: r.By, key: NewKeys(prefix).run(r.Job, r.ID), rev: rev, err: err}
	if errors.Is(err, job.ErrConflict) { // then no later sending may write our version
		resp, err := x.clean.Get(context.Background(), a.key)
		if err != nil {
			x.Error(err)
		} else if len(resp.Kvs) == 1 && strings.Contains(string(resp.Kvs[0].Value), `"by":"`+a.mark+`"`) {
			x.Errorf("%s got a conflict and is in the store", a.mark)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answers = append(x.answers, a)
}

// check compares the answers with the history up to rev.
func (x *chaos) check(history clientv3.WatchChan, rev int64) {
	x.clean.RequestProgress(x.Context())
	written := make(map[string][]int64) // revisions by mark
	cursors := make(map[string]time.Time)
	states := make(map[string]job.State)
	tokens := make(map[string]int64) // the latest token of each job
	var current int64                // the term
	for reached := int64(0); reached < rev; {
		resp := <-history
		if err := resp.Err(); err != nil {
			x.Fatal(err)
		}
		reached = resp.Header.Revision
		for _, ev := range resp.Events {
			kind, name, _ := NewKeys(prefix).Parse(string(ev.Kv.Key))
			switch {
			case kind == KindElection && ev.Type == clientv3.EventTypeDelete:
				current = 0
			case kind == KindElection:
				current = ev.Kv.CreateRevision
			case kind == KindCursors:
				c := job.ValueOf[job.Cursor](decode(kind, name, ev.Kv.Value, ev.Kv.ModRevision))
				if !c.After.After(cursors[name]) {
					x.Errorf("revision %d: cursor of %s goes back from %v to %v", c.Rev, name, cursors[name], c.After)
				}
				if c.Term != current {
					x.Errorf("revision %d: written in term %d, but %d is on", c.Rev, c.Term, current)
				}
				cursors[name] = c.After
			case kind == KindRuns:
				r := job.ValueOf[job.Run](decode(kind, name, ev.Kv.Value, ev.Kv.ModRevision))
				written[r.By] = append(written[r.By], r.Rev)
				if !states[name].CanBecome(r.State) {
					x.Errorf("revision %d: run %s went from %q to %s", r.Rev, name, states[name], r.State)
				}
				states[name] = r.State
				if r.State == job.Armed {
					if r.Rev <= tokens[r.Job] {
						x.Errorf("revision %d: the token of %s does not rise", r.Rev, name)
					}
					tokens[r.Job] = r.Rev
				}
			}
		}
	}
	for _, a := range x.answers {
		revs := written[a.mark]
		switch {
		case len(revs) > 1:
			x.Errorf("%s was written %d times, at %v", a.mark, len(revs), revs)
		case a.err == nil && (len(revs) != 1 || revs[0] != a.rev):
			x.Errorf("%s got revision %d, and is at %v", a.mark, a.rev, revs)
		}
	}
	if len(states) < 3 {
		b, _ := json.Marshal(states)
		x.Logf("little happened: %s", b)
	}
}
