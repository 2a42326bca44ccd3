package history

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestApprovalRule gives the judge one run that needs an approval, as it should be and with one thing changed.
func TestApprovalRule(t *testing.T) {
	asked := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rule := &job.Approve{Within: job.Duration(time.Hour)}
	run := job.Run{Job: "pay", ID: "a", Kind: job.KindManual, Slot: asked, Due: asked, State: job.Pending, Created: asked}
	waits := run.Ask(rule, asked)
	after := func(d time.Duration, who string, approved bool) job.Run {
		r, err := waits.Decide(rule, job.Verdict{Approved: approved, At: asked.Add(d), Who: who, Reason: "why"})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	armed := func(r job.Run) job.Run {
		r, err := r.Assign(&job.Worker{Name: "w", Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	expired := func(at time.Time) job.Run {
		r, err := waits.Expire(at)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	skipped := func(reason string) job.Run {
		r := waits
		r.State, r.Reason, r.Finished = job.Skipped, reason, asked.Add(time.Minute)
		return r
	}
	approved, rejected := after(time.Minute, "ann", true), after(time.Minute, "ann", false)
	for name, c := range map[string]struct {
		versions []job.Run
		want     string // a part of the violation; empty: there is none
	}{
		"approved":                      {[]job.Run{run, waits, approved, armed(approved)}, ""},
		"rejected":                      {[]job.Run{run, waits, rejected}, ""},
		"expired":                       {[]job.Run{run, waits, expired(asked.Add(time.Hour))}, ""},
		"armed without an approval":     {[]job.Run{run, waits, armed(waits)}, "nobody has approved it"},
		"armed although nobody asked":   {[]job.Run{run, armed(run)}, "nobody has approved it"},
		"armed although rejected":       {[]job.Run{run, waits, rejected, armed(rejectedAgain(rejected))}, "nobody has approved it"},
		"approved twice":                {[]job.Run{run, waits, approved, after(2*time.Minute, "bob", true)}, "has changed"},
		"rejected after the approval":   {[]job.Run{run, waits, approved, after(2*time.Minute, "bob", false)}, "has changed"},
		"approved after the deadline":   {[]job.Run{run, waits, after(2*time.Hour, "ann", true)}, "after its deadline"},
		"expired before the deadline":   {[]job.Run{run, waits, expired(asked.Add(time.Minute))}, "its deadline had not passed"},
		"skipped as rejected by nobody": {[]job.Run{run, waits, skipped("rejected by ann: no")}, "no person rejected it"},
	} {
		t.Run(name, func(t *testing.T) {
			h := History{Prefix: "/rota", Over: asked.Add(3 * time.Hour), Jobs: []Job{{Name: "pay", MayFail: true, Spec: job.Spec{Approve: rule}}}}
			for i, r := range c.versions {
				text, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				h.Versions = append(h.Versions, Version{Key: "/rota/runs/pay/a", Rev: int64(10 + i), Create: 10, Value: text})
			}
			var found []string
			for _, v := range Check(h) {
				if v.Rule == RuleApproval {
					found = append(found, v.String())
				}
			}
			got := strings.Join(found, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("the judge says %q, want %q", got, c.want)
			}
		})
	}
}

// rejectedAgain returns a rejected run as if it waited again.
func rejectedAgain(r job.Run) job.Run {
	r.State = job.Pending
	return r
}
