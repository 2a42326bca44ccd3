package job_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func delayedRun() job.Run {
	at := time.Date(2026, 11, 26, 12, 0, 0, 123, time.UTC)
	return job.Run{
		Job: "invoice", ID: "01m8az224798jpj2", Kind: job.KindDelayed, Slot: at, Due: at.Add(8 * time.Hour), State: job.Pending,
		Reason: job.ReasonNotYet, Key: "order-1", By: "shop", Created: at, Generation: 3, Op: "0123456789abcdef-1", Rev: 1 << 40,
	}
}

// TestDelayedLosesNothing sets each field of a run to values of its type. A field that is added to Run and forgotten in Delayed
// makes it fail.
func TestDelayedLosesNothing(t *testing.T) {
	check := func(claim string, r job.Run) {
		t.Helper()
		d := r.Delay()
		if d == nil {
			return
		}
		var read job.Run
		read.Output = "of the run before"
		d.Read(&read)
		for _, got := range []*job.Run{d.Run(), &read} {
			if diff := cmp.Diff(&r, got); diff != "" || !reflect.DeepEqual(&r, got) {
				t.Errorf("%s: the run has changed (-want +got):\n%s", claim, diff)
			}
		}
		if d.ID() != r.ID || d.Rev() != r.Rev || !d.Due().Equal(r.Due) {
			t.Errorf("%s: got id %s, revision %d, due %v; want those of the run: %s, %d, %v", claim, d.ID(), d.Rev(), d.Due(), r.ID, r.Rev, r.Due)
		}
	}
	plain := delayedRun()
	if plain.Delay() == nil {
		t.Fatal("a delayed run that waits for its time has no Delayed")
	}
	check("a usual run", plain)
	zone := time.FixedZone("CET", 3600)
	values := []any{
		"x", "\x00\xff", string(make([]byte, 300)), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), 7, true, new(3),
		time.Time{}, time.Unix(0, 0).UTC(), plain.Slot.In(zone), plain.Slot.AddDate(500, 0, 0), plain.Slot.Add(-time.Hour),
		job.Duration(time.Second), json.RawMessage(`{"a":1}`), json.RawMessage{}, []string{"a"}, []string{}, map[string]string{"a": "b"},
		[]job.Attempt{{Number: 1}}, []job.Parent{{Job: "p"}}, &job.Approval{}, &job.Cancel{}, &job.Spec{Shell: "true"},
		job.KindManual, job.Skipped,
	}
	fields := reflect.TypeFor[job.Run]()
	for i := range fields.NumField() {
		set := 0
		for _, v := range values {
			r := delayedRun()
			to, from := reflect.ValueOf(&r).Elem().Field(i), reflect.ValueOf(v)
			if !from.Type().AssignableTo(to.Type()) {
				continue
			}
			set++
			to.Set(from)
			check(fields.Field(i).Name+" set", r)
		}
		if set == 0 {
			t.Errorf("the test has no value for the field %s", fields.Field(i).Name)
		}
	}
}

func TestOnlyRunsThatWaitForTheirTimeAreDelayed(t *testing.T) {
	for claim, change := range map[string]func(*job.Run){
		"manual":            func(r *job.Run) { r.Kind = job.KindManual },
		"running":           func(r *job.Run) { r.State = job.Running },
		"to be retried":     func(r *job.Run) { r.Attempt = 1 },
		"for one worker":    func(r *job.Run) { r.On = "w" },
		"behind a parent":   func(r *job.Run) { r.After = []job.Parent{{Job: "p"}} },
		"on every worker":   func(r *job.Run) { r.Copies = []string{"w"} },
		"to be approved":    func(r *job.Run) { r.Approval = &job.Approval{} },
		"to be canceled":    func(r *job.Run) { r.Cancel = &job.Cancel{} },
		"skipped":           func(r *job.Run) { r.State = job.Skipped },
		"armed at a worker": func(r *job.Run) { r.State = job.Armed },
	} {
		r := delayedRun()
		change(&r)
		if r.Delay() != nil {
			t.Errorf("a run that is %s counts as one that waits for its time", claim)
		}
	}
}

func TestValueOfReadsADelayedRun(t *testing.T) {
	r := delayedRun()
	c := job.Change{Kind: job.RecordRun, Name: r.Name(), Value: r.Delay()}
	if got := job.ValueOf[job.Run](c); got == nil || !reflect.DeepEqual(*got, r) {
		t.Errorf("got %+v, want %+v", got, r)
	}
	if got := job.ValueOf[job.Job](c); got != nil {
		t.Errorf("a delayed run counts as the job %+v", got)
	}
}
