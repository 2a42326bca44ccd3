package planner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rota-scheduler/rota/scheduler/job"
)

var epoch = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// TestKeptRunsDoNotSlowSubmissions measures one submission to a job that keeps few runs, and to one that keeps many, because of
// their idempotency keys.
func TestKeptRunsDoNotSlowSubmissions(t *testing.T) {
	few, many := lifeOfARun(100), lifeOfARun(100_000)
	if many > 20*few+time.Millisecond {
		t.Errorf("one more run takes %v with 100 kept runs, and %v with 100,000", few, many)
	}
}

// lifeOfARun returns the shortest time that a leader spends on one submission, while its job keeps n runs because of their
// idempotency keys.
func lifeOfARun(n int) (least time.Duration) {
	p, rev, now := New(Config{Retention: Retention{Success: 100, Failed: 1000, MaxAge: 7 * 24 * time.Hour}}), int64(0), epoch
	apply := func(r job.Run) {
		rev++
		r.Rev = rev
		p.Apply(job.Change{Kind: job.RecordRun, Name: r.Name(), Rev: rev, Value: &r}, now)
	}
	submission := func(i int) job.Run {
		return job.Run{
			Job: job.AdHoc, ID: fmt.Sprintf("key-%d", i), Key: fmt.Sprint(i), Kind: job.KindManual, Slot: now, Due: now,
			State: job.Pending, Created: now, Spec: &job.Spec{Shell: "true"},
		}
	}
	for i := range n {
		r := submission(i)
		r.State, r.Finished = job.Succeeded, now
		apply(r)
		now = now.Add(time.Second / 2)
	}
	rev++
	p.Apply(job.Change{Kind: job.RecordWorker, Name: "q1", Rev: rev, Value: &job.Worker{Name: "q1", Session: "s", Capacity: 9, Rev: rev}}, now)
	p.Lead(now)
	p.Plan(now, 9)
	for i := range 20 {
		began := time.Now()
		apply(submission(n + i))
		for ds := p.Plan(now, 9); len(ds) > 0; ds = p.Plan(now, 9) {
			for _, d := range ds {
				rev++
				p.Resolve(d, job.Applied{Rev: rev}, now)
			}
		}
		r := *p.jobs[job.AdHoc].live.order[0].Run
		r, _ = r.Claim(r.Rev, now)
		apply(r)
		r, _ = r.Finish(job.Outcome{State: job.Succeeded, At: now})
		apply(r)
		p.Plan(now, 9)
		if took := time.Since(began); i == 0 || took < least {
			least = took
		}
	}
	return least
}

// TestPruningSkipsKeptRuns removes one success, while more and more failures are kept.
func TestPruningSkipsKeptRuns(t *testing.T) {
	few, many := removal(t, 100), removal(t, 100_000)
	if many > 20*few+time.Millisecond {
		t.Errorf("the success is found in %v with 100 failures, and in %v with 100,000", few, many)
	}
}

// removal measures how long it takes to find the only run that is beyond its bound, a success, among n failures. It returns the
// shortest of 20 measurements.
func removal(t *testing.T, n int) (least time.Duration) {
	var h history
	keep := Retention{Success: 100, Failed: n, MaxAge: 7 * 24 * time.Hour}
	for i := range n + keep.Success + 1 {
		r := job.Run{ID: fmt.Sprint(i), Kind: job.KindScheduled, State: job.Failed, Finished: epoch.Add(time.Duration(i) * time.Second)}
		if i >= n {
			r.State = job.Succeeded
		}
		h.add(&r)
	}
	for i := range 20 {
		began := time.Now()
		drops := h.beyond(keep, 0, epoch.Add(2*24*time.Hour))
		if took := time.Since(began); i == 0 || took < least {
			least = took
		}
		if len(drops) != 1 || drops[0].ID != fmt.Sprint(n) {
			t.Fatalf("%d runs are beyond the bounds, want only the first success", len(drops))
		}
	}
	return least
}

// ended generates runs that have ended.
var ended = rapid.Custom(func(t *rapid.T) *job.Run {
	at := epoch.Add(time.Duration(rapid.IntRange(0, 40*60).Draw(t, "ended")) * time.Minute)
	r := job.Run{State: rapid.SampledFrom([]job.State{job.Succeeded, job.Skipped, job.Failed, job.Lost}).Draw(t, "state"), Finished: at}
	if rapid.Bool().Draw(t, "keyed") {
		r.Key = "k"
	}
	r.Kind = rapid.SampledFrom([]job.RunKind{job.KindScheduled, job.KindManual, job.KindDelayed, job.KindRetry}).Draw(t, "kind")
	if rapid.Bool().Draw(t, "attempted") {
		r.Attempts = []job.Attempt{{Number: 1}}
	}
	return &r
})

