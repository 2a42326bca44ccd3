package worker

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestAttemptsThatOutliveTheirSession(t *testing.T) {
	for _, c := range []struct {
		name     string
		overlap  job.Overlap
		limits   []string
		followed bool
		kind     job.RunKind
		want     job.State
	}{
		{"lets an at_most_once attempt go on if its job may overlap", job.OverlapAllow, nil, false, job.KindManual, job.Succeeded},
		{"kills an at_most_once attempt if its job may not overlap", job.OverlapSkip, nil, false, job.KindManual, job.Lost},
		{"kills an at_most_once attempt if it holds a limit", job.OverlapAllow, []string{"database"}, false, job.KindManual, job.Lost},
		{"kills an at_most_once attempt if steps wait for its end", job.OverlapAllow, nil, true, job.KindManual, job.Lost},
		{"kills an at_most_once attempt if a backfill waits for its end", job.OverlapAllow, nil, false, job.KindBackfill, job.Lost},
	} {
		bubble(t, c.name, func(t *testing.T) {
			r := newRig(t, lasting(time.Minute))
			r.store.define("backup", job.Spec{Command: []string{"x"}, Delivery: job.AtMostOnce, Overlap: c.overlap})
			r.start()
			name := r.store.pending("backup", "a", time.Now())
			r.store.change(name, "", func(run job.Run) (job.Run, error) {
				run.Limits, run.Followed, run.Kind = c.limits, c.followed, c.kind
				return run, nil
			})
			r.give(name)
			after(time.Second)
			close(r.session().done)
			after(2 * time.Second)
			if kept := slices.Contains(r.sessions.shown().Keeps, name); kept != (c.want == job.Succeeded) {
				t.Errorf("the presence of session %s says %v of whether the attempt goes on", r.session().id, kept)
			}
			after(2 * time.Minute)
			r.wantState(name, c.want)
		})
	}

	t.Run("names an attempt that ended, until its outcome is delivered", func(t *testing.T) {
		for _, lost := range []time.Duration{time.Second, 3 * time.Second} { // before and after its end
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lasting(2*time.Second))
				r.store.define("backup", job.Spec{Command: []string{"x"}, Delivery: job.AtMostOnce, Overlap: job.OverlapAllow})
				r.start()
				name, _ := r.one()
				after(time.Second)
				r.store.answer(refused)
				after(lost - time.Second)
				close(r.session().done)
				after(2*settleTimeout + 5*time.Second)
				if got := r.sessions.shown().Keeps; r.session().id != "s2" || !slices.Contains(got, name) {
					t.Errorf("session %s keeps %q, want %s", r.session().id, got, name)
				}
				r.store.answer(none)
				after(5 * time.Second)
				r.wantState(name, job.Succeeded)
				close(r.session().done)
				after(5 * time.Second)
				if got := r.sessions.shown().Keeps; r.session().id != "s3" || len(got) > 0 {
					t.Errorf("session %s keeps %q, want nothing", r.session().id, got)
				}
			})
		}
	})
}
