package node

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// submitAll submits n runs of a job, and returns their names.
func (r *running) submitAll(t testing.TB, name string, n int) (runs []string) {
	t.Helper()
	for range n {
		runs = append(runs, r.submit(t, name, api.RunRequest{}).Ref)
	}
	return runs
}

// waitsFor waits until a due run has a reason that contains the text reason.
func (r *running) waitsFor(t testing.TB, run, reason string) {
	t.Helper()
	eventually(t, run+" waits for: "+reason, func() bool {
		v, err := r.Run(t.Context(), run)
		return err == nil && v.State == job.Pending && strings.HasPrefix(v.Reason, reason)
	})
}

func TestLimitsRatesAndBreakers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.yaml")
	file := func(concurrent int) string {
		return fmt.Sprintf(`
limits: {one: {concurrent: %d}}
jobs:
  a: {shell: sleep 0.2, limits: [one], overlap: allow}
  b: {shell: sleep 0.2, limits: [one], overlap: allow}
  other: {shell: "true"}
  paced: {shell: "true", rate: 4/s, overlap: allow}
`, concurrent)
	}
	files.Replace(t, path, file(1))
	set := settings(t, "q1")
	set.Jobs = path
	r := start(t, Config{Settings: set, Version: version})
	r.lead(t)
	eventually(t, "the jobs are there", func() bool { return strings.Contains(r.jobs(t), "paced") })

	t.Run("no more runs hold a limit than may, and others are not held up", func(t *testing.T) {
		runs := append(r.submitAll(t, "a", 3), r.submitAll(t, "b", 3)...)
		r.waitsFor(t, runs[5], "limit one is full (1 of 1)")
		other := r.ends(t, r.submit(t, "other", api.RunRequest{}).Ref, job.Succeeded)
		var held []api.RunView
		for _, run := range runs {
			held = append(held, r.ends(t, run, job.Succeeded))
		}
		slices.SortFunc(held, func(a, b api.RunView) int { return a.Started.Compare(b.Started) })
		for i := 1; i < len(held); i++ {
			if held[i].Started.Before(held[i-1].Finished) || held[i].Token <= held[i-1].Token {
				t.Errorf("%s began at %v with token %d; %s before it ended at %v with %d", held[i].Ref, held[i].Started,
					held[i].Token, held[i-1].Ref, held[i-1].Finished, held[i-1].Token)
			}
		}
		if last := held[len(held)-1]; !other.Started.Before(last.Started) {
			t.Errorf("%s began at %v, after all that waited", other.Ref, other.Started)
		}
	})
	t.Run("an edit of the limit counts for those that wait", func(t *testing.T) {
		r.submitAll(t, "a", 6)
		last := r.submit(t, "b", api.RunRequest{}).Ref
		r.waitsFor(t, last, "limit one is full")
		files.Replace(t, path, file(10))
		eventually(t, "the limit is another", func() bool {
			limits, err := r.Limits(t.Context())
			return err == nil && len(limits) == 1 && limits[0].Spec.Concurrent == 10 && limits[0].Origin.Kind == job.OriginFile
		})
		r.ends(t, last, job.Succeeded)
	})
	t.Run("attempts of a job begin no faster than its rate", func(t *testing.T) {
		runs := r.submitAll(t, "paced", 4)
		r.waitsFor(t, runs[3], "rate of job paced: at most 4/s may start")
		var begins []time.Time
		for _, run := range runs {
			v := r.ends(t, run, job.Succeeded)
			begins = append(begins, v.Armed)
		}
		slices.SortFunc(begins, time.Time.Compare)
		for i := 1; i < len(begins); i++ {
			if d := begins[i].Sub(begins[i-1]); d < 250*time.Millisecond {
				t.Errorf("two began within %v", d)
			}
		}
	})
	t.Run("a breaker holds runs back, and lets one try", func(t *testing.T) {
		breaker := &job.Breaker{Window: 2, FailureRatio: 1, OpenFor: job.Duration(time.Second)}
		flag := filepath.Join(dir, "repaired")
		r.put(t, "target", job.Spec{Shell: "test -e " + flag, Breaker: breaker, Overlap: job.OverlapAllow})
		const metric = `rota_breaker_open{job="target"}`
		for _, run := range r.submitAll(t, "target", 2) {
			r.ends(t, run, job.Failed)
		}
		run := r.submit(t, "target", api.RunRequest{}).Ref
		r.waitsFor(t, run, "breaker open until ")
		if got := r.metric(t, metric); got != 1 {
			t.Errorf("%s is %v", metric, got)
		}
		if got := r.metric(t, `rota_job_consecutive_failures{job="target"}`); got != 2 {
			t.Errorf("%v failures in a row, want 2", got)
		}
		files.Replace(t, flag, "")
		r.ends(t, run, job.Succeeded)
		eventually(t, "the mirror has the success", func() bool { return r.metric(t, `rota_job_consecutive_failures{job="target"}`) == 0 })
		if at := r.metric(t, `rota_job_last_success_timestamp_seconds{job="target"}`); at < float64(time.Now().Add(-time.Hour).Unix()) {
			t.Errorf("the latest success was at %v", at)
		}
		eventually(t, "the breaker is closed", func() bool { return r.metric(t, metric) == 0 })
		r.ends(t, r.submit(t, "target", api.RunRequest{}).Ref, job.Succeeded)
	})
	t.Run("limits of the API", func(t *testing.T) {
		named := job.Spec{Shell: "true", Limits: []string{"licence"}}
		if _, _, err := r.PutJob(t.Context(), "licensed", named, api.Precondition{}); status(err) != 422 || !strings.Contains(err.Error(), "licence") {
			t.Errorf("a limit that is not defined: got %v, want 422", err)
		}
		if _, err := r.PutLimit(t.Context(), "licence", job.LimitSpec{Concurrent: 1}, api.Precondition{}); err != nil {
			t.Fatal(err)
		}
		r.put(t, "licensed", named)
		r.ends(t, r.submit(t, "licensed", api.RunRequest{}).Ref, job.Succeeded)
		if err := r.DeleteLimit(t.Context(), "licence", api.Precondition{}); status(err) != 409 {
			t.Errorf("a limit that a job names is deleted: got %v, want 409", err)
		}
		if _, err := r.PutLimit(t.Context(), "one", job.LimitSpec{Concurrent: 1}, api.Precondition{}); status(err) != 409 {
			t.Errorf("a limit of a file is changed: got %v, want 409", err)
		}
		if err := r.DeleteJob(t.Context(), "licensed", api.Precondition{}); err != nil {
			t.Fatal(err)
		}
		if err := r.DeleteLimit(t.Context(), "licence", api.Precondition{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("a limit that its file defines no more is gone", func(t *testing.T) {
		files.Replace(t, path, "jobs:\n  other: {shell: \"true\"}\n")
		eventually(t, "there are no limits", func() bool {
			limits, err := r.Limits(t.Context())
			return err == nil && len(limits) == 0
		})
	})
	r.sound(t)
}
