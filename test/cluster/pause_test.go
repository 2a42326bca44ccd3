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

// TestPausedLeaderIsFenced stops the leader's process for longer than its lease lasts: another one leads, and when the first
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
	Let(time.Until(stopped.Add(2*electionTTL + 2*time.Second)))
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
	c.Check(sink.Requests, nil, nil)
	for _, v := range c.Recorder.Versions() {
		if cursor, ok := cursorIn(v); ok && v.Rev > resumed && cursor.Term == before {
			t.Errorf("%s was written at %d under the term %d that was over", v.Key, v.Rev, before)
		}
	}
	t.Logf("writes of %s that were refused since its term was over: %v", paused.Name, paused.Metric("rota_store_fenced_writes_total"))
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
