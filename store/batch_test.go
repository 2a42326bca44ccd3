package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/store/mem"
)

// limits returns a fault function that causes no fault. It checks the size of each request.
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
	for n := range 300 { // each for a worker of its own
		ds = append(ds, fire(given(slot(fmt.Sprint("worker", n), 1), fmt.Sprint("w", n)), 0))
	}
	var first []job.Decision
	for n := range 30 {
		for i := range job.MaxDeletions {
			first = append(first, job.Decision{Job: fmt.Sprint("drop", n), Run: slot(fmt.Sprint("drop", n), i)})
		}
	}
	old := commit(t, s, term, first...)
	for n := range 30 { // with as many deletions as one decision may have
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
	for n := range 20 { // as large as a run may be, and full of characters that HTML escapes
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
			w.done = func(_ *write, out *written) { outs[i] = out; wg.Done() }
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
		if !errors.Is(out[0].Err, job.ErrFull) || out[1].Err != nil || !errors.Is(out[2].Err, job.ErrFull) {
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
