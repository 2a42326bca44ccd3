package metrics

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// idle returns the metrics of a process that has not been started.
func idle() *Metrics { return New(sources()) }

// sources returns the sources of a process that has not been started.
func sources() Sources {
	return Sources{
		Now:      time.Now,
		Store:    func() (c store.Counts) { return c },
		Status:   func() (st scheduler.Status) { return st },
		Space:    func() (size, quota int64, full bool) { return 0, 0, false },
		Ready:    func() bool { return false },
		Restored: func() bool { return false },
		AuthFile: func() bool { return false },
		OpenID:   func() bool { return false },
		Tokens:   func() []auth.Token { return nil },
	}
}

// metricNames returns the names of all metrics. It includes metrics with labels, which have no value yet.
func metricNames(t *testing.T) (names []string) {
	t.Helper()
	m := idle()
	m.Ended(&job.Run{Job: "x"}, &job.Outcome{State: job.Succeeded}, time.Second)
	m.Decided(job.Decision{}, job.Applied{}, time.Time{}, time.Time{})
	m.Notified("x", "sent", 1)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		names = append(names, f.GetName())
	}
	return names
}

func TestMetricNames(t *testing.T) {
	for _, name := range metricNames(t) {
		if !strings.HasPrefix(name, "rota_") && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			t.Errorf("%s does not begin with rota_", name)
		}
	}
}

func TestLagHasTheTraceOfARun(t *testing.T) {
	scrape := func(m *Metrics) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", "application/openmetrics-text")
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, r)
		return w.Body.String()
	}
	traced := sources()
	traced.Trace = func(r *job.Run) string { return r.ID } // "": the sampler leaves it out
	m := New(traced)
	m.Began(&job.Run{ID: "4bf92f3577b34da6"}, 3*time.Millisecond)
	m.Began(&job.Run{}, time.Minute)
	got := scrape(m)
	if !strings.Contains(got, `rota_schedule_lag_seconds_bucket{le="0.005"} 1 # {trace_id="4bf92f3577b34da6"} 0.003`) {
		t.Errorf("the exemplar is missing:\n%s", got)
	}
	if n := strings.Count(got, "trace_id"); n != 1 || !strings.Contains(got, "rota_schedule_lag_seconds_count 2") {
		t.Errorf("%d exemplars, want 1 of 2 observations", n)
	}
	without := idle()
	without.Began(&job.Run{ID: "x"}, time.Millisecond)
	if got := scrape(without); strings.Contains(got, "trace_id") {
		t.Error("an exemplar without traces")
	}
}

func TestReadinessIsAMetric(t *testing.T) {
	from := sources()
	ready := false
	from.Ready = func() bool { return ready }
	m := New(from)
	for _, want := range []string{"rota_ready 0\n", "rota_ready 1\n", "rota_ready 0\n"} {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the metrics do not contain %q", want)
		}
		ready = !ready
	}
}

func TestAttemptsAreCountedByJobAndOutcome(t *testing.T) {
	m := idle()
	for _, end := range []struct {
		job     string
		outcome job.State
	}{{"a", job.Succeeded}, {"a", job.Failed}, {"b", job.Succeeded}, {"a", job.Succeeded}} {
		m.Ended(&job.Run{Job: end.job}, &job.Outcome{State: end.outcome}, time.Second)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]float64)
	for _, f := range families {
		for _, row := range f.GetMetric() {
			if f.GetName() == "rota_attempts_total" {
				rows[row.GetLabel()[0].GetValue()+" "+row.GetLabel()[1].GetValue()] = row.GetCounter().GetValue()
			}
		}
	}
	if want := map[string]float64{"a failed": 1, "a succeeded": 2, "b succeeded": 1}; !maps.Equal(rows, want) {
		t.Errorf("the rows are %v, want %v", rows, want)
	}
}

func TestRowsOfDeletedJobsAreDropped(t *testing.T) {
	here := map[string]bool{"a": true, "b": true}
	counts := attemptCounts{newRowCounts(func(name string) bool { return here[name] })}
	for _, name := range []string{"a", "b", job.AdHoc} {
		counts.add(name, string(job.Succeeded), 1)
	}
	delete(here, "b")
	rows := make(chan prometheus.Metric, 10)
	counts.Collect(rows)
	if len(rows) != 2 || len(counts.rows) != 2 {
		t.Errorf("%d rows are sent and %d kept, want those of a and of commands without a job", len(rows), len(counts.rows))
	}
}

// Prometheus computes an increase only from a series that it has seen before.
func TestFailuresOfANotifierBeginAtZero(t *testing.T) {
	m := idle()
	m.Notified("team", "sent", 1)
	for _, outcome := range []string{"repeated", "failed"} {
		if !m.notified.DeleteLabelValues("team", outcome) {
			t.Errorf("there is no series of %s messages before the first one", outcome)
		}
	}
}
