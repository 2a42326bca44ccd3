package sim

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// judgeLimits checks, by the records at each revision, that a limit has no more holders than allowed. For limits of one it also
// checks the executions. Attempts under a rate start at least its interval apart.
func (w *world) judgeLimits(list []*execution) {
	held := holders{world: w, by: make(map[string]map[string]bool)}
	paces := make(paces)
	runs := make(map[string]job.Run)
	deleted := make(map[string]int) // number of deletions of each limit
	for _, v := range w.recorder.history() {
		if limit, is := strings.CutPrefix(v.Key, prefix+"/limits/"); is && v.Deleted {
			deleted[limit]++
		}
		name, isRun := strings.CutPrefix(v.Key, prefix+"/runs/")
		var r job.Run
		if !isRun || !v.Deleted && json.Unmarshal(v.Value, &r) != nil {
			continue
		}
		held.note(v.Rev, name, &r)
		if r.State == job.Running && runs[name].State != job.Running {
			paces.note(w, &r, deleted)
		}
		w.tallyGuards(runs[name], r)
		runs[name] = r
	}
	held.check(0)
	paces.judge(w)
	w.judgeSingle(list)
}

// holders are the runs that hold each limit. The writes of one transaction are judged together.
type holders struct {
	world *world
	rev   int64
	by    map[string]map[string]bool // run names by limit
}

func (h *holders) note(rev int64, name string, r *job.Run) {
	h.check(rev)
	for limit := range h.world.plan.limits {
		if h.by[limit] == nil {
			h.by[limit] = make(map[string]bool)
		}
		delete(h.by[limit], name)
		if (r.State == job.Armed || r.State == job.Running) && slices.Contains(r.Limits, limit) {
			h.by[limit][name] = true
		}
	}
}

// check judges the last transaction before next.
func (h *holders) check(next int64) {
	if h.rev == next {
		return
	}
	for limit, spec := range h.world.plan.limits {
		if n := len(h.by[limit]); spec.Concurrent > 0 && n > spec.Concurrent {
			h.world.fail("%d runs hold limit %s at revision %d, and %d may: %v", n, limit, h.rev, spec.Concurrent, h.by[limit])
		}
	}
	h.rev = next
}

// paces has the starts of attempts that a rate limits, by the name of the rate.
type paces map[string][]paced

type paced struct {
	run  string
	at   time.Time // by the clock of the leader of term
	term int64
	gap  time.Duration // the minimum interval to the attempts before and after it
	life int           // life of the limit: after a new definition, earlier attempts do not count
}

func (p paces) note(w *world, r *job.Run, lives map[string]int) {
	at := r.Due
	if r.Armed.After(at) {
		at = r.Armed
	}
	add := func(name string, rate job.Rate, life int) {
		if gap := rate.Interval(); gap > 0 {
			p[name] = append(p[name], paced{r.Name(), at, r.Term, gap, life})
		}
	}
	add("job "+r.Job, w.specOf(r.Job).Rate, 0)
	for _, limit := range r.Limits {
		add("limit "+limit, w.plan.limits[limit].Rate, lives[limit])
	}
}

// judge checks the intervals between attempts by the leaders' clocks. The clocks of two leaders may differ.
func (p paces) judge(w *world) {
	if w.plan.clocksSet {
		return
	}
	for name, list := range p {
		slices.SortFunc(list, func(a, b paced) int { return a.at.Compare(b.at) })
		for i := 1; i < len(list); i++ {
			a, b := list[i-1], list[i]
			gap := b.gap
			if a.term != b.term {
				gap -= 2 * usualOffset
			}
			if b.at.Sub(a.at) < gap && a.life == b.life {
				w.fail("%s: %s began %v after %s, %v must lie between", name, b.run, b.at.Sub(a.at), a.run, b.gap)
				w.suspect(a.run)
				w.suspect(b.run)
			}
		}
	}
}

// judgeSingle checks that executions under a limit of one do not overlap.
func (w *world) judgeSingle(list []*execution) {
	var open []*execution
	for _, e := range list {
		open = slices.DeleteFunc(open, func(o *execution) bool { return !o.over.IsZero() && !o.over.After(e.Arrived) })
		if !slices.Contains(w.specOf(e.Job).Limits, "single") {
			continue
		}
		for _, before := range open {
			if !w.ends(e, before) {
				w.fail("%s began at %s on %s under a limit that %s held, which executed on %s until %s", e.Run, clockTime(e.Arrived),
					e.process.machine.name, before.Run, before.process.machine.name, clockTime(before.over))
				w.suspect(e.Job)
				w.suspect(before.Job)
			}
		}
		open = append(open, e)
	}
}

func (w *world) specOf(name string) job.Spec {
	s, _ := w.caller.specOf(name)
	return s
}

// tallyGuards counts the effects of limits, rates and breakers that a step of a run shows.
func (w *world) tallyGuards(was, is job.Run) {
	if is.State == job.Running && was.State != job.Running && len(is.Limits) > 0 {
		w.tally.add(heldAtLimit)
	}
	if is.Reason == was.Reason {
		return
	}
	for start, what := range map[string]string{"limit ": waitedAtLimit, "rate ": waitedAtRate, "breaker ": waitedBreaker} {
		if strings.HasPrefix(is.Reason, start) {
			w.tally.add(what)
		}
	}
}