// TestHistory compares the removed runs with a simple implementation of the rule.
func TestHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h history
		var model []*job.Run
		bounds := rapid.SampledFrom([]int{0, 1, 3, 10})
		keep := Retention{
			Success: bounds.Draw(t, "success"), Failed: bounds.Draw(t, "failed"),
			MaxAge: rapid.SampledFrom([]time.Duration{0, time.Hour, 30 * time.Hour}).Draw(t, "age"),
		}
		now, spare := epoch, rapid.IntRange(0, 5).Draw(t, "spare")
		for i := range rapid.IntRange(0, 150).Draw(t, "steps") {
			if len(model) > 0 && rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				k := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				h.remove(h.get(model[k].ID))
				model = slices.Delete(model, k, k+1)
				continue
			}
			r := ended.Draw(t, "run")
			r.ID, r.Finished = fmt.Sprint(i), r.Finished.Add(time.Duration(i)) // no two runs end at the same time
			h.add(r)
			model = append(model, r)
			now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "pause")) * time.Minute)
			h.endProtection(now)
		}
		if h.len() != len(model) {
			t.Fatalf("the history has %d runs, want %d", h.len(), len(model))
		}
		for _, r := range model {
			if h.get(r.ID) != r {
				t.Fatalf("run %s: got %v", r.ID, h.get(r.ID))
			}
		}
		got, want := h.beyond(keep, spare, now), simpleBeyond(model, keep, spare, now)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *job.Run) bool { return a == b })); diff != "" {
			t.Errorf("removed under %+v at %v (-want +got):\n%s", keep, now, diff)
		}
		at, ok := h.expiry(keep)
		for at := now; len(got) == 0 && len(model) > 0 && at.Before(now.Add(80*time.Hour)); at = at.Add(20 * time.Minute) {
			if due := simpleBeyond(model, keep, spare, at); len(due) == 0 {
				continue
			}
			if first, ok := h.expiry(keep); !ok || first.After(at.Add(time.Millisecond)) {
				t.Fatalf("a run is to be removed at %v, but expiry returns %v (%v)", at, first, ok)
			}
			break
		}
		if ok && len(got) == 0 && at.Before(now) {
			t.Errorf("no run is to be removed at %v, but expiry returns %v", now, at)
		}
	})
}

// simpleBeyond returns the runs that one decision removes: the first of the runs beyond the bounds.
func simpleBeyond(runs []*job.Run, keep Retention, spare int, now time.Time) (drops []*job.Run) {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b *job.Run) int { return a.Ended().Compare(b.Ended()) })
	success, failed := 0, 0
	for _, r := range slices.Backward(runs) {
		if r.Key != "" && now.Sub(r.Ended()) < job.KeyRetention || r.Kind != job.KindScheduled && now.Sub(r.Ended()) < askedRetention {
			continue
		}
		var over bool
		if r.State == job.Succeeded || r.State == job.Skipped {
			success++
			over = keep.Success > 0 && success > keep.Success
		} else {
			failed++
			over = keep.Failed > 0 && failed > keep.Failed
		}
		if len(r.Attempts) > 0 && spare > 0 {
			spare--
			over = false
		}
		if over || keep.MaxAge > 0 && now.Sub(r.Ended()) > keep.MaxAge {
			drops = append(drops, r)
		}
	}
	slices.Reverse(drops)
	return drops[:min(len(drops), job.MaxDeletions)]
}

// TestARepetitionOutlivesWhatItRepeats ends many runs after the repetition of a failed one. A bulk retry asks for repetitions.
func TestARepetitionOutlivesWhatItRepeats(t *testing.T) {
	var h history
	keep := Retention{Success: 2, Failed: 3, MaxAge: 7 * 24 * time.Hour}
	end := func(i int, s job.State, repeats string) {
		h.add(&job.Run{ID: fmt.Sprint(i), Kind: job.KindScheduled, State: s, Finished: epoch.Add(time.Duration(i) * time.Second), RetryOf: repeats})
	}
	end(1, job.Failed, "")
	end(2, job.Succeeded, "j/1")
	for i := 3; i < 9; i++ {
		end(i, job.Succeeded, "")
	}
	left := func() (repeated, repetition bool) {
		for _, r := range h.beyond(keep, 0, epoch.Add(time.Minute)) {
			h.remove(h.get(r.ID))
		}
		return h.get("1") != nil, h.get("2") != nil
	}
	if repeated, repetition := left(); !repeated || !repetition {
		t.Errorf("got %t and %t, want both runs to be kept", repeated, repetition)
	}
	for i := 9; i < 12; i++ {
		end(i, job.Failed, "")
	}
	if repeated, _ := left(); repeated {
		t.Error("the failed run is kept for ever")
	}
}
