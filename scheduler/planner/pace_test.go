package planner_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// The answer to a decision is lost. The armed attempt still counts for its rate, even if it has ended before the store refuses the
// repeated decision.
func TestAttemptThatEndedBeforeItsAnswerCounts(t *testing.T) {
	sparse := job.Rate{Count: 10, Per: time.Minute}
	for what, spec := range map[string]job.Spec{
		"its job's rate":         {Rate: sparse},
		"a limit's rate":         {Limits: []string{"api"}},
		"no rate at all":         {},
		"a limit without a rate": {Limits: []string{"db"}},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			for name, l := range map[string]job.LimitSpec{"api": {Rate: sparse}, "db": {Concurrent: 1}} {
				r.store.put(job.Change{Kind: job.RecordLimit, Name: name, Value: &job.Limit{Name: name, Generation: 1, Spec: l}})
			}
			spec.Every = job.Duration(2 * time.Second)
			r.define("j", spec)
			r.worker("w", 10)
			r.lead()
			r.now = r.now.Add(2 * time.Second)
			d := r.plan()
			r.commit(d) // the answer is lost
			r.feed()
			run := *r.store.run(d.Run.Name())
			for _, step := range []func(job.Run) (job.Run, error){
				func(run job.Run) (job.Run, error) { return run.Claim(run.Rev, r.now) },
				func(run job.Run) (job.Run, error) {
					return run.Finish(job.Outcome{State: job.Succeeded, At: r.now.Add(time.Millisecond)})
				},
			} {
				next, err := step(run)
				if err == nil {
					run, err = r.store.writeRun(next)
				}
				if err != nil {
					t.Fatal(err)
				}
				r.feed()
			}
			r.now = r.now.Add(time.Second)
			r.Resolve(d, r.commit(d), r.now) // the repetition is refused
			r.feed()
			r.now = r.now.Add(time.Second)
			want := job.Armed
			if spec.Rate == sparse || len(spec.Limits) > 0 && spec.Limits[0] == "api" {
				want = job.Pending
			}
			if d := r.plan(); d.Run == nil || d.Run.State != want {
				t.Errorf("2 s after the last attempt: got %+v, want %s", d.Run, want)
			}
		})
	}
}
