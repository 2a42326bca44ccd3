package history

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// besides returns a history of two runs of a job that executed at the same time. The leader armed first before second. The effect of
// second arrives before that of first.
func besides(t *testing.T, first, second job.RunKind) History {
	p := newTape(t)
	p.lead("a")
	p.define("report", job.Spec{Every: job.Duration(time.Second)})
	var armed []job.Run
	for i, kind := range []job.RunKind{first, second} {
		slot := began.Add(time.Duration(i+1) * time.Second)
		r := job.Run{Job: "report", ID: job.SlotID(slot), Kind: kind, Slot: slot, Due: slot, State: job.Pending, Term: p.term}
		armed = append(armed, p.save(r.Assign(&job.Worker{Name: "q1", Session: "s"})))
	}
	p.now = began.Add(3 * time.Second)
	for _, r := range slices.Backward(armed) {
		p.now = p.now.Add(20 * time.Millisecond)
		armed[slices.IndexFunc(armed, func(a job.Run) bool { return a.ID == r.ID })] = p.execute(r, true)
	}
	for _, r := range armed {
		p.succeed(r)
	}
	return p.history
}

// broken returns which of the rules of tokens and overlap the effects of a history break.
func broken(h History) (rules []string) {
	for _, v := range Check(h) {
		if (v.Rule == RuleToken || v.Rule == RuleOverlap) && !slices.Contains(rules, v.Rule) {
			rules = append(rules, v.Rule)
		}
	}
	slices.Sort(rules)
	return rules
}

// A backfilled run executes beside others of its job. Their effects may arrive in another order than the leader armed them. The judge
// still reports the effect of an attempt that had ended when the leader armed the other one, and the same effects of slots of the
// schedule.
func TestABackfilledRunExecutesBesideOthers(t *testing.T) {
	const scheduled, backfill = job.KindScheduled, job.KindBackfill
	for name, kinds := range map[string][2]job.RunKind{
		"two backfilled runs":           {backfill, backfill},
		"a slot after a backfilled run": {backfill, scheduled},
		"a backfilled run after a slot": {scheduled, backfill},
	} {
		if got := broken(besides(t, kinds[0], kinds[1])); got != nil {
			t.Errorf("%s: the judge reports %q", name, got)
		}
	}
	if got, want := broken(besides(t, scheduled, scheduled)), []string{RuleOverlap, RuleToken}; !slices.Equal(got, want) {
		t.Errorf("two slots: the judge reports %q, want %q", got, want)
	}

	p := newTape(t)
	p.lead("a")
	p.define("report", job.Spec{Every: job.Duration(time.Second)})
	slot := began.Add(time.Second)
	r := job.Run{Job: "report", ID: job.SlotID(slot), Kind: backfill, Slot: slot, Due: slot, State: job.Pending, Term: p.term}
	r = p.execute(p.save(r.Assign(&job.Worker{Name: "q1", Session: "s"})), true)
	p.succeed(r)
	r.ID, r.Slot, r.State, r.Token, r.Attempt = slotAt(2), slot.Add(time.Second), job.Pending, 0, 0
	p.succeed(p.execute(p.save(r.Assign(&job.Worker{Name: "q1", Session: "s"})), true))
	if got := broken(p.history); got != nil {
		t.Fatalf("one backfilled run after another: the judge reports %q", got)
	}
	p.history.Effects[0].Arrived = began.Add(time.Minute)
	p.history.Effects[0].Ended = began.Add(time.Minute)
	if got, want := broken(p.history), []string{RuleToken}; !slices.Equal(got, want) {
		t.Errorf("an effect of an attempt that had ended: the judge reports %q, want %q", got, want)
	}
}

// The steps of a backfilled slot have a record from the start, which waits. The judge compares their decision with the parents' ends.
func TestTheStepRuleHoldsForABackfill(t *testing.T) {
	for name, c := range map[string]struct {
		steps func(p *tape, extract, load job.Run)
		want  int
	}{
		"the step follows":        {func(p *tape, extract, load job.Run) { p.succeed(p.execute(extract, true)); decide(p, load) }, 0},
		"the step goes first":     {func(p *tape, extract, load job.Run) { decide(p, load); p.succeed(p.execute(extract, true)) }, 1},
		"the step waits for ever": {func(p *tape, extract, load job.Run) { p.succeed(p.execute(extract, true)) }, 1},
	} {
		p := newTape(t)
		p.lead("a")
		p.define("extract", job.Spec{Every: job.Duration(time.Second)})
		p.define("load", job.Spec{After: []job.After{{Job: "extract"}}})
		slot := began.Add(-time.Hour)
		extract := job.Run{Job: "extract", ID: job.SlotID(slot), Kind: job.KindBackfill, Slot: slot, Due: began, State: job.Pending, Term: p.term}
		load := extract
		load.Job, load.Due, load.Reason, load.After = "load", job.WhenParentsEnd, job.ReasonParents, []job.Parent{{Job: "extract"}}
		extract, err := extract.Assign(&job.Worker{Name: "q1", Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		extract.Rev = p.commit(map[string]any{"runs/" + extract.Name(): extract, "runs/" + load.Name(): load})
		c.steps(p, extract, load)
		n := 0
		for _, v := range Check(p.history) {
			if v.Rule == RuleStep {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%s: the judge reports %d violations of the rule, want %d", name, n, c.want)
		}
	}
}

// decide lets the leader decide a step that waits for its parents, and lets it run.
func decide(p *tape, r job.Run) {
	r.Due = p.now
	p.succeed(p.execute(p.save(r.Assign(&job.Worker{Name: "q1", Session: "s"})), true))
}
