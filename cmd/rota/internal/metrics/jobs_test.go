package metrics

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// rows returns the values of all metrics of jobs, by name and labels.
func rows(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]float64)
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "rota_job") {
			continue
		}
		for _, row := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "rota_")
			for _, l := range row.GetLabel() {
				name += " " + l.GetValue()
			}
			out[name] = row.GetGauge().GetValue() + row.GetCounter().GetValue()
		}
	}
	return out
}

func TestMetricsOfJobs(t *testing.T) {
	from, exists := sources(), map[string]bool{"a": true, "b": true}
	from.Known = func(name string) bool { return exists[name] }
	from.Jobs = func() ([]store.JobResult, int, bool) {
		list := []store.JobResult{{Job: "a", Success: time.Unix(1000, 0), Failures: 2, Next: time.Unix(2000, 5e8)}, {Job: "b"}}
		if !exists["a"] {
			list = list[1:]
		}
		return list, 3, true
	}
	m := New(from)
	skipped := func(name, reason string) job.Decision {
		return job.Decision{Run: &job.Run{Job: name, State: job.Skipped, Reason: reason}}
	}
	decided := func(d job.Decision, err error) { m.Decided(d, job.Applied{Err: err}, time.Time{}, time.Time{}) }
	decided(skipped("a", "overlap: run 7 is still active"), nil)
	decided(skipped("a", "overlap: run 8 is still active"), nil)
	decided(skipped("a", "overlap: run 9 is still active"), job.ErrConflict)
	decided(skipped("left-out", "paused"), nil)
	decided(job.Decision{Event: &job.Event{Kind: job.EventSkipped, Job: "b", Count: 14, Reason: "missed: a later slot runs instead"}}, nil)
	decided(job.Decision{Event: &job.Event{Kind: job.EventLate, Job: "b", Reason: "late"}}, nil)
	want := map[string]float64{
		"job_last_success_timestamp_seconds a": 1000, "job_next_run_timestamp_seconds a": 2000.5,
		"job_consecutive_failures a": 2, "job_consecutive_failures b": 0,
		"job_skipped_total a overlap": 2, "job_skipped_total b missed": 14, "jobs_without_metrics": 3,
	}
	if got := rows(t, m); !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	delete(exists, "a")
	for name := range rows(t, m) {
		if strings.Contains(name, " a") {
			t.Errorf("the deleted job still has %s", name)
		}
	}
}

// TestEachReasonOfASkippedSlotHasALabel reads the reasons from the reference.
func TestEachReasonOfASkippedSlotHasALabel(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/reference/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Why a slot was skipped\n")
	section, _, _ = strings.Cut(section, "\n## ")
	n := 0
	for line := range strings.Lines(section) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for reason := range strings.SplitSeq(cell, ", ") {
			if reason, ok := strings.CutPrefix(reason, "`"); ok {
				n++
				if got := skipReason(strings.TrimSuffix(reason, "`")); got == "other" {
					t.Errorf("reason %q has no label", reason)
				}
			}
		}
	}
	if n < 15 {
		t.Errorf("the reference has %d reasons, want at least 15", n)
	}
}
