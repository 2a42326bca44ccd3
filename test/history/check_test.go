package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// began is when the histories of this file begin.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// tape writes a history as a cluster would.
type tape struct {
	t       *testing.T
	history History
	rev     int64
	create  map[string]int64
	now     time.Time
	term    int64
	decided time.Time // when the next decision is made by its leader's clock; zero: now
	later   func()    // what is done after it; may be nil
}

func newTape(t *testing.T) *tape {
	return &tape{t: t, history: History{Prefix: "/rota"}, create: make(map[string]int64), now: began}
}

// commit writes records in one transaction and returns its revision. A nil record deletes its key.
func (p *tape) commit(records map[string]any) int64 {
	p.rev++
	for key, record := range records {
		key = "/rota/" + key
		if record == nil {
			delete(p.create, key)
			p.history.Versions = append(p.history.Versions, Version{Key: key, Rev: p.rev, Deleted: true, Seen: p.now})
			continue
		}
		if p.create[key] == 0 {
			p.create[key] = p.rev
		}
		value, err := json.Marshal(record)
		if err != nil {
			p.t.Fatal(err)
		}
		p.history.Versions = append(p.history.Versions, Version{Key: key, Value: value, Rev: p.rev, Create: p.create[key], Seen: p.now})
	}
	return p.rev
}

func (p *tape) lead(key string) {
	p.term = p.commit(map[string]any{"election/" + key: map[string]string{"node": "node-" + key}})
}

func (p *tape) define(name string, spec job.Spec) {
	spec = spec.WithDefaults()
	p.history.Jobs = append(p.history.Jobs, Job{Name: name, Spec: spec, Effects: true})
	p.commit(map[string]any{"jobs/" + name: job.Job{Name: name, Generation: 1, Since: p.now, Spec: &spec}})
}

// arm gives a slot's run to a worker.
func (p *tape) arm(name string, slot time.Time, worker string) job.Run {
	r := job.Run{Job: name, ID: job.SlotID(slot), Kind: job.KindScheduled, Slot: slot, Due: slot, State: job.Pending, Term: p.term}
	r, err := r.Assign(&job.Worker{Name: worker, Session: "s"})
	if err != nil {
		p.t.Fatal(err)
	}
	r.Rev = p.commit(map[string]any{
		"runs/" + r.Name(): r,
		"cursors/" + name:  job.Cursor{Job: name, After: slot, Next: slot.Add(time.Second), Term: p.term},
	})
	return r
}

func (p *tape) save(r job.Run, err error) job.Run {
	if err != nil {
		p.t.Fatal(err)
	}
	r.Rev = p.commit(map[string]any{"runs/" + r.Name(): r})
	return r
}

// execute claims a run and lets its target see it.
func (p *tape) execute(r job.Run, ends bool) job.Run {
	r = p.save(r.Claim(r.Rev, p.now))
	e := Effect{Job: r.Job, Run: r.Name(), Attempt: r.Attempt, Token: r.Token, Key: r.IdempotencyKey(), Arrived: p.now.Add(10 * time.Millisecond)}
	if ends {
		e.Ended, e.Well = p.now.Add(50*time.Millisecond), true
	}
	p.history.Effects = append(p.history.Effects, e)
	return r
}

func (p *tape) succeed(r job.Run) {
	p.save(r.Finish(job.Outcome{State: job.Succeeded, At: p.now.Add(60 * time.Millisecond)}))
}

