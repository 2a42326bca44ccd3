package history

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestAGoodHistoryPasses(t *testing.T) {
	if found := Check(good(t)); len(found) > 0 {
		t.Errorf("violations in a good history:\n%s", lines(found))
	}
}

func TestLossesByAFaultPass(t *testing.T) {
	run := "charge/" + slotAt(5)
	for _, c := range []struct {
		name string
		bend func(t *testing.T, h *History)
	}{
		{"the job was edited to what it was", func(_ *testing.T, h *History) { h.Jobs[0].Edited, h.Jobs[1].Edited = true, true }},
		{"the presence of the first worker was removed", func(_ *testing.T, h *History) { h.Faults[0].Kind = Evict }},
		{"a paused process sends its old token late", func(t *testing.T, h *History) {
			h.Faults[0].Kind, h.Faults[0].Until = Pause, began.Add(7*time.Second)
			h.Effects[effect(t, h, run)].Arrived = began.Add(7 * time.Second)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := good(t)
			c.bend(t, &h)
			if found := Check(h); len(found) > 0 {
				t.Errorf("violations:\n%s", lines(found))
			}
		})
	}
}

func TestTheVerdictHasAmounts(t *testing.T) {
	got := Judge(good(t))
	want := Verdict{Slots: 20, Runs: 20, Attempts: 21, Doubles: 2}
	if got.Slots != want.Slots || got.Runs != want.Runs || got.Attempts != want.Attempts || got.Doubles != want.Doubles {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestEveryBrokenPromiseIsFound(t *testing.T) {
	run := func(i int) string { return "charge/" + slotAt(i) }
	for _, c := range []struct {
		name string
		rule string
		what string // prefix of Violation.What
		bend func(t *testing.T, h *History)
	}{
		{"an effect is missing", RuleMissed, run(3), func(t *testing.T, h *History) {
			i := effect(t, h, run(3))
			h.Effects = slices.Delete(h.Effects, i, i+1)
		}},
		{"a run and its cursor's move are missing", RuleSlot, run(3), func(t *testing.T, h *History) {
			rev := h.Versions[version(t, h, "runs/"+run(3), 0)].Rev
			h.Versions = slices.DeleteFunc(h.Versions, func(v Version) bool {
				return v.Key == "/rota/runs/"+run(3) || v.Key == "/rota/cursors/charge" && v.Rev == rev
			})
		}},
		{"a range is passed over against the policy", RuleMissed, run(3), func(t *testing.T, h *History) {
			i := version(t, h, "runs/"+run(3), 0)
			at := began.Add(3 * time.Second)
			value, _ := json.Marshal(job.Event{Kind: job.EventSkipped, Job: "charge", From: at, To: at, Reason: "missed: a later slot runs instead"})
			h.Versions[i] = Version{Key: "/rota/events/charge/x", Value: value, Rev: h.Versions[i].Rev, Create: h.Versions[i].Rev}
			h.Versions = slices.DeleteFunc(h.Versions, func(v Version) bool { return v.Key == "/rota/runs/"+run(3) })
		}},
		{"a run failed for no reason of the job", RuleMissed, run(3), func(t *testing.T, h *History) {
			edit(t, h, "runs/"+run(3), 2, func(r *job.Run) { r.State = job.Failed })
		}},
		{"a run that its target saw end is lost", RuleOutcome, run(3), func(t *testing.T, h *History) {
			h.Jobs[0].Spec.Delivery = job.AtMostOnce
			edit(t, h, "runs/"+run(3), 2, func(r *job.Run) { r.State, r.Attempts[0].State = job.Lost, job.Lost })
		}},
		{"a run that ended well is tried again as if it had failed", RuleOutcome, run(5), func(t *testing.T, h *History) {
			h.Faults = nil
			e := &h.Effects[effect(t, h, run(5))]
			e.Ended, e.Well = e.Arrived.Add(40*time.Millisecond), true
			for n := 2; n < 5; n++ {
				edit(t, h, "runs/"+run(5), n, func(r *job.Run) { r.Attempts[0].State = job.Failed })
			}
		}},
		{"a run succeeded that was not seen to end", RuleMissed, run(3), func(t *testing.T, h *History) {
			e := &h.Effects[effect(t, h, run(3))]
			e.Ended, e.Well = time.Time{}, false
		}},
		{"a run succeeded that ended otherwise", RuleMissed, run(3), func(t *testing.T, h *History) {
			h.Effects[effect(t, h, run(3))].Well = false
		}},
		{"two runs are executed at a time, and the records do not say so", RuleOverlap, run(4), func(t *testing.T, h *History) {
			h.Effects[effect(t, h, run(3))].Ended = began.Add(4500 * time.Millisecond)
		}},
		{"two attempts are executed at a time", RuleOverlap, run(5), func(t *testing.T, h *History) {
			h.Faults[0].Node = "q3"
			h.Effects[effect(t, h, run(5))].Ended = began.Add(6500 * time.Millisecond)
		}},
		{"a run begins the moment it is armed", RuleTime, run(3), func(t *testing.T, h *History) {
			e := &h.Effects[effect(t, h, run(3))]
			e.Arrived = began.Add(1100 * time.Millisecond)
		}},
		{"a run that is canceled without a request", RuleMissed, run(3), func(t *testing.T, h *History) {
			h.Jobs[0].MayFail = true
			edit(t, h, "runs/"+run(3), 2, func(r *job.Run) { r.State = job.Canceled })
		}},
		{"a run is replaced against the policy", RuleOverlap, run(3), func(t *testing.T, h *History) {
			edit(t, h, "runs/"+run(3), 2, func(r *job.Run) {
				r.State, r.Cancel = job.Canceled, &job.Cancel{At: began, By: "rota", Reason: "overlap: replaced by slot " + slotAt(4)}
			})
		}},
		{"a reason is stated without the cursor's move", RuleCursor, "charge", func(_ *testing.T, h *History) {
			value, _ := json.Marshal(job.Event{Kind: job.EventSkipped, Job: "charge", From: began, To: began, Reason: "paused"})
			more(h, Version{Key: "/rota/events/charge/x", Value: value})
		}},
		{"an attempt is executed twice", RuleDouble, run(3), func(t *testing.T, h *History) {
			e := h.Effects[effect(t, h, run(3))]
			e.Arrived, e.Ended = e.Arrived.Add(20*time.Millisecond), e.Ended.Add(20*time.Millisecond)
			h.Effects = append(h.Effects, e)
		}},
		{"a run is executed again without a kill", RuleDouble, run(5), func(_ *testing.T, h *History) { h.Faults = nil }},
		{"a run is executed again though another was killed", RuleDouble, run(5), func(_ *testing.T, h *History) { h.Faults[0].Node = "q3" }},
		{"a run is executed again though it had ended long before the kill", RuleDouble, run(5), func(t *testing.T, h *History) {
			h.Effects[effect(t, h, run(5))].Ended = began.Add(5100 * time.Millisecond)
			h.Faults[0].At = began.Add(20 * time.Second)
		}},
		{"a run is executed again long before its worker was killed", RuleDouble, run(5), func(_ *testing.T, h *History) {
			h.Faults[0].At = began.Add(time.Minute)
		}},
		{"an old token comes late, before its process was paused", RuleToken, run(5), func(t *testing.T, h *History) {
			h.Faults[0].Kind, h.Faults[0].At, h.Faults[0].Until = Pause, began.Add(20*time.Second), began.Add(30*time.Second)
			h.Effects[effect(t, h, run(5))].Arrived = began.Add(7 * time.Second)
		}},
		{"the second attempt has another idempotency key", RuleDouble, run(5), func(t *testing.T, h *History) {
			h.Effects[effect(t, h, run(5))].Key = "other"
		}},
		{"a run with at_most_once is dispatched again", RuleDouble, run(5), func(_ *testing.T, h *History) {
			h.Jobs[0].Spec.Delivery = job.AtMostOnce
		}},
		{"an old token comes late without a pause", RuleDouble, run(5), func(t *testing.T, h *History) {
			h.Effects[effect(t, h, run(5))].Arrived = began.Add(7 * time.Second)
		}},
		{"a run is born while its job is removed", RuleSlot, run(7), func(t *testing.T, h *History) { removeJob(t, h, false) }},
		{"a slot of the definition before is left out", RuleSlot, run(3), func(t *testing.T, h *History) {
			removeJob(t, h, true)
			rev := h.Versions[version(t, h, "runs/"+run(3), 0)].Rev
			h.Versions = slices.DeleteFunc(h.Versions, func(v Version) bool {
				return v.Key == "/rota/runs/"+run(3) || v.Key == "/rota/cursors/charge" && v.Rev == rev
			})
		}},
		{"a run is of a slot of the definition before", RuleSlot, run(7), func(t *testing.T, h *History) {
			h.Jobs[0].Edited = true
			edit(t, h, "jobs/charge", 0, func(j *job.Job) { j.Spec.Every = job.Duration(10 * time.Second) })
		}},
		{"an effect has no run", RuleExtra, "charge/" + slotAt(33), func(_ *testing.T, h *History) {
			e := h.Effects[0]
			e.Run, e.Token, e.Arrived = "charge/"+slotAt(33), 1<<40, began.Add(time.Hour)
			h.Effects = append(h.Effects, e)
		}},
		{"an effect says nothing at all", RuleExtra, "", func(_ *testing.T, h *History) {
			h.Effects = append(h.Effects, Effect{Arrived: began.Add(time.Second)})
		}},
		{"an effect says that it is of another job", RuleExtra, run(3), func(t *testing.T, h *History) { h.Effects[effect(t, h, run(3))].Job = "ping" }},
		{"an effect has no claim", RuleExtra, run(3), func(t *testing.T, h *History) { h.Effects[effect(t, h, run(3))].Token++ }},
		{"a run is not of a slot", RuleSlot, "charge/2026-03-01T12:00:03.5Z", func(t *testing.T, h *History) {
			shifted := began.Add(3500 * time.Millisecond)
			for n := range 3 {
				edit(t, h, "runs/"+run(3), n, func(r *job.Run) { r.Slot, r.ID = shifted, job.SlotID(shifted) })
			}
			for i := range h.Versions {
				if h.Versions[i].Key == "/rota/runs/"+run(3) {
					h.Versions[i].Key = "/rota/runs/charge/" + job.SlotID(shifted)
				}
			}
		}},
		{"a claim has another token than it was armed with", RuleToken, run(3), func(t *testing.T, h *History) {
			edit(t, h, "runs/"+run(3), 1, func(r *job.Run) { r.Token-- })
		}},
		{"an outcome has another token than its claim", RuleToken, run(3), func(t *testing.T, h *History) {
			edit(t, h, "runs/"+run(3), 2, func(r *job.Run) { r.Attempts[0].Token-- })
		}},
		{"a later run has an older token", RuleToken, run(4), func(t *testing.T, h *History) {
			edit(t, h, "runs/"+run(4), 1, func(r *job.Run) { r.Token = 2 })
		}},
		{"two runs have the same token", RuleToken, "ping/" + slotAt(4), func(t *testing.T, h *History) {
			token := int64(0)
			edit(t, h, "runs/ping/"+slotAt(3), 1, func(r *job.Run) { token = r.Token })
			edit(t, h, "runs/ping/"+slotAt(4), 1, func(r *job.Run) { r.Token = token })
		}},
		{"the target saw tokens fall", RuleToken, "charge/", func(t *testing.T, h *History) {
			a, b := effect(t, h, run(3)), effect(t, h, run(4))
			h.Effects[a].Arrived, h.Effects[b].Arrived = h.Effects[b].Arrived, h.Effects[a].Arrived
		}},
		{"the target saw tokens fall, while another worker was paused", RuleToken, "charge/", func(t *testing.T, h *History) {
			h.Faults = append(h.Faults, Fault{Kind: Pause, Node: "w9", At: began, Until: began.Add(time.Minute)})
			a, b := effect(t, h, run(3)), effect(t, h, run(4))
			h.Effects[a].Arrived, h.Effects[b].Arrived = h.Effects[b].Arrived, h.Effects[a].Arrived
		}},
		{"the cursor goes back", RuleCursor, "charge", func(t *testing.T, h *History) {
			edit(t, h, "cursors/charge", 4, func(c *job.Cursor) { c.After = began.Add(2 * time.Second) })
		}},
		{"the cursor moves after the run", RuleCursor, run(3), func(t *testing.T, h *History) {
			i := version(t, h, "cursors/charge", 2)
			v := h.Versions[i]
			h.Versions = slices.Delete(h.Versions, i, i+1)
			v.Rev++
			h.Versions = slices.Insert(h.Versions, i+1, v)
		}},
		{"the cursor moves without a run", RuleCursor, "charge", func(t *testing.T, h *History) {
			v := h.Versions[version(t, h, "cursors/charge", 9-1)]
			v.Value, _ = json.Marshal(job.Cursor{Job: "charge", After: began.Add(11 * time.Second), Term: 2})
			more(h, v)
		}},
		{"an end is overwritten", RuleTerminal, run(3), func(t *testing.T, h *History) {
			v := h.Versions[version(t, h, "runs/"+run(3), 2)]
			v.Value = []byte(strings.Replace(string(v.Value), `"state":"succeeded"`, `"state":"failed"`, 1))
			more(h, v)
		}},
		{"an end is written twice", RuleTerminal, run(3), func(t *testing.T, h *History) { more(h, h.Versions[version(t, h, "runs/"+run(3), 2)]) }},
		{"a run leaves the arrows", RuleTransition, run(3), func(t *testing.T, h *History) {
			edit(t, h, "runs/"+run(3), 1, func(r *job.Run) { r.State = job.Pending })
		}},
		{"a run is tried again too often", RuleRetry, run(3), func(t *testing.T, h *History) {
			h.Jobs[0].Spec.Retry = &job.Retry{Max: 1}
			edit(t, h, "runs/"+run(3), 2, func(r *job.Run) {
				failed := job.Attempt{State: job.Failed}
				r.Attempts = append([]job.Attempt{failed, failed, failed}, r.Attempts...)
			})
		}},
		{"a run does not end", RuleUnfinished, run(3), func(t *testing.T, h *History) {
			i := version(t, h, "runs/"+run(3), 2)
			h.Versions = slices.Delete(h.Versions, i, i+1)
		}},
		{"a run is deleted alive", RuleUnfinished, run(3), func(t *testing.T, h *History) {
			i := version(t, h, "runs/"+run(3), 2)
			h.Versions[i].Value, h.Versions[i].Deleted = nil, true
		}},
		{"a run is made again", RuleRecreated, run(3), func(t *testing.T, h *History) {
			v := h.Versions[version(t, h, "runs/"+run(3), 0)]
			more(h, Version{Key: v.Key, Deleted: true})
			v.Create = h.Versions[len(h.Versions)-1].Rev + 1
			more(h, v)
		}},
		{"a run is written under a term that is over", RuleTerm, run(7), func(t *testing.T, h *History) {
			edit(t, h, "runs/"+run(7), 0, func(r *job.Run) { r.Term = 1 })
		}},
		{"a run is written under a term that is to come", RuleTerm, run(3), func(t *testing.T, h *History) {
			edit(t, h, "runs/"+run(3), 0, func(r *job.Run) { r.Term = 2 })
		}},
		{"a cursor is written under a term that is over", RuleTerm, "cursor charge", func(t *testing.T, h *History) {
			edit(t, h, "cursors/charge", 6, func(c *job.Cursor) { c.Term = 1 })
		}},
		{"two runs run at a time", RuleOverlap, run(4), func(t *testing.T, h *History) {
			v := h.Versions[version(t, h, "runs/"+run(3), 2)]
			i := version(t, h, "runs/"+run(3), 2)
			h.Versions = slices.Delete(h.Versions, i, i+1)
			more(h, v)
		}},
		{"a slot is skipped for a run that had ended", RuleOverlap, run(9), func(t *testing.T, h *History) {
			edit(t, h, "runs/"+run(8), 2, func(r *job.Run) { r.Finished = began.Add(8500 * time.Millisecond) })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := good(t)
			c.bend(t, &h)
			found := Check(h)
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == c.rule && strings.HasPrefix(v.What, c.what) }) {
				t.Errorf("got:\n%swant a violation of %s about %s", lines(found), c.rule, c.what)
			}
		})
	}
}
