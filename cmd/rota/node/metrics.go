package node

import (
	"math"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/worker"
	"github.com/rota-scheduler/rota/store"
)

// metrics is what /metrics shows. docs/reference/metrics.md lists the names.
type metrics struct {
	registry  *prometheus.Registry
	terms     prometheus.Counter
	decisions *prometheus.CounterVec // by what was decided
	claims    prometheus.Counter
	givenUp   prometheus.Counter
	conflicts prometheus.Counter
	recalls   prometheus.Counter
	attempts  *attemptCounts
	notified  *prometheus.CounterVec // by notifier and outcome
	fenced    prometheus.Counter
	sessions  prometheus.Counter
	lag       prometheus.Histogram
	duration  prometheus.Histogram
	executing prometheus.Gauge
	unsent    prometheus.Gauge
}

var (
	_ worker.Observer    = (*metrics)(nil)
	_ scheduler.Observer = (*metrics)(nil)
)

func newMetrics(n *Node) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &metrics{
		registry:  prometheus.NewRegistry(),
		terms:     counter("rota_terms_total", "Terms that this replica has led."),
		claims:    counter("rota_attempts_claimed_total", "Attempts that began here."),
		givenUp:   counter("rota_attempts_given_up_total", "Attempts that the leader ended, since their worker was lost or did not end them."),
		conflicts: counter("rota_claim_conflicts_total", "Runs that somebody else changed before they were claimed here."),
		recalls:   counter("rota_runs_returned_total", "Runs handed back to the leader before they began."),
		fenced:    counter("rota_outcomes_fenced_total", "Outcomes that came after their attempt had been given up, and changed nothing."),
		sessions:  counter("rota_worker_sessions_lost_total", "Times that the worker lost its presence."),
		executing: gauge("rota_attempts_executing", "Attempts that execute here now."),
		unsent:    gauge("rota_outcomes_unsent", "Outcomes in the journal that the store has not acknowledged."),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rota_decisions_total", Help: "Decisions of the leader, by what became of them."}, []string{"result"}),
		attempts: newAttemptCounts(),
		notified: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rota_notifications_total", Help: "Notices of this leader, by notifier and what became of them."}, []string{"notifier", "outcome"}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "rota_schedule_lag_seconds", Help: "From when a run was due to when its attempt began here.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "rota_attempt_duration_seconds", Help: "How long attempts took.",
			Buckets: []float64{.001, .01, .1, 1, 10, 60, 600, 3600, 6 * 3600}}),
	}
	m.registry.MustRegister(m.terms, m.claims, m.givenUp, m.conflicts, m.recalls, m.fenced, m.sessions, m.executing, m.unsent,
		m.decisions, m.attempts, m.notified, m.lag, m.duration, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(nodeMetrics(n)...)
	return m
}

// nodeMetrics are read from the node when they are asked for.
func nodeMetrics(n *Node) []prometheus.Collector {
	counts := func() store.Counts {
		if !n.backend.ready.Load() {
			return store.Counts{}
		}
		return n.store.Counts()
	}
	status := func() scheduler.Status {
		if n.cfg.Role == WorkerOnly || !n.backend.ready.Load() {
			return scheduler.Status{}
		}
		return n.scheduler.Status()
	}
	counter := func(name, help string, f func(store.Counts) int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(f(counts())) })
	}
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "rota_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": n.cfg.Version.Version, "goversion": n.cfg.Version.Go},
	})
	build.Set(1)
	return []prometheus.Collector{
		build,
		gauge("rota_leader", "1 while this replica dispatches.", func() float64 {
			if status().Term != 0 {
				return 1
			}
			return 0
		}),
		gauge("rota_term", "The term that this replica leads, 0 if it does not: a store revision.", func() float64 { return float64(status().Term) }),
		gauge("rota_dispatch_behind_seconds", "How long the oldest thing that the leader has to decide has been waiting.", func() float64 {
			return status().Behind(n.now()).Seconds()
		}),
		gauge("rota_worker_capacity", "Attempts that all workers together may execute at a time; the leader's, 0 elsewhere.", func() float64 {
			return float64(status().Load.Capacity)
		}),
		gauge("rota_runs_held", "Runs that are with workers and whose time has come; the leader's, 0 elsewhere.", func() float64 {
			return float64(status().Load.Held)
		}),
		gauge("rota_runs_waiting", "Runs whose time has come and for which no worker has room; the leader's, 0 elsewhere.", func() float64 {
			return float64(status().Load.Waiting)
		}),
		breakers{status},
		gauge("rota_store_size_bytes", "What etcd's largest member holds, 0 if it is not known.", func() float64 {
			size, _, _ := n.space.fill()
			return float64(size)
		}),
		gauge("rota_store_quota_bytes", "What it may hold.", func() float64 {
			_, quota, _ := n.space.fill()
			return float64(quota)
		}),
		gauge("rota_store_full", "1 while etcd is out of space and takes nothing new.", func() float64 {
			if _, _, full := n.space.fill(); full {
				return 1
			}
			return 0
		}),
		gauge("rota_store_restored", "1 while this process waits for a restored store to be accepted.", func() float64 {
			if n.backend.restored.Load() != nil {
				return 1
			}
			return 0
		}),
		counter("rota_store_transactions_total", "Requests sent to etcd for writing, repeats included.", func(c store.Counts) int64 { return c.Transactions }),
		counter("rota_store_writes_total", "Changes that took effect.", func(c store.Counts) int64 { return c.Writes }),
		counter("rota_store_puts_total", "Keys that those changes put or deleted.", func(c store.Counts) int64 { return c.Puts }),
		counter("rota_store_written_bytes_total", "Bytes of those keys and their values.", func(c store.Counts) int64 { return c.Bytes }),
		counter("rota_store_conflicts_total", "Changes refused since a record had changed.", func(c store.Counts) int64 { return c.Conflicts }),
		counter("rota_store_fenced_writes_total", "Changes refused since the term was over.", func(c store.Counts) int64 { return c.Fenced }),
		counter("rota_store_relists_total", "Times that a watch had to be built anew.", func(c store.Counts) int64 { return c.Relists }),
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Decided counts a decision.
func (m *metrics) Decided(d job.Decision, a job.Applied, _ time.Time) {
	result := "committed"
	switch {
	case a.Err == job.ErrConflict:
		result = "conflict"
	case a.Err != nil:
		result = "failed"
	case d.Run != nil && d.Run.State == job.Skipped, d.Event != nil:
		result = "skipped"
	}
	m.decisions.WithLabelValues(result).Inc()
	if d.GaveUp && a.Err == nil {
		m.givenUp.Inc()
	}
}

func (m *metrics) Began(_ *job.Run, late time.Duration) {
	m.claims.Inc()
	m.lag.Observe(math.Max(0, late.Seconds()))
}

func (m *metrics) Ended(r *job.Run, o *job.Outcome, took time.Duration) {
	m.attempts.add(r.Job, o.State)
	m.duration.Observe(took.Seconds())
}

func (m *metrics) Load(executing, unsent int) {
	m.executing.Set(float64(executing))
	m.unsent.Set(float64(unsent))
}

// Notified counts notices.
func (m *metrics) Notified(notifier, outcome string, n int) {
	m.notified.WithLabelValues(notifier, outcome).Add(float64(n))
}

func (m *metrics) Conflicted(*job.Run)           { m.conflicts.Inc() }
func (m *metrics) Recalled(*job.Run, string)     { m.recalls.Inc() }
func (m *metrics) Fenced(*job.Run, *job.Outcome) { m.fenced.Inc() }
func (m *metrics) SessionEnded()                 { m.sessions.Inc() }
