package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkEffects compares the effects at the targets with the records.
func (t *timeline) checkEffects() {
	seen := make(map[string][]Effect)
	for _, e := range t.Effects {
		name, _, told := strings.Cut(e.Run, "/")
		_, expected := t.expected[e.Job]
		switch {
		case told && name != e.Job:
			t.report(RuleExtra, e.Run, fmt.Sprintf("executed at %s as one of job %q", stamp(e.Arrived), e.Job))
		case !told && !expected:
			t.report(RuleExtra, e.Run, fmt.Sprintf("executed at %s for job %q, but states no run", stamp(e.Arrived), e.Job))
		}
		if e.Run != "" { // without a run, only its time is judged
			seen[e.Run] = append(seen[e.Run], e)
		}
	}
	for run, es := range seen {
		slices.SortStableFunc(es, func(a, b Effect) int { return a.Arrived.Compare(b.Arrived) })
		t.checkRunEffects(run, es)
	}
	for run, vs := range t.runs {
		if r := last(vs); t.expected[r.Job].Effects && r.State == job.Succeeded && r.Copies == nil && !witnessed(r, seen[run]) {
			t.report(RuleMissed, run, "succeeded, but its target did not see the attempt end well: "+describe(vs))
		}
	}
	t.checkOrder()
	t.checkTogether()
}

// checkRunEffects judges the effects of one run in their order.
func (t *timeline) checkRunEffects(run string, es []Effect) {
	vs := t.runs[run]
	if len(vs) == 0 {
		if !t.ByHand[t.Prefix+"/runs/"+run] {
			t.report(RuleExtra, run, fmt.Sprintf("executed at %s, but the run does not exist", stamp(es[0].Arrived)))
		}
		return
	}
	key := vs[0].run.IdempotencyKey()
	for i, e := range es {
		t.checkOutcome(run, vs, e)
		t.checkNotBegun(run, vs, e)
		if e.Key != key {
			t.report(RuleDouble, run, fmt.Sprintf("attempt %d had the idempotency key %q, want %q", e.Attempt, e.Key, key))
		}
		claim := slices.IndexFunc(vs, func(v runVersion) bool {
			return v.run.State == job.Running && v.run.Token == e.Token && v.run.Attempt == e.Attempt
		})
		if claim < 0 {
			t.report(RuleExtra, run, fmt.Sprintf("attempt %d with token %d executed, but was never claimed: %s", e.Attempt, e.Token, describe(vs)))
			continue
		}
		if i+1 < len(es) {
			t.checkTwice(run, vs, vs[claim].run, e, es[i+1])
		}
	}
}

// checkTwice judges two consecutive effects of one run. claimed is the record of the first.
func (t *timeline) checkTwice(run string, vs []runVersion, claimed job.Run, first, second Effect) {
	pair := fmt.Sprintf("attempt %d token %d at %s on %s, then attempt %d token %d at %s", first.Attempt, first.Token,
		stamp(first.Arrived), claimed.Worker, second.Attempt, second.Token, stamp(second.Arrived))
	once := t.expected[claimed.Job].Spec.Delivery == job.AtMostOnce
	if second.Token < first.Token && second.Attempt < first.Attempt && !once && t.delayed(vs, second) {
		t.doubles++ // the target can reject it by its token
		return
	}
	if second.Token <= first.Token || second.Attempt <= first.Attempt {
		t.reportAs(fell(first, second), RuleDouble, run, "token or attempt does not rise: "+pair)
		return
	}
	attempts := last(vs).Attempts
	i := slices.IndexFunc(attempts, func(a job.Attempt) bool { return a.Token == first.Token })
	if i < 0 {
		t.report(RuleDouble, run, "executed again while the first attempt had not ended: "+pair)
		return
	}
	switch a := attempts[i]; a.State {
	case job.Failed, job.TimedOut: // a retry
	case job.Lost:
		t.doubles++
		if once {
			t.report(RuleDouble, run, "has at_most_once: "+pair)
		}
		if first.Ended.IsZero() { // a fault after the start of the second explains nothing
			first.Ended = second.Arrived
		}
		if !t.costs(claimed.Worker, first) {
			t.report(RuleDouble, run, fmt.Sprintf("executed again without a fault of %s while it executed: %s (%s); %s",
				claimed.Worker, pair, a.Reason, describe(vs)))
		}
	default:
		t.report(RuleDouble, run, fmt.Sprintf("executed again after it had ended %s: %s", a.State, pair))
	}
}

// delayed reports whether a pause of the worker explains that e arrived after an effect with a higher token.
func (t *timeline) delayed(vs []runVersion, e Effect) bool {
	i := slices.IndexFunc(vs, func(v runVersion) bool { return v.run.State == job.Running && v.run.Token == e.Token })
	return i >= 0 && slices.ContainsFunc(t.Faults, func(f Fault) bool {
		return f.Kind == Pause && !f.At.After(e.Arrived.Add(t.Slack)) && t.cost(f, vs[i].run.Worker, e)
	})
}
