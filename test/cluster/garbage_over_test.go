package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestGarbageOverGoodRecords writes garbage over records in use, of each kind. No process ends, the keys are reported, and
// everything else continues. The owners of presences, cursors and limits repair them. Meanwhile a limit and a pause stay in
// force. While the record of a run is unreadable, its outcome waits. When the test has put a record back or deleted it, its job
// continues as if nothing had happened.
func TestGarbageOverGoodRecords(t *testing.T) {
	row(t)
	t.Parallel()
	sink, ledger := NewSink(t), NewLedger(t)
	post := job.Spec{Every: job.Duration(time.Second), Missed: job.MissedAll, HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}}
	limited := post
	limited.Limits = []string{"narrow"}
	gate := t.TempDir() + "/go"
	once := job.Spec{Shell: ledger.Shell("")}
	jobs := map[string]job.Spec{
		"defined": post, "counted": post, "limited": limited, "later": once, "ahead": once, "ended": once, "gone": once,
		"works": {Shell: ledger.Shell("while [ ! -e " + gate + " ]; do sleep 0.05; done"), Workers: only("w1")},
	}
	for i := range 5 {
		jobs[fmt.Sprintf("post-%d", i)] = post
	}
	c := Start(t, Config{Binary: binary, Jobs: jobs, Limits: map[string]job.LimitSpec{"narrow": {Concurrent: 1}}})
	c.Hand = make(map[int64]bool)
	w := c.AddWorker("w1", "--worker-labels=for=w1")
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 30 })
	pids := make(map[string]int)
	nodes := append(slices.Clone(c.Replicas()), w)
	for _, n := range nodes {
		pids[n.Name] = n.PID()
	}
	leader, term := c.Leader(), termOf(c)

	// Runs in each state.
	inState := func(name string, in string, state job.State) (key string) {
		v := submit(t, c, name, api.RunRequest{In: in})
		Await(t, 20*time.Second, fmt.Sprintf("the run of %s is %s", name, state), func() bool { return onlyRun(t, c, name).State == state })
		return "runs/" + v.Ref
	}
	as := func(state job.State) func([]byte) bool {
		return func(value []byte) bool {
			var r job.Run
			return json.Unmarshal(value, &r) == nil && r.State == state
		}
	}
	any := func([]byte) bool { return true }
	var spoilt []*spoil
	over := func(key, what string, is func([]byte) bool, opts ...clientv3.OpOption) *spoil {
		s := spoilRecord(t, c, key, garbage[what], is, opts...)
		spoilt = append(spoilt, s)
		return s
	}
	works := over(inState("works", "", job.Running), "noise", as(job.Running))
	over(inState("ended", "", job.Succeeded), "empty", as(job.Succeeded))
	gone := over(inState("gone", "", job.Succeeded), "huge", as(job.Succeeded))
	over(inState("later", "8s", job.Pending), "other", as(job.Pending))
	over(inState("ahead", "2500ms", job.Armed), "future", as(job.Armed))
	over("jobs/defined", "noise", any)
	limit := spoilRecord(t, c, "limits/narrow", garbage["future"], any)

	// The owner of each of these records repairs it.
	session := func() string {
		vs := c.Recorder.VersionsOf("workers/w1")
		w, _ := decode[job.Worker](vs[len(vs)-1], "workers/")
		return w.Session
	}
	known := session()
	for _, healed := range []*spoil{
		spoilRecord(t, c, "cursors/counted", garbage["empty"], any),
		spoilRecord(t, c, "workers/w1", garbage["noise"], any),
		spoilRecord(t, c, "replicas/q1", garbage["other"], any, clientv3.WithIgnoreLease()),
	} {
		healed.awaitCure(t, c, 10*time.Second)
	}
	if now := session(); now != known || w.Metric("rota_worker_sessions_lost_total") > 0 {
		t.Errorf("w1 has the session %s, and had %s before garbage was put over its presence", now, known)
	}

	touch(t, gate)
	Await(t, 20*time.Second, "the outcome of what ran waits", func() bool { return w.Metric("rota_outcomes_unsent") == 1 })
	Let(3 * time.Second) // runs that were armed before have ended
	begun := requestsOf(sink)
	Let(3 * time.Second)
	for _, n := range c.Replicas() {
		var unnamed []string
		if !Within(10*time.Second, func() bool {
			unnamed = nil
			named := quarantined(t, n)
			for _, s := range spoilt {
				if !named[Prefix+"/"+s.key] {
					unnamed = append(unnamed, s.key)
				}
			}
			return len(unnamed) == 0
		}) {
			t.Errorf("%s does not name %q", n.Name, unnamed)
		}
	}
	for name, n := range requestsOf(sink) {
		if stands := name == "defined"; stands == (n > begun[name]) {
			t.Errorf("job %s had begun %d runs, and 3s later %d", name, begun[name], n)
		}
	}
	if n := w.Metric("rota_outcomes_unsent"); n != 1 {
		t.Errorf("%v outcomes wait on w1, want that of the unreadable run", n)
	}

	remove(t, c, Prefix+"/"+gone.key)
	c.Recorder.Sync()
	vs := c.Recorder.VersionsOf(gone.key)
	c.Hand[vs[len(vs)-1].Rev] = true
	for _, s := range spoilt {
		if s != gone {
			s.putBack(t, c)
		}
	}
	limit.awaitCure(t, c, 45*time.Second) // replicas apply their files every half a minute
	for _, n := range c.Replicas() {
		if !Within(10*time.Second, func() bool { return len(quarantined(t, n)) == 0 }) {
			t.Errorf("%s still names keys that are right again: %v", n.Name, sortedKeys(quarantined(t, n)))
		}
	}
	Await(t, 10*time.Second, "the outcome is delivered", func() bool { return onlyRun(t, c, "works").State.Terminal() })
	if r := onlyRun(t, c, "works"); r.State != job.Succeeded || r.Attempt != 1 || r.Rev < works.rev {
		t.Errorf("the run that was at work: got %s after attempt %d (%s), want succeeded with the first", r.State, r.Attempt, r.Reason)
	}

	// All jobs are paused, and the record of the pause is unreadable.
	c.gate("paused", c.Client.PauseAll)
	paused := spoilRecord(t, c, "gate", garbage["noise"], any)
	Let(2 * time.Second)
	begun = requestsOf(sink)
	Let(3 * time.Second)
	for name, n := range requestsOf(sink) {
		if n > begun[name] {
			t.Errorf("job %s has started %d runs while all were paused by an unreadable record", name, n-begun[name])
		}
	}
	if !quarantined(t, leader)[Prefix+"/gate"] {
		t.Errorf("%s does not name the gate", leader.Name)
	}
	paused.putBack(t, c)
	c.gate("resumed", c.Client.ResumeAll)

	// After a minute, the leader asks a present worker to return the runs that it has not started.
	for _, name := range []string{"later", "ahead"} {
		Await(t, 90*time.Second, "the run of "+name+" ends", func() bool { return onlyRun(t, c, name).State == job.Succeeded })
	}
	for _, n := range nodes {
		if !n.Running() || n.PID() != pids[n.Name] {
			t.Fatalf("%s ended", n.Name)
		}
	}
	if now := c.Leader(); now != leader || termOf(c) != term {
		t.Errorf("leadership went from %s (term %d) to %s (term %d)", leader.Name, term, now.Name, termOf(c))
	}
	c.Check(func() []history.Effect { return append(sink.Requests(), ledger.Effects()...) }, nil, nil)
	if n := len(ledger.Effects()); n != 5 {
		t.Errorf("%d executions of 5 runs", n)
	}
}

