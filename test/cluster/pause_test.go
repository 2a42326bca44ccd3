package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// electionTTL is the default.
const electionTTL = 5 * time.Second

// TestPausedLeaderIsFenced stops the leader's process for longer than its lease lasts, up to three times as long: another one leads, and when the first
// goes on, nothing that it writes has an effect.
func TestPausedLeaderIsFenced(t *testing.T) {
	slow(t)
	t.Parallel()
	sink := NewSink(t)
	jobs := make(map[string]job.Spec)
	for i := range 20 {
		jobs[fmt.Sprintf("post-%02d", i)] = job.Spec{
			Every: job.Duration(time.Second), Missed: job.MissedAll, HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"},
		}
	}
	c := Start(t, Config{Binary: binary, Jobs: jobs})
	paused := c.Leader()
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 40 })
	before := termOf(c)

	// In the middle of deciding, so that it goes on with writes that it has begun.
	stopped := time.Now().Truncate(time.Second).Add(time.Second + 3*time.Millisecond)
	Let(time.Until(stopped))
	paused.Stop()
	next := c.Leader()
	took := time.Since(stopped)
	if next == paused {
		t.Fatal("the paused leader still leads: the fault did not bite")
	}
	t.Logf("%s leads %v after %s was paused", next.Name, took.Round(10*time.Millisecond), paused.Name)
	Let(time.Until(stopped.Add(lasting(8*time.Second, 3*electionTTL))))
	Await(t, 20*time.Second, "the next leader dispatches", func() bool { return termOf(c) > before })
	c.Recorder.Sync()
	moved := c.Recorder.Versions()
	resumed := moved[len(moved)-1].Rev

	paused.Cont()
	paused.WaitReady()
	Let(3 * time.Second)
	if leader := c.Leader(); leader == paused {
		t.Errorf("the paused leader leads again, though nothing happened to %s", next.Name)
	}
	c.Check(sink.Requests, nil, func(j *history.Job) { j.Tolerance = electionTTL })
	for _, v := range c.Recorder.Versions() {
		if cursor, ok := cursorIn(v); ok && v.Rev > resumed && cursor.Term == before {
			t.Errorf("%s was written at %d under the term %d that was over", v.Key, v.Rev, before)
		}
	}
	t.Logf("writes of %s that were refused since its term was over: %v", paused.Name, paused.Metric("rota_store_fenced_writes_total"))
}

// TestShortPauses stops the leader and a worker for half as long as their leases last, and just as long: whether they keep
// what they hold or lose it, nothing is double and nothing is missing.
func TestShortPauses(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	sink.Delay(300 * time.Millisecond) // so that whoever is stopped has something under way
	jobs := make(map[string]job.Spec)
	for i := range 20 {
		jobs[fmt.Sprintf("post-%02d", i)] = job.Spec{
			Every: job.Duration(time.Second), Missed: job.MissedAll, HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"},
		}
	}
	c := Start(t, Config{Binary: binary, Jobs: jobs})
	worker := c.AddWorker("w1")
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 40 })
	for _, length := range []time.Duration{electionTTL / 2, electionTTL} {
		leader := c.Leader()
		for _, n := range []*Node{leader, worker} {
			before := termOf(c)
			Await(t, 10*time.Second, n.Name+" executes something", func() bool { return executing(c, n.Name) > 0 })
			n.Stop()
			Let(length)
			if stat := state(t, n.PID()); stat != "T" {
				t.Errorf("%s is in state %s, want T: the fault did not bite", n.Name, stat)
			}
			n.Cont()
			n.WaitReady()
			c.Leader()
			asked := len(sink.Requests())
			Await(t, 20*time.Second, "jobs run on", func() bool { return len(sink.Requests()) > asked+40 })
			t.Logf("%s was stopped for %v: term %d, then %d; %d attempts lost so far", n.Name, length, before, termOf(c), lost(c))
		}
	}
	c.Check(sink.Requests, nil, nil)
}

// state is the letter by which the kernel tells what a process does.
func state(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest[:1]
}

// termOf is the latest term in which a cursor was moved.
func termOf(c *Cluster) (term int64) {
	for _, v := range c.Recorder.Versions() {
		if cursor, ok := cursorIn(v); ok {
			term = max(term, cursor.Term)
		}
	}
	return term
}

// cursorIn reads a version of a cursor, which only leaders write.
func cursorIn(v history.Version) (cursor job.Cursor, ok bool) {
	ok = strings.HasPrefix(v.Key, Prefix+"/cursors/") && json.Unmarshal(v.Value, &cursor) == nil
	return cursor, ok
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
