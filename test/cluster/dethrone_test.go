package cluster

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestLeaderIsDethronedByHand deletes keys and revokes leases of waiting candidates, and then of each leader, every second for
// a while. No term outlives its key or starts without one, another replica always leads again, and every slot runs once.
func TestLeaderIsDethronedByHand(t *testing.T) {
	row(t)
	t.Parallel()
	const blows = 10
	sink := NewSink(t)
	jobs := sink.Posts(20, job.Spec{})
	c := Start(t, Config{Binary: binary, Jobs: jobs})
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 40 })
	harmCandidates(t, c)
	tape := &metricsTape{cluster: c}
	tape.record("healthy", 20, (sample).calm)

	terms := make(map[int64]bool)
	for i := range blows {
		struck := time.Now()
		resp, err := c.Recorder.client.Get(t.Context(), Prefix+"/election/", clientv3.WithFirstCreate()...)
		if err != nil || len(resp.Kvs) == 0 {
			t.Fatalf("there is no candidate: %v", err)
		}
		first := resp.Kvs[0]
		terms[first.CreateRevision] = true
		if i%2 == 0 {
			revoke(t, c, first.Lease)
		} else {
			remove(t, c, string(first.Key))
		}
		t.Logf("fault: term %d was ended by hand", first.CreateRevision)
		Await(t, 20*time.Second, "another term", func() bool {
			resp, err := c.Recorder.client.Get(t.Context(), Prefix+"/election/", clientv3.WithFirstCreate()...)
			return err == nil && len(resp.Kvs) > 0 && resp.Kvs[0].CreateRevision > first.CreateRevision
		})
		Let(time.Until(struck.Add(time.Second)))
	}
	if len(terms) != blows {
		t.Errorf("%d terms were ended in %d blows: the fault took no effect", len(terms), blows)
	}
	tape.record("leaders change", 10, (sample).calm, "RotaLeadersChangeOften")
	tape.check()
	asked := len(sink.Requests())
	Await(t, 20*time.Second, "jobs run on", func() bool { return len(sink.Requests()) > asked+40 })
	c.Check(sink.Requests, nil, nil)
	if n := led(c); n < 3 {
		t.Errorf("slots were decided in %d terms, want at least 3: the faults took no effect", n)
	}
}
