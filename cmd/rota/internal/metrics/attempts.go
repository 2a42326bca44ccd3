package metrics

import (
	"maps"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// attemptCounts is the metric rota_attempts_total. It keeps only a number for each row, because there may be a million jobs. A
// row of a prometheus.CounterVec takes half a kilobyte.
type attemptCounts struct {
	desc  *prometheus.Desc
	known func(name string) bool // as in Sources

	mu   sync.Mutex
	rows map[attemptRow]uint64 // guarded by mu; the count of each row
}

// attemptRow is a row of the metric.
type attemptRow struct {
	job     string
	outcome job.State
}

var _ prometheus.Collector = (*attemptCounts)(nil)

func newAttemptCounts(known func(string) bool) *attemptCounts {
	return &attemptCounts{
		known: known,
		desc: prometheus.NewDesc("rota_attempts_total", "Attempts that ended here, by job and outcome.",
			[]string{"job", "outcome"}, nil),
		rows: make(map[attemptRow]uint64),
	}
}

// add counts one attempt.
func (c *attemptCounts) add(name string, outcome job.State) {
	row := attemptRow{name, outcome}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, known := c.rows[row]
	if !known {
		row.job = strings.Clone(name) // copy the name, because it may share memory with the whole record
	}
	c.rows[row] = n + 1
}

// Describe sends the description of the metric.
func (c *attemptCounts) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect sends the rows of all jobs that exist.
func (c *attemptCounts) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	if c.known != nil {
		maps.DeleteFunc(c.rows, func(row attemptRow, _ uint64) bool { return row.job != job.AdHoc && !c.known(row.job) })
	}
	rows := maps.Clone(c.rows)
	c.mu.Unlock()
	for row, n := range rows {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(n), row.job, string(row.outcome))
	}
}