// requestsOf counts the requests of each job.
func requestsOf(sink *Sink) map[string]int {
	n := make(map[string]int)
	for _, e := range sink.Requests() {
		n[e.Job]++
	}
	return n
}

// spoil is one record that the test has overwritten with garbage.
type spoil struct {
	key    string // without the prefix
	before string
	rev    int64 // revision of the latest write by the test
}

// spoilRecord overwrites a record with garbage. It fails the test if is rejects the record's value.
func spoilRecord(t *testing.T, c *Cluster, key, value string, is func([]byte) bool, opts ...clientv3.OpOption) *spoil {
	t.Helper()
	s := &spoil{key: key}
	Await(t, 10*time.Second, "garbage is put over "+key, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		resp, err := c.Recorder.client.Get(ctx, Prefix+"/"+key)
		if err != nil {
			return false
		}
		if len(resp.Kvs) == 0 || !is(resp.Kvs[0].Value) {
			t.Fatalf("%s is not there, or not as it was to be spoilt: %s", key, resp.Kvs)
		}
		s.before = string(resp.Kvs[0].Value)
		return s.write(t, c, resp.Kvs[0].ModRevision, value, opts...)
	})
	t.Logf("fault: garbage over %s", key)
	return s
}

// awaitCure waits until rota has repaired the record.
func (s *spoil) awaitCure(t *testing.T, c *Cluster, limit time.Duration) {
	t.Helper()
	Await(t, limit, s.key+" is repaired", func() bool {
		vs := c.Recorder.VersionsOf(s.key)
		v := vs[len(vs)-1]
		return v.Rev > s.rev && !v.Deleted && json.Valid(v.Value)
	})
}

// putBack writes the former record back. It fails the test if another write came after the garbage.
func (s *spoil) putBack(t *testing.T, c *Cluster) {
	t.Helper()
	if !s.write(t, c, s.rev, s.before) {
		t.Errorf("%s was changed while it was unreadable", s.key)
	}
}

// write writes value over the revision rev of the record. It reports false if the record has another revision.
func (s *spoil) write(t *testing.T, c *Cluster, rev int64, value string, opts ...clientv3.OpOption) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	key := Prefix + "/" + s.key
	resp, err := c.Recorder.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", rev)).Then(clientv3.OpPut(key, value, opts...)).Commit()
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	if resp.Succeeded {
		s.rev = resp.Header.Revision
		c.Hand[s.rev] = true
	}
	return resp.Succeeded
}
