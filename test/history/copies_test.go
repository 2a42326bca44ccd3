package history

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// spread returns a history of three slots of a job that runs on every worker of zone a. Two workers are in the zone, and a third
// joins after the first slot. A copy of the second slot loses its worker and is repeated there, and the last slot fails on one.
func spread(t *testing.T) History {
	p := newTape(t)
	p.lead("a")
	p.define("sweep", job.Spec{Every: job.Duration(10 * time.Second), Workers: map[string]string{"zone": "a", job.EveryWorker: "true"}})
	p.history.Jobs[0].MayFail = true
	p.history.Recovery, p.history.Slack = 2*time.Second, time.Second
	join := func(name, zone string) {
		p.commit(map[string]any{"workers/" + name: job.Worker{Name: name, Session: "s", Labels: map[string]string{"zone": zone}}})
	}
	join("q1", "a")
	join("q2", "a")
	join("other", "b")
	for i, workers := range [][]string{{"q1", "q2"}, {"q1", "q2", "q3"}, {"q1", "q2", "q3"}} {
		slot := sec(float64(10 * (i + 1)))
		p.now = slot
		r := job.Run{Job: "sweep", ID: job.SlotID(slot), Kind: job.KindScheduled, Slot: slot, Due: slot, State: job.Pending, Term: p.term}
		r = r.SpreadOver(workers, slot)
		r.Rev = p.commit(map[string]any{
			"runs/" + r.Name(): r, "cursors/sweep": job.Cursor{Job: "sweep", After: slot, Next: slot.Add(10 * time.Second), Term: p.term},
		})
		var bad []string
		for _, worker := range workers {
			p.now = p.now.Add(100 * time.Millisecond)
			c := r.Copy(worker, p.now)
			c.Term = p.term
			c = p.save(c.Assign(&job.Worker{Name: worker, Session: "s"}))
			switch {
			case i == 1 && worker == "q2":
				c = p.execute(c, false)
				p.history.Faults = append(p.history.Faults, Fault{Kind: Kill, Node: "q2", At: p.now.Add(50 * time.Millisecond)})
				p.now = p.now.Add(time.Second)
				c, err := c.Requeue(job.Outcome{State: job.Lost, At: p.now}, p.now, "tried again")
				if err != nil {
					t.Fatal(err)
				}
				p.succeed(p.execute(p.save(c.Assign(&job.Worker{Name: "q2", Session: "t"})), true))
			case i == 2 && worker == "q3":
				c = p.execute(c, false)
				p.save(c.Finish(job.Outcome{State: job.Failed, At: p.now.Add(60 * time.Millisecond)}))
				bad = append(bad, worker)
			default:
				p.succeed(p.execute(c, true))
			}
		}
		p.now = p.now.Add(100 * time.Millisecond)
		r.Copied = true
		p.save(r, nil)
		p.save(r.Gather(bad, p.now))
		if i == 0 {
			join("q3", "a")
		}
	}
	p.history.Over = p.now.Add(time.Second)
	return p.history
}

// TestCopies gives the judge the runs of a job on every worker, as they should be and with one thing changed.
func TestCopies(t *testing.T) {
	if found := Check(spread(t)); len(found) > 0 {
		t.Fatalf("violations of a good history:\n%s", lines(found))
	}
	first, second, third := "runs/sweep/"+slotAt(10), "runs/sweep/"+slotAt(20), "runs/sweep/"+slotAt(30)
	drop := func(h *History, keys ...string) {
		h.Versions = slices.DeleteFunc(h.Versions, func(v Version) bool { return slices.Contains(keys, strings.TrimPrefix(v.Key, "/rota/")) })
	}
	all := func(t *testing.T, h *History, key string, n int, change func(*job.Run)) {
		for i := range n {
			edit(t, h, key, i, change)
		}
	}
	for _, c := range []struct {
		name   string
		rule   string
		change func(t *testing.T, h *History)
	}{
		{"a copy is missing", RuleCopy, func(_ *testing.T, h *History) {
			drop(h, first+".q2")
			h.Effects = slices.DeleteFunc(h.Effects, func(e Effect) bool { return "runs/"+e.Run == first+".q2" })
		}},
		{"a worker was left out", RuleCopy, func(t *testing.T, h *History) {
			drop(h, first+".q2")
			h.Effects = slices.DeleteFunc(h.Effects, func(e Effect) bool { return "runs/"+e.Run == first+".q2" })
			all(t, h, first, 3, func(r *job.Run) { r.Copies = []string{"q1"} })
		}},
		{"a worker was chosen before it joined", RuleCopy, func(_ *testing.T, h *History) {
			i := slices.IndexFunc(h.Versions, func(v Version) bool { return v.Key == "/rota/workers/q3" })
			v := h.Versions[i]
			h.Versions = slices.Delete(h.Versions, i, i+1)
			more(h, v)
		}},
		{"a worker of another zone was chosen", RuleCopy, func(t *testing.T, h *History) {
			edit(t, h, "workers/q2", 0, func(w *job.Worker) { w.Labels["zone"] = "b" })
		}},
		{"the workers change", RuleCopy, func(t *testing.T, h *History) {
			edit(t, h, first, 1, func(r *job.Run) { r.Copies = []string{"q1", "q2", "q3"} })
		}},
		{"a copy moves to another worker", RuleCopy, func(t *testing.T, h *History) {
			edit(t, h, second+".q2", 3, func(r *job.Run) { r.Worker = "q1" })
		}},
		{"the run itself is given to a worker", RuleCopy, func(t *testing.T, h *History) {
			edit(t, h, first, 1, func(r *job.Run) { r.State, r.Worker, r.Attempt = job.Armed, "q1", 1 })
		}},
		{"a run succeeds although a copy failed", RuleCopy, func(t *testing.T, h *History) {
			edit(t, h, third, 2, func(r *job.Run) { r.State = job.Succeeded })
		}},
		{"a run fails although all copies succeeded", RuleCopy, func(t *testing.T, h *History) {
			edit(t, h, first, 2, func(r *job.Run) { r.State = job.Failed })
		}},
		{"a run ends before its copies", RuleCopy, func(t *testing.T, h *History) {
			i := version(t, h, first+".q2", 2)
			v := h.Versions[i]
			h.Versions = slices.Delete(h.Versions, i, i+1)
			more(h, v)
		}},
		{"a run succeeds without copies", RuleTransition, func(t *testing.T, h *History) {
			drop(h, first+".q1", first+".q2")
			all(t, h, first, 3, func(r *job.Run) { r.Copies = nil })
		}},
		{"a copy for a worker that its run does not name", RuleCopy, func(t *testing.T, h *History) {
			all(t, h, first, 3, func(r *job.Run) { r.Copies = []string{"q1"} })
		}},
		{"a copy is given up although its worker is there", RuleCopy, func(t *testing.T, h *History) {
			edit(t, h, third+".q3", 2, func(r *job.Run) {
				r.State, r.Reason = job.Skipped, "worker q3 was absent, or did not accept the run, for 5m"
			})
		}},
		{"a copy runs twice without a fault", RuleDouble, func(_ *testing.T, h *History) { h.Faults = nil }},
		{"copies of two slots run at a time", RuleOverlap, func(t *testing.T, h *History) {
			e := effect(t, h, "sweep/"+slotAt(10)+".q1")
			h.Effects[e].Ended = sec(21)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := spread(t)
			c.change(t, &h)
			found := Check(h)
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == c.rule }) {
				t.Errorf("got:\n%swant a violation of %s", lines(found), c.rule)
			}
		})
	}
}
