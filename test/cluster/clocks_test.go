package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAllClocksAreSet sets the clocks of all replicas at once, forwards and back, under load. The replicas agree about the time, so
// one of them leads. Each slot runs once, although the time comes twice.
func TestAllClocksAreSet(t *testing.T) {
	row(t)
	t.Parallel()
	const ahead = 30 * time.Second
	sink := NewSink(t)
	jobs := sink.Posts(30, job.Spec{MissedLimit: 1000, Overlap: job.OverlapAllow}) // a run may be active while the time jumps
	c := Start(t, Config{Binary: faultBinary(t), Jobs: jobs, Prepare: giveClocks})
	latest := func() (slot time.Time) {
		for _, e := range sink.Requests() {
			if at, err := time.Parse(time.RFC3339, strings.TrimPrefix(e.Run, e.Job+"/")); err == nil && at.After(slot) {
				slot = at
			}
		}
		return slot
	}
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 100 })
	for _, n := range c.Replicas() {
		setClock(t, c, n, ahead)
	}
	Await(t, time.Minute, "the slots of the new time run", func() bool { return time.Until(latest()) > ahead-2*time.Second })
	Let(5 * time.Second)
	for _, n := range c.Replicas() {
		setClock(t, c, n, 0)
	}
	set, before := time.Now(), latest()
	Await(t, 3*ahead, "slots run again", func() bool { return latest().After(before.Add(3 * time.Second)) })
	t.Logf("slots run again %v after the clocks went back", time.Since(set).Round(10*time.Millisecond))
	c.Quiesce()
	times := make(map[string]int)
	first, last := latest(), latest()
	for _, e := range sink.Requests() {
		times[e.Run]++
		if at, err := time.Parse(time.RFC3339, strings.TrimPrefix(e.Run, e.Job+"/")); err == nil && at.Before(first) {
			first = at
		}
	}
	counts := make(map[int]int)
	for name := range jobs {
		for at := first.Add(time.Second); at.Before(last); at = at.Add(time.Second) {
			run := name + "/" + at.UTC().Format(time.RFC3339)
			if counts[times[run]]++; times[run] != 1 {
				t.Errorf("%s was executed %d times, want once", run, times[run])
			}
		}
	}
	t.Logf("executions of a slot: %v", counts)
	states := make(map[string]int)
	for name, r := range c.Recorder.Runs("") {
		paused := r.State == job.Skipped && r.Reason == "paused" // by Quiesce
		if states[string(r.State)]++; r.State != job.Succeeded && !paused {
			t.Errorf("%s is %s: %s", name, r.State, r.Reason)
		}
	}
	t.Logf("runs by state: %v", states)
	c.Verify()
}
