package metrics

import (
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify/send"
	"github.com/rota-scheduler/rota/scheduler/worker"
)

// Metrics counts the events in a process. The worker, the scheduler and the notifiers call its methods as their observer.
type Metrics struct {
	registry  *prometheus.Registry
	terms     prometheus.Counter
	decisions *prometheus.CounterVec // by kind of decision
	claims    prometheus.Counter
	givenUp   prometheus.Counter
	conflicts prometheus.Counter
	recalls   prometheus.Counter
	attempts  attemptCounts
	skipped   *rowCounts             // nil: not counted
	notified  *prometheus.CounterVec // by notifier and outcome
	fenced    prometheus.Counter
	sessions  prometheus.Counter
	lag       prometheus.Histogram
	duration  prometheus.Histogram
	executing prometheus.Gauge
	unsent    prometheus.Gauge
	refused   *prometheus.CounterVec // by bound
	rejected  *prometheus.CounterVec // by reason
	delivered *prometheus.CounterVec // by result
	uploading prometheus.Gauge
	uploadErr prometheus.Gauge
	pressure  pressure
	ready     prometheus.Gauge
	isReady   func() bool           // as Sources.Ready
	trace     func(*job.Run) string // as in Sources
}

var (
	_ worker.Observer    = (*Metrics)(nil)
	_ scheduler.Observer = (*Metrics)(nil)
	_ send.Observer      = (*Metrics)(nil)
)

// New returns the metrics of a process.
func New(from Sources) *Metrics {
	registry := prometheus.NewRegistry()
	to := promauto.With(registry) // its constructors register what they make
	counter := func(name, help string) prometheus.Counter {
		return to.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return to.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &Metrics{
		trace:    from.Trace,
		isReady:  from.Ready,
		ready:    gauge("rota_ready", "1 while this process is ready, as /readyz says."),
		registry: registry,
		terms:    counter("rota_terms_total", "Terms that this replica has led."),
		claims:   counter("rota_attempts_claimed_total", "Attempts that began here."),
		givenUp: counter("rota_attempts_given_up_total",
			"Attempts that the leader ended, since their worker was lost or did not end them."),
		conflicts: counter("rota_claim_conflicts_total", "Runs that somebody else changed before they were claimed here."),
		recalls:   counter("rota_runs_returned_total", "Runs handed back to the leader before they began."),
		fenced: counter("rota_outcomes_fenced_total",
			"Outcomes that came after their attempt had been given up, and changed nothing."),
		sessions:  counter("rota_worker_sessions_lost_total", "Times that the worker lost its presence."),
		executing: gauge("rota_attempts_executing", "Attempts that execute here now."),
		uploading: gauge("rota_output_waiting", "Outputs of attempts that wait for their upload to output.store."),
		uploadErr: gauge("rota_output_store_failing", "1 while output cannot be uploaded to output.store."),
		unsent:    gauge("rota_outcomes_unsent", "Outcomes in the journal that the store has not acknowledged."),
		decisions: to.NewCounterVec(prometheus.CounterOpts{
			Name: "rota_decisions_total", Help: "Decisions of the leader, by result."}, []string{"result"}),
		refused: to.NewCounterVec(prometheus.CounterOpts{
			Name: "rota_submissions_refused_total", Help: "Submissions and definitions refused here, by the bound that is reached.",
		}, []string{"bound"}),
		rejected: to.NewCounterVec(prometheus.CounterOpts{
			Name: "rota_requests_refused_total", Help: "Requests that this process refused to their caller, by reason.",
		}, []string{"reason"}),
		delivered: to.NewCounterVec(prometheus.CounterOpts{
			Name: "rota_hook_deliveries_total", Help: "Requests to hooks that this replica answered, by result.",
		}, []string{"result"}),
		pressure: newPressure(to),
		attempts: attemptCounts{newRowCounts(from.Known)},
		notified: to.NewCounterVec(prometheus.CounterOpts{
			Name: "rota_notifications_total", Help: "Notifications of this leader, by notifier and outcome.",
		}, []string{"notifier", "outcome"}),
		lag: to.NewHistogram(prometheus.HistogramOpts{
			Name: "rota_schedule_lag_seconds", Help: "From when a run was due to when its attempt began here.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}}),
		duration: to.NewHistogram(prometheus.HistogramOpts{
			Name: "rota_attempt_duration_seconds", Help: "How long attempts took.",
			Buckets: []float64{.001, .01, .1, 1, 10, 60, 600, 3600, 6 * 3600}}),
	}
	registry.MustRegister(m.attempts, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(gauges(from)...)
	if from.Jobs != nil {
		m.skipped = newRowCounts(from.Known)
		registry.MustRegister(jobs{from.Jobs, m.skipped})
	}
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	all := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: m.trace != nil}) // exemplars need OpenMetrics
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.ready.Set(oneIf(m.isReady())) // it may take a second, and the other metrics are to be of one moment
		all.ServeHTTP(w, r)
	})
}

