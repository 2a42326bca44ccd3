package soak

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/history"
)

const (
	submitted = 5  // jobs that run only by submission
	edited    = 10 // jobs that are edited, at the start
)

// failing is the share of failing requests of the jobs named flaky-…, in percent.
const failing = 30

// load returns the jobs, whose schedules end at end.
func load(rng *rand.Rand, sink *cluster.Sink, ledger *cluster.Ledger, end time.Time) map[string]job.Spec {
	jobs := make(map[string]job.Spec)
	add := func(n int, kind string, every time.Duration, spec job.Spec) {
		for i := range n {
			spec := spec
			spec.Every, spec.End = job.Duration(every), &end
			if spec.Shell == "" {
				spec.HTTP = post(sink)
			}
			spec.Timeout = job.Duration(time.Minute)
			jobs[fmt.Sprintf("%s-%03d", kind, i)] = spec
		}
	}
	add(30, "all-skip", time.Second, job.Spec{Missed: job.MissedAll})
	add(15, "latest-skip", time.Second, job.Spec{Missed: job.MissedLatest})
	add(10, "none-skip", time.Second, job.Spec{Missed: job.MissedNone})
	add(20, "all-allow", time.Second, job.Spec{Missed: job.MissedAll, Overlap: job.OverlapAllow})
	add(10, "latest-allow", time.Second, job.Spec{Missed: job.MissedLatest, Overlap: job.OverlapAllow})
	add(20, "all-queue", 2*time.Second, job.Spec{Missed: job.MissedAll, Overlap: job.OverlapQueue})
	add(20, "once", 2*time.Second, job.Spec{Missed: job.MissedAll, Delivery: job.AtMostOnce})
	add(20, "flaky", 2*time.Second, job.Spec{
		Missed: job.MissedAll, Retry: &job.Retry{Max: 8, Backoff: job.BackoffConstant, Min: job.Duration(200 * time.Millisecond)},
	})
	add(70, "five", 5*time.Second, job.Spec{Missed: job.MissedAll})
	add(75, "ten", 10*time.Second, job.Spec{Missed: job.MissedLatest})
	add(10, "limit", 5*time.Second, job.Spec{Missed: job.MissedAll, Limits: []string{scarce}})
	for i, overlap := range []job.Overlap{job.OverlapSkip, job.OverlapAllow, job.OverlapQueue} {
		for k := range 5 {
			sleep := fmt.Sprintf("sleep %.1f", 0.1+7.9*rng.Float64())
			delivery := job.AtLeastOnce
			if k%2 == 1 {
				delivery = job.AtMostOnce
			}
			add(1, fmt.Sprintf("shell-%d%d", i, k), 10*time.Second, job.Spec{
				Missed: job.MissedAll, Overlap: overlap, Delivery: delivery, Shell: ledger.Shell(sleep), KillGrace: job.Duration(time.Second),
			})
		}
	}
	for i := range submitted {
		jobs[fmt.Sprintf("submit-%d", i)] = job.Spec{HTTP: post(sink), Overlap: job.OverlapAllow, Timeout: job.Duration(time.Minute)}
	}
	for i := range edited {
		jobs[fmt.Sprintf("edit-%03d", i)] = editable(sink, time.Second, end)
	}
	return jobs
}

// scarce is the limit of the jobs named limit-…: their slots come at the same time, and three runs may hold it.
const scarce = "scarce"

var limits = map[string]job.LimitSpec{scarce: {Concurrent: 3, Rate: job.Rate{Count: 20, Per: time.Second}}}

func editable(sink *cluster.Sink, every time.Duration, end time.Time) job.Spec {
	return job.Spec{
		Every: job.Duration(every), End: &end, Missed: job.MissedLatest, HTTP: post(sink), Timeout: job.Duration(time.Minute),
	}
}

func post(sink *cluster.Sink) *job.HTTP {
	return &job.HTTP{URL: sink.URL(), Method: "POST", Body: "{{ .Slot }}"}
}

// answer returns a function that chooses the answer of the sink. The same seed gives the same answers. Some requests of the
// jobs flaky-… fail, and some requests take long.
func answer(seed uint64) func(history.Effect) (time.Duration, int) {
	return func(e history.Effect) (time.Duration, int) {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %s %d", seed, e.Run, e.Attempt)
		n := h.Sum64()
		delay := time.Duration(n%50) * time.Millisecond
		if n%16 == 0 {
			delay = 600 * time.Millisecond
		}
		if len(e.Job) > 5 && e.Job[:5] == "flaky" && n/64%100 < failing {
			return delay, http.StatusServiceUnavailable
		}
		return delay, http.StatusNoContent
	}
}
