package attention_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestACursorInTheFutureNeedsAttention has cursors that are as far ahead as arming puts them, and further.
func TestACursorInTheFutureNeedsAttention(t *testing.T) {
	facts := attention.Facts{Now: now, Jobs: []*job.Job{{Name: "j", Spec: &job.Spec{Command: []string{"true"}}}}}
	for ahead, want := range map[time.Duration]int{-time.Hour: 0, 2 * time.Minute: 0, 24 * time.Hour: 1} {
		facts.Cursors = []*job.Cursor{{Job: "j", After: now.Add(ahead)}, {Job: "gone", After: now.Add(ahead)}}
		items := ofJobs(t, facts)
		if len(items) != want {
			t.Errorf("%v ahead: got %+v, want %d items", ahead, items, want)
		}
		text := "No slot of job j runs until 2026-11-25T10:00:00Z, because its cursor is there: a clock was ahead, or somebody wrote the cursor."
		if len(items) == 1 && (items[0].Kind != attention.Ahead || items[0].Text != text) {
			t.Errorf("got %+v, want %q", items[0], text)
		}
	}
}
