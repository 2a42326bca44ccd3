package metrics

import (
	"maps"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-scheduler/rota/scheduler/job"
)

var attemptsDesc = prometheus.NewDesc("rota_attempts_total", "Attempts that ended here, by job and outcome.",
	[]string{"job", "outcome"}, nil)

// rowCounts counts events by job and one more label. It keeps only a number for each row, because there may be a million jobs. A
// row of a prometheus.CounterVec takes half a kilobyte.
type rowCounts struct {
	known func(name string) bool // as in Sources

	mu   sync.Mutex
	rows map[countRow]uint64 // guarded by mu; the count of each row
}

// countRow identifies a row by the values of its labels.
type countRow struct{ job, value string }

func newRowCounts(known func(string) bool) *rowCounts {
	return &rowCounts{known: known, rows: make(map[countRow]uint64)}
}

// add counts n events.
func (c *rowCounts) add(name, value string, n int) {
	row := countRow{name, value}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := c.rows[row]
	if !known {
		row.job = strings.Clone(name) // copy the name, because it may share memory with the whole record
	}
	c.rows[row] = before + uint64(max(0, n))
}

// current returns the rows of all jobs that exist, and drops the others.
func (c *rowCounts) current() map[countRow]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known != nil {
		maps.DeleteFunc(c.rows, func(row countRow, _ uint64) bool { return row.job != job.AdHoc && !c.known(row.job) })
	}
	return maps.Clone(c.rows)
}

// attemptCounts is the metric rota_attempts_total.
type attemptCounts struct{ *rowCounts }

// Describe sends the description of the metric.
func (attemptCounts) Describe(ch chan<- *prometheus.Desc) { ch <- attemptsDesc }

// Collect sends the rows of all jobs that exist.
func (c attemptCounts) Collect(ch chan<- prometheus.Metric) {
	for row, n := range c.current() {
		ch <- prometheus.MustNewConstMetric(attemptsDesc, prometheus.CounterValue, float64(n), row.job, row.value)
	}
}
