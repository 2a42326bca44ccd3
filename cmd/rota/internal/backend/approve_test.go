package backend

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A client repeats its request if the answer is lost. So the same decision of the same person is no conflict, even after the run has
// ended. Any other second decision is one.
func TestASecondDecision(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rule := &job.Approve{Within: job.Duration(time.Hour)}
	run := job.Run{Job: "pay", ID: "a", State: job.Pending}
	waits := run.Ask(rule, now)
	verdict := func(who string, approved bool) job.Verdict {
		return job.Verdict{Approved: approved, At: now.Add(time.Minute), Who: who}
	}
	after := func(r job.Run, v job.Verdict) job.Run {
		r, err := r.Decide(rule, v)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	in := func(r job.Run, s job.State) job.Run { r.State = s; return r }
	approved, rejected := after(waits, verdict("ann", true)), after(waits, verdict("ann", false))
	late := verdict("ann", true)
	late.At = now.Add(2 * time.Hour)
	spread := run.SpreadOver([]string{"q1"}, now)
	steps := in(run, job.Pending)
	steps.After, steps.Due = []job.Parent{{Job: "build"}}, job.WhenParentsEnd
	for name, c := range map[string]struct {
		run  job.Run
		rule *job.Approve
		v    job.Verdict
		made bool
		want string // a part of the refusal; empty: there is none
	}{
		"the first":                       {waits, nil, verdict("ann", true), false, ""},
		"before the run is due":           {run, rule, verdict("ann", true), false, ""},
		"of a job that asks nobody":       {run, nil, verdict("ann", true), false, "waits for no approval"},
		"before its parents have ended":   {steps, rule, verdict("ann", true), false, "waits for its parents"},
		"of a run whose copies exist":     {spread, rule, verdict("ann", false), false, "waits for no approval"},
		"after the deadline":              {waits, nil, late, false, "could be approved until"},
		"of a run that has begun":         {in(run, job.Running), rule, verdict("ann", true), false, "it is running"},
		"of a run that has ended":         {in(waits, job.Canceled), nil, verdict("ann", true), false, "has ended already"},
		"the same approval again":         {approved, nil, verdict("ann", true), true, ""},
		"the same after the run's end":    {in(approved, job.Succeeded), nil, verdict("ann", true), true, ""},
		"the same from another address":   {after(waits, verdict("ann from q1", true)), nil, verdict("ann from q2", true), true, ""},
		"the same rejection again":        {rejected, nil, verdict("ann", false), true, ""},
		"an approval by somebody else":    {approved, nil, verdict("bob", true), false, "ann approved run pay/a at "},
		"a rejection of an approved run":  {approved, nil, verdict("ann", false), false, "cancel it instead"},
		"a rejection by somebody else":    {rejected, nil, verdict("bob", false), false, "ann rejected run pay/a at "},
		"an approval of a rejected run":   {rejected, nil, verdict("ann", true), false, "ann rejected run pay/a at "},
		"a rejection of a successful run": {in(approved, job.Succeeded), nil, verdict("bob", false), false, "has ended already"},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := decided(&c.run, c.rule, c.v)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if made != c.made || (c.want == "") != (err == nil) || !strings.Contains(got, c.want) {
				t.Errorf("got %v and %q, want %v and %q", made, got, c.made, c.want)
			}
		})
	}
}
