package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/verify"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/test/history"
)

// settleTime is how long a healed cluster may take to decide and end everything. Each of 40 runs of a backfill may wait 20 s for an
// approval, one after another. The cluster gets at least grace, even if nothing seems to be left.
const (
	settleTime = 15 * time.Minute
	grace      = 30 * time.Second
)

// fail reports a violation with its seed.
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

// unsettled lists the active runs, and the due slots without a decision, by the definitions in the store. By now all schedules
// have ended and nothing is paused.
func (w *world) unsettled() (left []string) {
	for _, r := range w.recorder.live() {
		left = append(left, fmt.Sprintf("run %s is %s on %q: %s", r.Name(), r.State, r.Worker, r.Reason))
	}
	for _, j := range w.recorder.definitions() {
		when, err := policy.When(j.Name, j.Spec)
		switch {
		case err != nil:
			w.t.Error(err)
			continue
		case when == nil:
			continue
		}
		decided := j.Scheduled
		if c, known := w.recorder.cursor(j.Name); known && c.After.After(decided) {
			decided = c.After
		}
		if next, ok := when.Next(decided); ok {
			left = append(left, fmt.Sprintf("job %s: slot %v is not decided", j.Name, next))
		}
	}
	return slices.Concat(left, w.undecidedSteps(), w.runningBackfills())
}

// judge compares the records with the promises.
func (w *world) judge() {
	executions := w.ledger.executions()
	// The recording ends now, not at the last record. If a clock is ahead, the run of a slot may end before the slot.
	h := history.History{
		Prefix: prefix, Jobs: w.plan.jobs, Versions: w.recorder.history(), Faults: w.faults, Over: time.Now(), Skew: usualOffset,
	}
	for _, e := range executions {
		h.Effects = append(h.Effects, e.Effect)
	}
	early := w.judgeEarly(executions)
	v := history.Judge(h)
	w.tally.addVerdict(v, len(h.Effects))
	w.tallyArmed()
	for _, found := range v.Violations {
		if (w.plan.liars || w.plan.clocksSet) && strings.Contains(found.Text, "which had ended at") {
			continue // a wrong clock wrote that time
		}
		if early[found.What] && slices.Contains([]string{history.RuleTime, history.RuleExtra, history.RuleMissed}, found.Rule) {
			continue // judgeEarly has excused it. If all copies of a run are early, the run itself seems to be missed.
		}
		if w.evictedUnawares(found, executions) {
			continue
		}
		w.fail("%v", found)
		w.suspect(found.What)
	}
	w.judgeOverlap(executions)
	w.judgeInputs(executions)
	w.judgeBackfills()
	w.judgeLimits(executions)
	for _, name := range w.caller.accepted {
		if _, ended := w.recorder.became(name); !ended {
			w.fail("run %s was accepted and has not ended", name)
		}
	}
	w.verify()
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// verify checks the invariants of the store, as `rota verify` does.
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
	_, log, err := s.Log(ctx, rev, math.MaxInt)
	if err != nil {
		w.t.Error(err)
		return
	}
	for _, v := range verify.Check(verify.Input{Records: records, Log: log, Now: time.Now()}).Violations {
		w.fail("rota verify: invariant %d, %s at revision %d: %s", v.Invariant, v.Subject, v.Revision, v.Text)
	}
}
