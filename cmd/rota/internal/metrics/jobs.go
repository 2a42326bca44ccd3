package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

var (
	successDesc = prometheus.NewDesc("rota_job_last_success_timestamp_seconds",
		"When the latest successful run of a job ended; absent if history has none.", []string{"job"}, nil)
	nextDesc = prometheus.NewDesc("rota_job_next_run_timestamp_seconds",
		"The next slot of a job that is not decided; absent if there is none, before the first decision, and while the job is paused.",
		[]string{"job"}, nil)
	failuresDesc = prometheus.NewDesc("rota_job_consecutive_failures",
		"Runs of a job that failed, timed out or were lost since its latest success, within history.", []string{"job"}, nil)
	leftOutDesc = prometheus.NewDesc("rota_jobs_without_metrics",
		"Jobs without the metrics rota_job_…, since metrics.jobs is smaller than the number of jobs.", nil, nil)
	skippedDesc = prometheus.NewDesc("rota_job_skipped_total",
		"Slots and runs of a job that this replica skipped while it led, by reason.", []string{"job", "reason"}, nil)
)

// jobs are the metrics of single jobs.
type jobs struct {
	results func() (list []store.JobResult, left int, ok bool) // as Sources.Jobs
	skipped *rowCounts
}

// Describe sends the descriptions of the metrics.
func (jobs) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{successDesc, nextDesc, failuresDesc, leftOutDesc, skippedDesc} {
		ch <- d
	}
}

// Collect sends the rows of all jobs that have metrics.
func (j jobs) Collect(ch chan<- prometheus.Metric) {
	list, left, ok := j.results()
	if !ok {
		return
	}
	send := func(desc *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	}
	send(leftOutDesc, float64(left))
	shown := make(map[string]bool, len(list))
	for _, r := range list {
		shown[r.Job] = true
		send(failuresDesc, float64(r.Failures), r.Job)
		if !r.Success.IsZero() {
			send(successDesc, seconds(r.Success), r.Job)
		}
		if !r.Next.IsZero() {
			send(nextDesc, seconds(r.Next), r.Job)
		}
	}
	for row, n := range j.skipped.current() {
		if shown[row.job] {
			ch <- prometheus.MustNewConstMetric(skippedDesc, prometheus.CounterValue, float64(n), row.job, row.value)
		}
	}
}

// seconds returns t as a Unix time in seconds.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// countSkipped counts what a decision skipped.
func (m *Metrics) countSkipped(d job.Decision) {
	switch {
	case d.Run != nil && d.Run.State == job.Skipped:
		m.skipped.add(d.Run.Job, skipReason(d.Run.Reason), 1)
	case d.Event != nil && d.Event.Kind == job.EventSkipped:
		m.skipped.add(d.Event.Job, skipReason(d.Event.Reason), d.Event.Count)
	}
}

// skipReasons has the value of the label for the first words of a reason.
var skipReasons = []struct{ begin, value string }{
	{"missed:", "missed"},
	{"overlap:", "overlap"},
	{"calendar:", "calendar"},
	{"parameter ", "parameter"},
	{"parent ", "parent"},
	{"waited longer ", "waited"},
	{"worker ", "worker"},
	{"rejected by ", "approval"},
	{"not approved ", "approval"},
	{"paused", "paused"},
	{"the schedule was changed ", "edited"},
}

// skipReason returns the label for a reason. There are only a few labels, because reasons contain names.
func skipReason(reason string) string {
	for _, r := range skipReasons {
		if strings.HasPrefix(reason, r.begin) {
			return r.value
		}
	}
	return "other"
}
