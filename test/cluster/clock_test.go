package cluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/history"
)

// faultClock is an environment variable with the path of a file. The file has the error of the clock. Only a build with the tag
// faultclock reads it.
const faultClock = "FAULT_CLOCK_FILE"

// setClock sets the error of a node's clock; 0 makes it right.
func setClock(t *testing.T, c *Cluster, n *Node, wrong time.Duration) {
	t.Helper()
	path := clockFile(c, n.Name)
	files.Write(t, path+".new", wrong.String())
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	t.Logf("fault: the clock of %s is wrong by %v", n.Name, wrong)
}

func clockFile(c *Cluster, node string) string { return filepath.Join(c.Dir, node+".clock") }

// giveClocks makes the clocks of all nodes settable, from their next start on.
func giveClocks(c *Cluster) {
	for _, n := range c.nodes {
		n.Env = append(n.Env, faultClock+"="+clockFile(c, n.Name))
	}
}

// TestClocksDiffer sets clocks wrong by 45 s, forwards and backwards, while replicas lead and work. A replica with a wrong
// clock does not lead, reports it, and continues to work. No run is early, repeated or missing.
func TestClocksDiffer(t *testing.T) {
	row(t)
	t.Parallel()
	const wrong = 45 * time.Second
	sink := NewSink(t)
	post := job.Spec{Every: job.Duration(time.Second), Missed: job.MissedAll, HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}}
	jobs := map[string]job.Spec{}
	for i := range 12 {
		jobs[fmt.Sprintf("post-%02d", i)] = post
	}
	// The first attempt of each run of these jobs fails. So a worker computes when the next attempt is due.
	const pause = 2 * time.Second
	again := post
	again.Every, again.Overlap = job.Duration(2*time.Second), job.OverlapAllow
	again.Retry = &job.Retry{Max: 1, Backoff: job.BackoffConstant, Min: job.Duration(pause), Jitter: job.JitterNone}
	for i := range 4 {
		jobs[fmt.Sprintf("again-%d", i)] = again
	}
	var healed atomic.Bool
	sink.AnswerBy(func(e history.Effect) (time.Duration, int) {
		if e.Attempt == 1 && !healed.Load() && strings.HasPrefix(e.Job, "again-") {
			return 0, 500
		}
		return 0, 204
	})
	c := Start(t, Config{Binary: faultBinary(t), Jobs: jobs, Prepare: giveClocks})
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 40 })

	// The leader's clock jumps ahead. Another replica leads, and the first reports the reason.
	first := c.Leader()
	setClock(t, c, first, wrong)
	var second *Node
	Await(t, 20*time.Second, "another one leads", func() bool { second = c.Leader(); return second != first })
	saysSkewed(t, first)
	Await(t, 5*time.Second, first.Name+" logs why it does not lead", func() bool {
		return strings.Contains(first.Log(), "does not lead until its clock is set right")
	})
	workedOn(t, c, first, wrong)

	// The clock of a replica that never led goes back.
	third := other(c, first, second)
	setClock(t, c, first, 0)
	Await(t, 20*time.Second, first.Name+" trusts its clock again", func() bool { return strings.Contains(first.Log(), "the clock is right again") })
	setClock(t, c, third, -wrong)
	saysSkewed(t, third)
	workedOn(t, c, third, -wrong)

	// The third replica starts with a wrong clock, and does not lead when the leader stops.
	third.Terminate()
	third.Start()
	saysSkewed(t, third)
	leader := c.Leader()
	leader.Terminate()
	if next := c.Leader(); next == third {
		t.Errorf("%s leads with a clock that is wrong by %v", third.Name, wrong)
	}
	leader.Start()
	setClock(t, c, third, 0)
	c.WaitReady()
	healed.Store(true)
	c.Check(sink.Requests, nil, nil)

	early(t, sink.Requests())
	for _, r := range c.Recorder.Runs("") {
		if r.State == job.Skipped && strings.HasPrefix(r.Reason, "overlap") {
			t.Errorf("run %s was skipped: %s", r.Name(), r.Reason)
		}
	}
	// A worker with a wrong clock learns the leader's time from the leader's orders. An order takes a moment to arrive, so the
	// worker's estimate is wrong by that moment.
	const underway = 100 * time.Millisecond
	gaps(t, sink.Requests(), "again-", pause-underway, pause+20*time.Second)
}

// saysSkewed waits until the node reports that it is not ready because its clock is wrong.
func saysSkewed(t *testing.T, n *Node) {
	t.Helper()
	Await(t, 30*time.Second, n.Name+" says that its clock is wrong", func() bool {
		text, ready, err := n.Client.Ready(t.Context())
		return err == nil && !ready && strings.Contains(text, "clock differs from most others")
	})
}

// workedOn waits until the node has executed more than ten runs whose start times show its wrong clock.
func workedOn(t *testing.T, c *Cluster, n *Node, wrong time.Duration) {
	t.Helper()
	Await(t, 20*time.Second, n.Name+" works by its wrong clock", func() bool {
		done := 0
		for _, r := range c.Recorder.Runs("") {
			if d := r.Started.Sub(r.Slot); r.Worker == n.Name && (d-wrong).Abs() < wrong.Abs()/2 {
				done++
			}
		}
		return done > 10
	})
}

// other returns the replica that is neither a nor b.
func other(c *Cluster, a, b *Node) *Node {
	for _, n := range c.Replicas() {
		if n != a && n != b {
			return n
		}
	}
	return nil
}

// early fails the test for each effect that arrived before its slot.
func early(t *testing.T, effects []history.Effect) {
	t.Helper()
	for _, e := range effects {
		slot, err := time.Parse(time.RFC3339, e.Run[len(e.Job)+1:])
		if err == nil && e.Arrived.Before(slot) {
			Broken(t, history.Violation{Rule: history.RuleTime, What: e.Run, Text: fmt.Sprintf("executed %v before its slot", slot.Sub(e.Arrived))})
		}
	}
}

// gaps checks the time from the end of an attempt to the arrival of the next attempt of the same run. It must be from least to
// most, for all jobs whose names begin with prefix.
func gaps(t *testing.T, effects []history.Effect, prefix string, least, most time.Duration) {
	t.Helper()
	last := make(map[string]history.Effect)
	n := 0
	for _, e := range effects {
		if !strings.HasPrefix(e.Job, prefix) {
			continue
		}
		if before, again := last[e.Run]; again {
			n++
			if gap := e.Arrived.Sub(before.Ended); gap < least || gap > most {
				t.Errorf("%s: attempt %d came %v after the end of the one before it, want %v to %v", e.Run, e.Attempt, gap, least, most)
			}
		}
		last[e.Run] = e
	}
	if n == 0 {
		t.Errorf("nothing of %s… was tried again", prefix)
	}
}

// TestReleaseClockIsRight checks that a released binary does not have the clock that tests can set.
func TestReleaseClockIsRight(t *testing.T) {
	row(t)
	for path, want := range map[string]bool{binary: false, faultBinary(t): true} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(text, []byte(faultClock)); got != want {
			t.Errorf("%s: reads %s: %v, want %v", filepath.Base(path), faultClock, got, want)
		}
	}
}
