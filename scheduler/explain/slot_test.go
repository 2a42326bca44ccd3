package explain_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/explain"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

func TestExplainNamesJitter(t *testing.T) {
	f := backup(func(j *job.Job) { j.Spec.Jitter = job.Duration(10 * time.Minute) })
	f.Now = at("02:00:00")
	got := explain.Explain(f, at("02:30:00"))
	if want := "The job's jitter adds " + f.When.Offset().String() + "."; len(got.Text) != 2 || got.Text[1] != want {
		t.Errorf("got %q, want the second line %q", got.Text, want)
	}
}

func TestPauseBetweenSlotAndItsJitteredTime(t *testing.T) {
	f := backup(func(j *job.Job) { j.Spec.Jitter = job.Duration(4 * time.Hour) })
	slot := at("02:30:00")
	due := slot.Add(f.When.Offset())
	paused := func(from, until time.Time) explain.Answer {
		g := f
		g.Now = until
		g.Gate, _ = g.Gate.SetPause(&job.Pause{At: from}, from)
		g.Gate, _ = g.Gate.SetPause(nil, until)
		return explain.Explain(g, slot)
	}
	if got := paused(slot.Add(time.Minute), slot.Add(2*time.Minute)); got.Verdict != "upcoming" {
		t.Errorf("a pause that ended before the slot was due: got %+v", got)
	}
	until := due.Add(time.Minute).Truncate(time.Second)
	want := "Not scheduled: all jobs were paused until " + until.Format(time.RFC3339) + "."
	if got := paused(due.Add(-time.Minute), until); got.Verdict != "not scheduled" || got.Text[0] != want {
		t.Errorf("a pause when the slot was due: got %+v, want %s", got, want)
	}
}

func TestSlot(t *testing.T) {
	parse := func(spec job.Spec) *schedule.Schedule {
		when, err := policy.When("x", &spec)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	daily := parse(job.Spec{Schedule: []string{"30 2 * * *"}})
	often := parse(job.Spec{Every: job.Duration(20 * time.Second)})
	half := at("02:30:00").Add(500 * time.Millisecond)
	twice := parse(job.Spec{At: []time.Time{at("02:30:00"), half}})
	if got, ok := explain.Slot(twice, half); !ok || !got.Equal(half) {
		t.Errorf("the second slot in a second: got %v %t", got, ok)
	}
	if got, ok := explain.SlotAmong([]time.Time{at("02:30:00"), half}, half); !ok || !got.Equal(half) {
		t.Errorf("the second run in a second: got %v %t", got, ok)
	}
	for _, tc := range []struct {
		name     string
		when     *schedule.Schedule
		at, want string
	}{
		{"the slot itself", daily, "02:30:00", "02:30:00"},
		{"a second of its minute", daily, "02:30:41", "02:30:00"},
		{"the minute before", daily, "02:29:59", ""},
		{"one of several in a minute", often, "02:30:20", "02:30:20"},
		{"between several: the one before", often, "02:30:39", "02:30:20"},
		{"no schedule", nil, "02:30:00", ""},
	} {
		got, ok := explain.Slot(tc.when, at(tc.at))
		if ok != (tc.want != "") || ok && !got.Equal(at(tc.want)) {
			t.Errorf("%s: got %v %t, want %q", tc.name, got, ok, tc.want)
		}
	}
}

func TestSlotAmong(t *testing.T) {
	three := []string{"02:30:40", "02:30:20", "02:30:00"}
	for _, tc := range []struct {
		name     string
		slots    []string
		at, want string
	}{
		{"the slot itself", three, "02:30:20", "02:30:20"},
		{"between several: the one before", three, "02:30:39", "02:30:20"},
		{"after all", three, "02:30:59", "02:30:40"},
		{"before all", three[:2], "02:30:05", ""},
		{"before the only one", three[:1], "02:30:05", "02:30:40"},
		{"none", nil, "02:30:00", ""},
	} {
		var slots []time.Time
		for _, s := range tc.slots {
			slots = append(slots, at(s))
		}
		got, ok := explain.SlotAmong(slots, at(tc.at))
		if ok != (tc.want != "") || ok && !got.Equal(at(tc.want)) {
			t.Errorf("%s: got %v %t, want %q", tc.name, got, ok, tc.want)
		}
	}
}
