package planner_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestASkipDependsOnTheActiveRun skips slots for runs that are active. Such a run may have ended without the leader's knowledge, so
// the decision depends on its record.
func TestASkipDependsOnTheActiveRun(t *testing.T) {
	for name, script := range map[string]string{
		"it is at a worker":        "job a every=1m\nworker q1\nlead\nadvance 1m\nclaim a/00:01:00\nadvance 1m10s\n----\n",
		"it waits for an approval": "job a every=1m approve=:\nworker q1\nlead\nadvance 2m10s\n----\n",
		"it waits for room":        "job b\njob a every=1m\nworker q1 capacity=1\nlead\nstart b id=1\nclaim b/1\nadvance 2m10s\n----\n",
	} {
		t.Run(name, func(t *testing.T) {
			skipped := false
			play(t, script, func(st *stage, d job.Decision) {
				if d.Run == nil || d.Run.State != job.Skipped || !strings.HasPrefix(d.Run.Reason, "overlap: ") {
					return
				}
				skipped = true
				active := st.mustRun(st.runID("a/00:01:00"))
				if guard := (job.Guard{Kind: job.RecordRun, Name: active.Name(), Rev: active.Rev}); !slices.Contains(d.Guards, guard) {
					t.Errorf("the skip does not depend on the run in the way: got guards %v, want %v", d.Guards, guard)
				}
			})
			if !skipped {
				t.Error("no slot was skipped")
			}
		})
	}
}

// TestARunDependsOnItsLimits starts runs under limits. A limit may have been changed without the leader's knowledge, so the decision
// depends on the record of each.
func TestARunDependsOnItsLimits(t *testing.T) {
	started := 0
	play(t, "limit x concurrent=2\nlimit y rate=1/s\njob a every=1m limits=x,y\nworker q1\nlead\nadvance 1m\n----\n", func(st *stage, d job.Decision) {
		if d.Run == nil || d.Run.State != job.Armed {
			return
		}
		started++
		for _, name := range []string{"x", "y"} {
			rev := st.store.records[recordKey{job.RecordLimit, name}].Rev
			if guard := (job.Guard{Kind: job.RecordLimit, Name: name, Rev: rev}); rev == 0 || !slices.Contains(d.Guards, guard) {
				t.Errorf("the start does not depend on limit %s: got guards %v, want %v", name, d.Guards, guard)
			}
		}
	})
	if started == 0 {
		t.Error("no run was started")
	}
}
