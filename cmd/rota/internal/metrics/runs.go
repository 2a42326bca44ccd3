package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

var (
	runsDesc = prometheus.NewDesc("rota_runs", "Runs that have not ended, by state; equal to a scan of all records.",
		[]string{"state"}, nil)
	waitsDesc = prometheus.NewDesc("rota_runs_due_waiting", "Due runs that wait, by what they wait for.", []string{"for"}, nil)
	endedDesc = prometheus.NewDesc("rota_runs_ended", "Runs in history that ended within the last hour or day, by outcome.",
		[]string{"outcome", "window"}, nil)
)

// runs are the metrics that count the runs in the store. A process without a mirror of them has none.
type runs struct {
	count func(now time.Time) (store.RunCounts, bool)
	now   func() time.Time
}

// Describe sends the descriptions of the metrics.
func (runs) Describe(ch chan<- *prometheus.Desc) { ch <- runsDesc; ch <- waitsDesc; ch <- endedDesc }

// Collect sends all rows.
func (r runs) Collect(ch chan<- prometheus.Metric) {
	if r.count == nil {
		return
	}
	c, ok := r.count(r.now())
	if !ok {
		return
	}
	send := func(desc *prometheus.Desc, n int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	for _, phase := range job.Phases() {
		send(runsDesc, c.Phases[phase], string(phase))
	}
	for _, what := range job.Waits() {
		send(waitsDesc, c.Waiting[what], what)
	}
	for _, state := range job.States() {
		if state.Terminal() {
			send(endedDesc, c.Hour[state], string(state), "hour")
			send(endedDesc, c.Day[state], string(state), "day")
		}
	}
}
