package job_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestSpan checks the begins and ends of attempts, also of workers whose clocks are wrong.
func TestSpan(t *testing.T) {
	due := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	const took, again = 12 * time.Second, time.Minute
	for _, skew := range []time.Duration{0, 45 * time.Second, -45 * time.Second, 24 * time.Hour, -24 * time.Hour} {
		t.Run("a clock that is ahead by "+skew.String(), func(t *testing.T) {
			r := job.Run{Job: "j", ID: "x", Slot: due, Due: due, Created: due.Add(-time.Second), State: job.Pending}
			at := func(began time.Time) job.Outcome { return job.Outcome{State: job.Failed, At: began.Add(took + skew)} }
			next := func(do func(r job.Run) (job.Run, error)) {
				t.Helper()
				changed, err := do(r)
				if err != nil {
					t.Fatal(err)
				}
				r = changed
			}
			want := func(i int, began time.Time) {
				t.Helper()
				if b, e := r.Span(i); !b.Equal(began) || !e.Equal(began.Add(took)) {
					t.Errorf("attempt %d of the %s run: got %v to %v, want %v and %v later", i+1, r.State, b, e, began, took)
				}
			}
			for i, began := range []time.Time{due, due.Add(again)} {
				next(func(r job.Run) (job.Run, error) { return r.Assign(&job.Worker{Name: "w", Session: "s"}) })
				r.Armed = began.Add(-time.Second)
				next(func(r job.Run) (job.Run, error) { return r.Claim(int64(i+1), began.Add(skew)) })
				if got := r.Began(); !got.Equal(began) {
					t.Errorf("attempt %d: got %v, want %v", i+1, got, began)
				}
				if i == 0 {
					next(func(r job.Run) (job.Run, error) { return r.Requeue(at(began), due.Add(again), "retry") })
				}
			}
			next(func(r job.Run) (job.Run, error) { return r.Finish(at(due.Add(again))) })
			want(1, due.Add(again))
			if got := r.Ended(); !got.Equal(due.Add(again + took)) {
				t.Errorf("the run: got %v", got)
			}
			if skew == 0 {
				want(0, due) // for an earlier attempt, the only later time of a leader is when the next one was armed
			} else if b, e := r.Span(0); b.Before(r.Created) || b.After(r.Armed) || e.Sub(b) != took {
				t.Errorf("attempt 1 of the ended run: got %v to %v", b, e)
			}
		})
	}
}

// A run may be armed long before its slot. Its attempt began after its slot, also if the run now waits for a retry.
func TestSpanOfARunArmedAhead(t *testing.T) {
	slot := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := job.Run{
		Job: "j", ID: "x", Slot: slot, Due: slot.Add(time.Minute), State: job.Pending, Armed: slot.Add(-30 * time.Second), Attempt: 1,
		Attempts: []job.Attempt{{Number: 1, Started: slot, Finished: slot.Add(3 * time.Second), State: job.Failed}},
	}
	if began, ended := r.Span(0); !began.Equal(slot) || !ended.Equal(slot.Add(3*time.Second)) {
		t.Errorf("got %v to %v, want the slot, %v, and three seconds", began, ended, slot)
	}
}
