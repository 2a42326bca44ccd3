package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-scheduler/rota/scheduler"
)

var breakerOpen = prometheus.NewDesc("rota_breaker_open",
	"1 while a job's breaker is open or a run tries whether it may be closed, 0 while it is closed; the leader's.",
	[]string{"job"}, nil)

// breakers is the metric rota_breaker_open. It has a row for each job that has a breaker.
type breakers struct{ status func() scheduler.Status }

// Describe sends the description of the metric.
func (breakers) Describe(ch chan<- *prometheus.Desc) { ch <- breakerOpen }

// Collect sends all rows.
func (b breakers) Collect(ch chan<- prometheus.Metric) {
	for name, open := range b.status().Breakers {
		ch <- prometheus.MustNewConstMetric(breakerOpen, prometheus.GaugeValue, oneIf(open), name)
	}
}