// good is ten seconds of two jobs, one of which may overlap. At the fifth second the leader, which is a worker too, is
// killed in the middle of a run of each; another takes over and tries these again.
func good(t *testing.T) History {
	p := newTape(t)
	p.lead("a")
	p.commit(map[string]any{"election/b": map[string]string{}})
	second := p.rev
	every := job.Duration(time.Second)
	p.define("charge", job.Spec{Every: every, Missed: job.MissedAll})
	p.define("ping", job.Spec{Every: every, Missed: job.MissedAll, Overlap: job.OverlapAllow})
	for i := 1; i <= 10; i++ {
		p.now = began.Add(time.Duration(i) * time.Second)
		switch i {
		case 5:
			charge := p.execute(p.arm("charge", p.now, "q1"), false)
			ping := p.execute(p.arm("ping", p.now, "q1"), false)
			p.history.Faults = append(p.history.Faults, Fault{Kind: Kill, Node: "q1", At: p.now.Add(100 * time.Millisecond)})
			p.commit(map[string]any{"election/a": nil})
			p.now = began.Add(5800 * time.Millisecond)
			p.term = second
			for _, r := range []job.Run{charge, ping} {
				r, err := r.Again(job.Outcome{State: job.Lost, At: p.now}, p.now, "tried again")
				if err != nil {
					t.Fatal(err)
				}
				r.Term = p.term
				p.succeed(p.execute(p.save(r.Assign(&job.Worker{Name: "q2", Session: "t"})), true))
				p.now = p.now.Add(100 * time.Millisecond)
			}
		case 8: // for once, the target was slow
			slow := p.execute(p.arm("charge", p.now, "q2"), false)
			e := &p.history.Effects[len(p.history.Effects)-1]
			e.Ended, e.Well = p.now.Add(1500*time.Millisecond), true
			p.succeed(p.execute(p.arm("ping", p.now, "q3"), true))
			next := job.Run{
				Job: "charge", ID: job.SlotID(p.now.Add(time.Second)), Kind: job.KindScheduled, State: job.Skipped, Term: p.term,
				Slot: p.now.Add(time.Second), Due: p.now.Add(time.Second), Reason: "overlap: run " + slow.ID + " is still active",
			}
			p.commit(map[string]any{"runs/" + next.Name(): next, "cursors/charge": job.Cursor{Job: "charge", After: next.Slot, Term: p.term}})
			p.now = p.now.Add(1500 * time.Millisecond)
			p.succeed(slow)
		case 9:
			p.succeed(p.execute(p.arm("ping", p.now, "q3"), true))
		default:
			p.succeed(p.execute(p.arm("charge", p.now, "q2"), true))
			p.now = p.now.Add(100 * time.Millisecond)
			p.succeed(p.execute(p.arm("ping", began.Add(time.Duration(i)*time.Second), "q3"), true))
		}
	}
	return p.history
}

func TestAGoodHistoryPasses(t *testing.T) {
	if found := Check(good(t)); len(found) > 0 {
		t.Errorf("violations in a good history:\n%s", lines(found))
	}
}

func lines(found []Violation) string {
	var b strings.Builder
	for _, v := range found {
		fmt.Fprintln(&b, v)
	}
	return b.String()
}

func slotAt(i int) string { return job.SlotID(began.Add(time.Duration(i) * time.Second)) }

// version finds the nth version, from 0, of a key.
func version(t *testing.T, h *History, key string, n int) int {
	t.Helper()
	for i, v := range h.Versions {
		if v.Key == "/rota/"+key {
			if n == 0 {
				return i
			}
			n--
		}
	}
	t.Fatalf("no such version of %s", key)
	return 0
}

// edit changes one version of a record.
func edit[T any](t *testing.T, h *History, key string, n int, change func(*T)) {
	t.Helper()
	i := version(t, h, key, n)
	var record T
	if err := json.Unmarshal(h.Versions[i].Value, &record); err != nil {
		t.Fatal(err)
	}
	change(&record)
	value, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	h.Versions[i].Value = value
}

// effect finds the first effect of a run.
func effect(t *testing.T, h *History, run string) int {
	t.Helper()
	i := slices.IndexFunc(h.Effects, func(e Effect) bool { return e.Run == run })
	if i < 0 {
		t.Fatalf("no effect of %s", run)
	}
	return i
}

// more appends another version of a key, one revision after all others.
func more(h *History, v Version) {
	v.Rev = h.Versions[len(h.Versions)-1].Rev + 1
	h.Versions = append(h.Versions, v)
}

// removeJob removes charge between its sixth and its seventh run, and defines it again at once if back.
func removeJob(t *testing.T, h *History, back bool) {
	t.Helper()
	h.Jobs[0].Edited = true
	i := version(t, h, "runs/charge/"+slotAt(7), 0)
	i = min(i, version(t, h, "cursors/charge", 6-1)) // the two are in no order
	rev := h.Versions[i].Rev
	removed := []Version{{Key: "/rota/jobs/charge", Rev: rev - 1, Deleted: true}}
	if back {
		value, err := json.Marshal(job.Job{Name: "charge", Generation: 1, Since: began.Add(6 * time.Second), Spec: &h.Jobs[0].Spec})
		if err != nil {
			t.Fatal(err)
		}
		removed = append(removed, Version{Key: "/rota/jobs/charge", Rev: rev - 1, Create: rev - 1, Value: value})
	}
	h.Versions = slices.Insert(h.Versions, i, removed...)
}

func TestWhatAFaultExplainsPasses(t *testing.T) {
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

func TestTheVerdictSaysWhatItLookedAt(t *testing.T) {
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
		what string // begins with
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
		{"a run that is canceled by nobody", RuleMissed, run(3), func(t *testing.T, h *History) {
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
		{"a run is executed again though nobody was killed", RuleDouble, run(5), func(_ *testing.T, h *History) { h.Faults = nil }},
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
		{"a run that may be delivered once is given out again", RuleDouble, run(5), func(_ *testing.T, h *History) {
			h.Jobs[0].Spec.Delivery = job.AtMostOnce
		}},
		{"an old token comes late though nobody was paused", RuleDouble, run(5), func(t *testing.T, h *History) {
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
