package sim

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/verify"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/test/history"
)

// settleTime is how long a healed cluster may take to decide and to end everything. For as long as grace it has time even
// if there seems to be nothing to do.
const (
	settleTime = 10 * time.Minute
	grace      = 30 * time.Second
)

// fail says what was broken, and under which seed.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf("seed %d: %s", w.plan.seed, fmt.Sprintf(format, args...))
}

// settle waits until every slot is decided and every run has ended.
func (w *world) settle() {
	w.runUntil(time.Now().Add(grace))
	end := time.Now().Add(settleTime)
	for time.Now().Before(end) {
		if len(w.unsettled()) == 0 {
			return
		}
		w.runUntil(time.Now().Add(time.Second))
	}
	left := w.unsettled()
	w.fail("%v after everything was healed, %d things are not settled:\n%s", settleTime, len(left), strings.Join(left[:min(len(left), 20)], "\n"))
}

func (w *world) unsettled() (left []string) {
	for _, r := range w.recorder.live() {
		left = append(left, fmt.Sprintf("run %s is %s on %q: %s", r.Name(), r.State, r.Worker, r.Reason))
	}
	for _, j := range w.plan.jobs {
		if !j.Spec.Scheduled() || j.Edited {
			continue
		}
		when, err := policy.When(j.Name, &j.Spec)
		if err != nil {
			w.t.Error(err)
			continue
		}
		c, known := w.recorder.cursor(j.Name)
		if first, ok := when.Next(w.plan.began); !known && ok {
			left = append(left, fmt.Sprintf("job %s: slot %v is not decided", j.Name, first))
		}
		if known && !c.Next.IsZero() {
			left = append(left, fmt.Sprintf("job %s: slot %v is not decided", j.Name, c.Next))
		}
	}
	return left
}

// judge compares what was recorded with what was promised.
func (w *world) judge() {
	executions := w.ledger.executions()
	// Recording has gone on until now. That the last record was written earlier says nothing: by a clock that is ahead, a slot
	// runs, and ends, before its time has come.
	h := history.History{
		Prefix: prefix, Jobs: w.plan.jobs, Versions: w.recorder.history(), Faults: w.faults, Over: time.Now(), Skew: usualOffset,
	}
	for _, e := range executions {
		h.Effects = append(h.Effects, e.Effect)
	}
	v := history.Judge(h)
	w.tally.addVerdict(v, len(h.Effects))
	for _, found := range v.Violations {
		if (w.plan.liars || w.plan.clocksSet) && strings.Contains(found.Text, "which had ended at") {
			continue // by a clock that lies
		}
		if w.plan.clocksSet && beforeItsTime(found) {
			continue // judgeEarly says why
		}
		w.fail("%v", found)
		w.suspect(found.What)
	}
	w.judgeOverlap(executions)
	w.judgeEarly(executions)
	for _, name := range w.caller.accepted {
		if _, ended := w.recorder.became(name); !ended {
			w.fail("run %s was accepted and has not ended", name)
		}
	}
	w.verify()
}

var beganAt = regexp.MustCompile(`^(?:began|executed) at ([\d:.]+),`)

// beforeItsTime says whether all that is wrong is that something began before its slot.
func beforeItsTime(v history.Violation) bool {
	began := beganAt.FindStringSubmatch(v.Text)
	_, id, _ := strings.Cut(v.What, "/")
	slot, err := time.Parse(time.RFC3339Nano, id)
	return began != nil && err == nil && began[1] < clockTime(slot)
}

// judgeOverlap sees to it that no two attempts of a job whose runs may not overlap execute at a time, but for those whose
// process was paused, or whose presence was taken from it.
func (w *world) judgeOverlap(list []*execution) {
	latest := make(map[string]*execution) // by job: the one that ends last
	for _, e := range list {
		before := latest[e.Job]
		if before == nil || before.over.IsZero() || before.over.Before(e.over) {
			latest[e.Job] = e
		}
		if before == nil || !before.over.After(e.Arrived) || w.mayOverlap(e, before) {
			continue
		}
		w.fail("attempt %d of %s began at %s on %s, while attempt %d of %s executed on %s until %s", e.Attempt, e.Run,
			clockTime(e.Arrived), e.process.machine.name, before.Attempt, before.Run, before.process.machine.name, clockTime(before.over))
		w.suspect(e.Job)
	}
}

// judgeEarly sees to it that nothing begins before its slot, by more than the replicas' clocks may be off.
func (w *world) judgeEarly(list []*execution) {
	for _, e := range list {
		_, id, _ := strings.Cut(e.Run, "/")
		slot, err := time.Parse(time.RFC3339Nano, id)
		if err != nil || !e.Arrived.Before(slot.Add(-maxOffset)) {
			continue
		}
		if w.plan.clocksSet { // nobody can tell which clock is right while only one replica runs, or one has been set this instant
			w.tally.add("begun early under a clock that was set wrong")
			continue
		}
		w.fail("%s began at %s", e.Run, clockTime(e.Arrived))
		w.suspect(e.Job)
	}
}

// mayOverlap says whether there is a reason for two executions to overlap.
func (w *world) mayOverlap(e, before *execution) bool {
	for _, j := range w.plan.jobs {
		if j.Name == e.Job && j.Spec.Overlap == job.OverlapAllow && e.Run != before.Run {
			return true
		}
		told := !before.stop.IsZero() && !before.stop.After(e.Arrived)
		if j.Name == e.Job && told && before.over.Sub(e.Arrived) <= j.Spec.KillGrace.Std() {
			return true // it was told to end, and took its time
		}
	}
	for _, f := range w.faults {
		until := f.Until
		if until.IsZero() {
			until = f.At
		}
		near := !f.At.After(e.Arrived.Add(time.Second)) && !until.Add(5*time.Second).Before(before.Arrived)
		if near && f.Node == before.process.machine.name && (f.Kind == history.Pause || f.Kind == history.Evict) {
			return true
		}
	}
	return false
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// verify proves the invariants on what is left in the store, as `rota verify` does.
func (w *world) verify() {
	s := store.New(store.Config{Prefix: prefix, Process: "verify"}, w.recorder.client, hclog.NewNullLogger())
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	records, rev, err := s.Snapshot(ctx)
	if err != nil {
		w.t.Error(err)
		return
	}
	_, log, err := s.Log(ctx, rev)
	if err != nil {
		w.t.Error(err)
		return
	}
	for _, v := range verify.Check(verify.Input{Records: records, Log: log, Now: time.Now()}).Violations {
		w.fail("rota verify: invariant %d, %s at revision %d: %s", v.Invariant, v.Subject, v.Revision, v.Text)
	}
}
