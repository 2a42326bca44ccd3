package cluster

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestArmedSlotsNeedNoLeader kills the leader after it has armed some slots and before they are due. Until its lease expires,
// no other replica can lead. The workers start the runs of these slots on time by themselves.
func TestArmedSlotsNeedNoLeader(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	const period = 10 * time.Second
	jobs := sink.Posts(30, job.Spec{Every: job.Duration(period)})
	c := Start(t, Config{Binary: binary, Jobs: jobs, Flags: func(string) []string { return []string{"--election-fast-takeover=false", "--dispatch-arm-ahead=4s"} }})
	leader := c.Leader()
	slot := time.Now().Truncate(period).Add(2 * period).UTC()
	id := job.SlotID(slot)
	Let(time.Until(slot.Add(-2 * time.Second)))
	c.Recorder.Sync() // before the kill, because the store may answer late after it
	killed, term := c.Recorder.Rev(), termOf(c)
	leader.Kill()
	if time.Now().After(slot) {
		t.Fatal("the leader was killed after the slot")
	}
	Await(t, 30*time.Second, "another leads", func() bool {
		return slices.ContainsFunc(c.Replicas(), func(n *Node) bool { return n != leader && n.Leads() })
	})
	Await(t, 30*time.Second, "all runs of the slot have ended", func() bool {
		for name := range jobs {
			if !c.Recorder.Runs(name)[id].State.Terminal() {
				return false
			}
		}
		return true
	})
	next := firstWriteOfAnotherTerm(c, killed, term).Rev
	arrived := make(map[string]time.Time)
	for _, e := range sink.Requests() {
		arrived[e.Run] = e.Arrived
	}
	alone, took := 0, make([]time.Duration, 0, len(jobs))
	for name := range jobs {
		var last job.Run
		for _, v := range c.Recorder.VersionsOf("runs/" + name + "/" + id) {
			var r job.Run
			if err := json.Unmarshal(v.Value, &r); err != nil {
				t.Fatal(err)
			}
			if r.State == job.Running && v.Rev > killed && v.Rev < next {
				alone++
				took = append(took, arrived[r.Name()].Sub(slot))
				if r.Worker == leader.Name {
					t.Errorf("%s was claimed by %s, which is dead", r.Name(), r.Worker)
				}
			}
			last = r
		}
		if last.State != job.Succeeded {
			t.Errorf("run %s: got %s on %s (%s), want it to succeed", last.Name(), last.State, last.Worker, last.Reason)
		}
	}
	if alone < len(jobs)/3 {
		t.Errorf("%d of %d slots started without a leader: the fault took no effect, or they were not armed", alone, len(jobs))
	}
	slices.Sort(took)
	if len(took) > 0 {
		t.Logf("%d slots started without a leader, the latest %v after its time", alone, took[len(took)-1])
		if took[0] < 0 {
			t.Errorf("a slot began %v before its time", -took[0])
		}
	}
	leader.Start()
	c.WaitReady()
	c.Check(sink.Requests, nil, nil)
}

// firstWriteOfAnotherTerm returns the first write after rev by a leader whose term is not term.
func firstWriteOfAnotherTerm(c *Cluster, rev, term int64) history.Version {
	for _, v := range c.Recorder.Versions() {
		if v.Rev <= rev {
			continue
		}
		var written struct{ Term int64 }
		kind, _, _ := strings.Cut(strings.TrimPrefix(v.Key, Prefix+"/"), "/")
		if (kind == "runs" || kind == "cursors") && json.Unmarshal(v.Value, &written) == nil && written.Term > term {
			return v
		}
	}
	c.t.Fatal("no other leader has written anything")
	return history.Version{}
}

// TestAPauseRecallsWhatIsArmed pauses, edits and deletes jobs after their slots were armed and before they are due. No armed
// run may start.
func TestAPauseRecallsWhatIsArmed(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	const period = 6 * time.Second
	every := func(d time.Duration) job.Spec {
		return job.Spec{Every: job.Duration(d), HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}}
	}
	edited := every(period)
	edited.HTTP.Headers = map[string]string{"Edited": "yes"}
	before := map[string]job.Spec{"paused": every(period), "moved": every(period), "deleted": every(period), "edited": every(period)}
	early := func(string) []string { return []string{"--dispatch-arm-ahead=5s"} }
	c := Start(t, Config{Binary: binary, Jobs: before, Flags: early})
	slot := time.Now().Truncate(period).Add(2 * period).UTC()
	other := int64(7) // seconds; a job with this interval has no slot at the armed time
	for slot.Unix()%other == 0 {
		other++
	}
	after := map[string]job.Spec{"paused": every(period), "moved": every(time.Duration(other) * time.Second), "edited": edited}
	id := job.SlotID(slot)
	armed := func(name string) bool {
		return slices.ContainsFunc(c.Recorder.VersionsOf("runs/"+name+"/"+id), func(v history.Version) bool {
			var r job.Run
			return json.Unmarshal(v.Value, &r) == nil && r.State == job.Armed
		})
	}
	Await(t, 20*time.Second, "the slot is armed", func() bool {
		return armed("paused") && armed("moved") && armed("deleted") && armed("edited")
	})
	if _, err := c.Client.PauseJob(t.Context(), "paused", "test"); err != nil {
		t.Fatal(err)
	}
	c.WriteJobs(after)
	want := map[string]job.State{"paused": job.Skipped, "moved": job.Skipped, "deleted": job.Canceled, "edited": job.Succeeded}
	Await(t, 20*time.Second, "the slot is decided", func() bool {
		for name := range want {
			if !c.Recorder.Runs(name)[id].State.Terminal() {
				return false
			}
		}
		return true
	})
	for name, state := range want {
		r := c.Recorder.Runs(name)[id]
		if r.State != state {
			t.Errorf("run %s: got %s on %s (%s), want %s", r.Name(), r.State, r.Worker, r.Reason, state)
		}
		if r.State != job.Succeeded && r.Reason == "" {
			t.Errorf("run %s is %s without a reason", r.Name(), r.State)
		}
		t.Logf("run %s: %s %s", r.Name(), r.State, r.Reason)
	}
	if r := c.Recorder.Runs("edited")[id]; r.Generation != 2 {
		t.Errorf("run %s was executed by generation %d of its job, want 2", r.Name(), r.Generation)
	}
	c.cfg.Jobs = after
	c.Check(sink.Requests, nil, func(j *history.Job) { j.Edited = true; j.MayFail = true })
}
