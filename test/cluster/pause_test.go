package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/history"
)

// electionTTL is the default TTL of the election.
const electionTTL = 5 * time.Second

// TestPausedLeaderIsFenced stops the leader's process in the middle of its writes, for three times its lease. Another replica
// leads after the lease. When the first replica continues, none of its writes has an effect.
func TestPausedLeaderIsFenced(t *testing.T) {
	slow(t)
	t.Parallel()
	sink := NewSink(t)
	jobs := sink.Posts(100, job.Spec{Jitter: job.Duration(time.Second)})
	// Nothing is armed ahead, and slots are due all the time. So the leader has writes under way when it is stopped, and has
	// more to write when it continues.
	c := Start(t, Config{Binary: binary, Jobs: jobs, Flags: func(string) []string { return []string{"--dispatch-arm-ahead=0s"} }})
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 40 })
	type fall struct{ term, resumed int64 }
	var falls []fall
	wrote := false
	for try := 0; try < 6 && !wrote; try++ {
		term, resumed, failed := pauseLeader(t, c)
		falls, wrote = append(falls, fall{term, resumed}), failed
	}
	if !wrote {
		t.Errorf("the leader was stopped %d times, but no write was under way then or after it continued: the faults took no effect", len(falls))
	}
	c.Check(sink.Requests, nil, func(j *history.Job) { j.Tolerance = electionTTL })
	for _, v := range c.Recorder.Versions() {
		cursor, ok := cursorIn(v)
		for _, f := range falls {
			if ok && v.Rev > f.resumed && cursor.Term == f.term {
				t.Errorf("%s was written at %d under the term %d that was over", v.Key, v.Rev, f.term)
			}
		}
	}
}

// pauseLeader stops the leader for three times its lease and then continues it. It returns the leader's term and the revision
// of the store at that time. wrote reports whether a write of this leader was then rejected or had an unknown outcome.
func pauseLeader(t *testing.T, c *Cluster) (term, resumed int64, wrote bool) {
	t.Helper()
	paused := c.Leader()
	// Its member does not lead etcd. If a member that leads etcd were paused for this long, all nodes would lose their leases.
	Await(t, 20*time.Second, "etcd is led by another replica", func() bool { return c.StoreLeader() != paused })
	term = termOf(c)
	const failed = `rota_decisions_total{result="failed"}`
	failures := paused.Metric(failed)

	// Stop the leader in the middle of its decisions, so that it has writes under way when it continues.
	stopped := time.Now().Truncate(time.Second).Add(time.Second + 3*time.Millisecond)
	Let(time.Until(stopped))
	paused.Stop()
	next := c.Leader()
	took := time.Since(stopped)
	if next == paused {
		t.Fatal("the paused leader still leads: the fault took no effect")
	}
	if took > 2*electionTTL {
		t.Errorf("%s leads %v after %s was paused, whose lease was over after %v", next.Name, took, paused.Name, electionTTL)
	}
	t.Logf("%s leads %v after %s was paused", next.Name, took.Round(10*time.Millisecond), paused.Name)
	Await(t, 20*time.Second, "the next leader dispatches", func() bool { return termOf(c) > term })
	Let(time.Until(stopped.Add(3 * electionTTL)))
	c.Recorder.Sync()
	resumed = c.Recorder.Rev()

	paused.Cont()
	paused.WaitReady()
	Let(3 * time.Second)
	if leader := c.Leader(); leader == paused {
		t.Errorf("the paused leader leads again, though nothing happened to %s", next.Name)
	}
	t.Logf("decisions of %s that failed: %v; writes that were refused since its term was over: %v", paused.Name,
		paused.Metric(failed)-failures, paused.Metric("rota_store_fenced_writes_total"))
	return term, resumed, paused.Metric(failed) > failures
}

// TestShortPauses stops the leader and a worker for less than half of a lease, for half, and for a whole lease. The shortest
// pause has no effect. After the others a process may have kept or lost its lease, but no run is repeated or missing.
func TestShortPauses(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	sink.Delay(300 * time.Millisecond) // so that each process has requests under way when it is stopped
	jobs := sink.Posts(20, job.Spec{})
	c := Start(t, Config{Binary: binary, Jobs: jobs})
	worker := c.AddWorker("w1")
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 40 })
	const short = 2 * electionTTL / 5
	for _, length := range []time.Duration{short, electionTTL / 2, electionTTL} {
		leader := c.Leader()
		for _, n := range []*Node{leader, worker} {
			// If the member that leads etcd stops, etcd must elect again.
			Await(t, 20*time.Second, "etcd is led by another replica", func() bool { return c.StoreLeader() != n })
			before, sessions := termOf(c), workerSessions(c)
			Await(t, 10*time.Second, n.Name+" executes something", func() bool { return executing(c, n.Name) > 0 })
			n.Stop()
			Let(length)
			if stat := state(t, n.PID()); stat != "T" {
				t.Errorf("%s is in state %s, want T: the fault took no effect", n.Name, stat)
			}
			n.Cont()
			n.WaitReady()
			c.Leader()
			asked := len(sink.Requests())
			Await(t, 20*time.Second, "jobs run on", func() bool { return len(sink.Requests()) > asked+40 })
			t.Logf("%s was stopped for %v: term %d, then %d; %d attempts lost so far", n.Name, length, before, termOf(c), lost(c))
			if length == short && (termOf(c) != before || workerSessions(c) != sessions || lost(c) > 0) {
				t.Errorf("%s was stopped for %v, which is to cost nothing: term %d, then %d; sessions %s, then %s; %d attempts lost",
					n.Name, length, before, termOf(c), sessions, workerSessions(c), lost(c))
			}
		}
	}
	c.Check(sink.Requests, nil, nil)
}

// state returns the letter of the kernel for the state of a process.
func state(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest[:1]
}

// termOf returns the latest term in which a cursor was moved.
func termOf(c *Cluster) (term int64) {
	for _, v := range c.Recorder.Versions() {
		if cursor, ok := cursorIn(v); ok {
			term = max(term, cursor.Term)
		}
	}
	return term
}

// cursorIn decodes a version of a cursor, which only leaders write.
func cursorIn(v history.Version) (cursor job.Cursor, ok bool) {
	ok = strings.HasPrefix(v.Key, Prefix+"/cursors/") && json.Unmarshal(v.Value, &cursor) == nil
	return cursor, ok
}

func touch(t *testing.T, path string) {
	t.Helper()
	files.Write(t, path, "")
}
