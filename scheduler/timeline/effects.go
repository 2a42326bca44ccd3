package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// named is how many names a sentence lists.
const named = 5

// tellRuns says what the incident did to the runs that history still has, and which of them need a person.
func (t *teller) tellRuns() {
	var retried []string
	var lost []*job.Run
	late, slowest := map[string]bool{}, time.Duration(0)
	for _, r := range t.Runs {
		if r.State == job.Lost && t.within(r.Finished, aftermath) {
			lost = append(lost, r)
		}
		for i, a := range r.Attempts {
			final := i == len(r.Attempts)-1 && r.State == job.Lost
			if a.State == job.Lost && !final && t.within(a.Finished, aftermath) {
				retried = append(retried, r.Job)
				break
			}
		}
		if at := firstStart(r); r.Late && !at.IsZero() && t.within(at, aftermath) {
			late[r.Job] = true
			slowest = max(slowest, at.Sub(r.Slot))
		}
	}
	switch {
	case len(retried) == 0 && len(lost) == 0:
		t.say("No run in history was retried or lost")
	case len(retried) == 0:
		t.say("No run in history was retried, ", counted(len(lost), "run"), verb(len(lost), " is", " are"), " lost")
	default:
		t.say(counted(len(retried), "run"), " in history", verb(len(retried), " was", " were"), " retried (", names(retried), "), ",
			fmt.Sprint(len(lost)), " lost")
	}
	t.tellMissed()
	if slowest >= time.Second {
		slowest = slowest.Round(time.Second)
	}
	if len(late) > 0 {
		t.say(counted(len(late), "job"), " ran up to ", span(slowest), " late")
	}
	slices.SortFunc(lost, func(a, b *job.Run) int { return strings.Compare(a.Name(), b.Name()) })
	for _, r := range lost[:min(len(lost), named)] {
		t.say(r.Name(), " is lost: check its target, then run `rota retry ", r.Name(), "` if it did not take place")
	}
	if more := len(lost) - named; more > 0 {
		t.say(counted(more, "more run"), verb(more, " is", " are"), " lost: `rota runs --state lost` lists them")
	}
}

// unled reports whether a slot was missed because nobody led: another term began shortly before it was found missed. If all
// replicas crash, none of them observes that, so the slot is the only sign of when it was.
func (f Facts) unled(slot, found time.Time) bool {
	return !slot.IsZero() && slices.ContainsFunc(f.Cluster, func(e *job.Event) bool {
		return e.Kind == job.EventLeader && e.Previous != "" && e.At.After(slot) && !e.At.After(found) && found.Sub(e.At) <= aftermath
	})
}

// tellMissed counts the slots of each job that passed while nobody could dispatch them.
func (t *teller) tellMissed() {
	missed, partial := map[string]int{}, map[string]bool{}
	for _, e := range t.Events {
		if e.Kind == job.EventSkipped && isMissed(e.Reason) && t.within(e.At, aftermath) {
			missed[e.Job] += e.Count
			partial[e.Job] = partial[e.Job] || e.Partial
		}
	}
	for _, r := range t.Runs {
		if r.State == job.Skipped && isMissed(r.Reason) && t.within(r.Finished, aftermath) {
			missed[r.Job]++
		}
	}
	var jobs []string
	total := 0
	for name, n := range missed {
		jobs = append(jobs, name)
		total += n
	}
	slices.Sort(jobs)
	for _, name := range jobs[:min(len(jobs), named)] {
		atLeast := ""
		if partial[name] {
			atLeast = "At least "
		}
		t.say(atLeast, counted(missed[name], "slot"), " of ", name, verb(missed[name], " was", " were"), " skipped")
		total -= missed[name]
	}
	if total > 0 {
		t.say(counted(total, "slot"), " of ", counted(len(jobs)-named, "other job"), " were skipped too")
	}
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// names lists the first names, each once, in their order.
func names(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	list = slices.Compact(list)
	if more := len(list) - named; more > 0 {
		return strings.Join(list[:named], ", ") + " and " + counted(more, "other")
	}
	return strings.Join(list, ", ")
}
