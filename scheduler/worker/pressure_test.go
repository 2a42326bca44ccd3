package worker

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAMachineUnderPressure puts a machine under pressure while an attempt executes. The worker hands back other runs, which is no
// attempt, until the pressure is below half of its limit.
func TestAMachineUnderPressure(t *testing.T) {
	for _, tt := range []struct {
		high, between, low Pressure
		reason             refusal
		text               string
	}{
		{Pressure{Memory: 60}, Pressure{Memory: 30}, Pressure{Memory: 29}, errNoMemory, "memory pressure 60 %, limit 60 %"},
		{Pressure{CPU: 93.6}, Pressure{CPU: 45}, Pressure{CPU: 44}, errNoCPU, "CPU pressure 94 %, limit 90 %"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Minute))
			var now atomic.Value
			now.Store(Pressure{})
			r.cfg.Pressure = func() Pressure { return now.Load().(Pressure) }
			r.cfg.PressureLimits = Pressure{Memory: 60, CPU: 90}
			r.start()
			first, _ := r.one()
			after(time.Second)
			r.wantState(first, job.Running)

			now.Store(tt.high)
			after(pressureEvery)
			if shown := r.sessions.shown(); !shown.Draining || shown.Pressure != tt.text || r.w.Refuses() != nil {
				t.Errorf("shown %+v, want a worker that drains with %q; broken: %v", shown, tt.text, r.w.Refuses())
			}
			second := r.store.pending("backup", "b", time.Now())
			r.give(second) // the leader has not read the new presence yet
			after(time.Second)
			if got := r.wantState(second, job.Pending); got.Reason != string(tt.reason) || len(got.Attempts) != 0 {
				t.Errorf("handed back with %q and %d attempts, want %q and none", got.Reason, len(got.Attempts), tt.reason)
			}
			now.Store(tt.between)
			after(time.Minute)
			r.wantState(first, job.Succeeded)
			if shown := r.sessions.shown(); !shown.Draining || shown.Pressure != tt.text {
				t.Errorf("between the limits: shown %+v, want no change", shown)
			}
			now.Store(tt.low)
			after(pressureEvery)
			if shown := r.sessions.shown(); shown.Draining || shown.Pressure != "" {
				t.Errorf("shown %+v, want a worker that accepts runs", shown)
			}
			r.give(second)
			after(2 * time.Minute)
			r.wantState(second, job.Succeeded)
			r.wantExecutions(2)
		})
	}
}

// TestPressureWithoutALimit reads no pressure.
func TestPressureWithoutALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.cfg.Pressure = func() Pressure { t.Error("the pressure is read"); return Pressure{Memory: 100, CPU: 100} }
		r.start()
		name, _ := r.one()
		after(time.Minute)
		r.wantState(name, job.Succeeded)
	})
}

// TestPressureThatChangesItsResource starts with the one resource and ends with the other.
func TestPressureThatChangesItsResource(t *testing.T) {
	limits := Pressure{Memory: 60, CPU: 90}
	for _, tt := range []struct {
		before string
		p      Pressure
		want   string
	}{
		{"", Pressure{Memory: 59.9, CPU: 89.9}, ""},
		{cpu, Pressure{Memory: 60, CPU: 90}, memory},
		{memory, Pressure{Memory: 29, CPU: 89}, ""},
		{memory, Pressure{Memory: 29, CPU: 90}, cpu},
		{cpu, Pressure{Memory: 40, CPU: 45}, cpu},
	} {
		if got := exceeded(limits, tt.p, tt.before); got != tt.want {
			t.Errorf("%+v after %q: got %q, want %q", tt.p, tt.before, got, tt.want)
		}
	}
}