// Decided counts a decision.
func (m *Metrics) Decided(d job.Decision, a job.Applied, _, _ time.Time) {
	result := "committed"
	switch {
	case errors.Is(a.Err, job.ErrConflict):
		result = "conflict"
	case a.Err != nil:
		result = "failed"
	case d.Run != nil && d.Run.State == job.Skipped, d.Event != nil:
		result = "skipped"
	}
	m.decisions.WithLabelValues(result).Inc()
	if a.Err == nil && m.skipped != nil {
		m.countSkipped(d)
	}
	if d.GaveUp && a.Err == nil {
		m.givenUp.Inc()
	}
}

// Began counts an attempt that began on this worker. late is the time between the due time of the run and the start.
func (m *Metrics) Began(run *job.Run, late time.Duration) {
	m.claims.Inc()
	lag := math.Max(0, late.Seconds())
	if m.trace != nil {
		if id := m.trace(run); id != "" {
			m.lag.(prometheus.ExemplarObserver).ObserveWithExemplar(lag, prometheus.Labels{"trace_id": id})
			return
		}
	}
	m.lag.Observe(lag)
}

// Ended counts an attempt that ended on this worker.
func (m *Metrics) Ended(r *job.Run, o *job.Outcome, took time.Duration) {
	m.attempts.add(r.Job, string(o.State), 1)
	m.duration.Observe(took.Seconds())
}

// Load sets how many attempts this worker executes, and how many outcomes wait in the journal.
func (m *Metrics) Load(executing, unsent int) {
	m.executing.Set(float64(executing))
	m.unsent.Set(float64(unsent))
}

// Refused counts a request that a bound refused.
func (m *Metrics) Refused(bound string) { m.refused.WithLabelValues(bound).Inc() }

// Rejected counts a request whose caller may not make it, by the reason.
func (m *Metrics) Rejected(reason string) { m.rejected.WithLabelValues(reason).Inc() }

// Delivered counts a request to a hook by its result.
func (m *Metrics) Delivered(result string) { m.delivered.WithLabelValues(result).Inc() }

// TermBegan counts a term of this replica.
func (m *Metrics) TermBegan() { m.terms.Inc() }

// Conflicted counts a run that another process changed before this worker could claim it.
func (m *Metrics) Conflicted(*job.Run) { m.conflicts.Inc() }

// Recalled counts a run that this worker returned.
func (m *Metrics) Recalled(*job.Run, string) { m.recalls.Inc() }

// Fenced counts an outcome that the store refused.
func (m *Metrics) Fenced(*job.Run, *job.Outcome) { m.fenced.Inc() }

// SessionEnded counts a lost session of the worker.
func (m *Metrics) SessionEnded() { m.sessions.Inc() }

// Notified counts n notices to a notifier with the same outcome. The series of its failures begin at 0, because Prometheus computes
// no increase for a series that begins at 1.
func (m *Metrics) Notified(notifier, outcome string, n int) {
	for _, failure := range []string{send.Repeated, send.Failed} {
		m.notified.WithLabelValues(notifier, failure)
	}
	m.notified.WithLabelValues(notifier, outcome).Add(float64(n))
}

// Uploads sets how many outputs wait for their upload, and whether uploads fail.
func (m *Metrics) Uploads(waiting int, failing bool) {
	m.uploading.Set(float64(waiting))
	m.uploadErr.Set(oneIf(failing))
}
