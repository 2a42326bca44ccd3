package notify_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestRunsThatFailTogetherCountOnce checks that the next leader counts two runs that failed at one revision as its predecessor did, if
// that one died between their messages.
func TestRunsThatFailTogetherCountOnce(t *testing.T) {
	j := definedWith(job.Notifier{URL: "ntfy://x/y", After: 3, Repeat: 1})
	history := []*job.Run{ended("1", job.Failed, 10), ended("2", job.Failed, 11), ended("3", job.Failed, 11), ended("4", job.Failed, 12)}
	first := book(6, j)
	for _, r := range history {
		first.Apply(change(r))
	}
	all := first.Take()
	if diff := cmp.Diff([]string{"ops failure 3", "ops failure 4"}, summarize(all)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	records := first.Records(later)
	if len(records) != 1 || records[0].UpTo != 10 {
		t.Fatalf("got %+v, want a record up to 10", records)
	}
	next := book(20, j)
	next.Open(j, &records[0], history, nil)
	again := next.Take()
	if diff := cmp.Diff(summarize(all), summarize(again)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for i, n := range again {
		if n.Failures != all[i].Failures {
			t.Errorf("run %s: got %d failures in a row, want %d", n.Run.ID, n.Failures, all[i].Failures)
		}
	}
}
