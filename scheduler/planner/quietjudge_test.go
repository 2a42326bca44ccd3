package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// judge says what the documentation allows to become of each slot and run, and compares it with what became of it. It knows nothing of
// how the planner decides. It covers slots, missed, overlap, pauses, retries, start_within, approvals, limits, workflows that the
// schedule or a client starts, backfills, rates, breakers and finish_by. It does not cover edits of steps and calendars.
type judge struct {
	*quiet
	until time.Time // what begins later is not judged
	errs  []string
}

func (g *judge) fail(format string, args ...any) {
	if len(g.errs) < 10 {
		g.errs = append(g.errs, fmt.Sprintf(format, args...))
	}
}

// of returns the runs of a job.
func (g *judge) of(name string) (list []*life) {
	for _, l := range g.lives {
		if l.Job == name {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b *life) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// wanted returns since when a run has been due: its slot with the jitter, its submission, or the end of its parents.
func (l *life) wanted() time.Time {
	if !l.ready.IsZero() {
		return l.ready
	}
	if l.Kind == job.KindScheduled && len(l.After) == 0 {
		return l.Slot.Add(l.jitter)
	}
	return l.created
}

// delay returns how much later than its time the run began, without the time in which a person kept it waiting.
func (l *life) delay() time.Duration {
	if !l.asked.IsZero() {
		return l.asked.Sub(l.wanted())
	}
	if len(l.started) == 0 {
		return never.Sub(l.wanted())
	}
	return l.first().Sub(l.wanted())
}

// end returns when the run ended; never if it has not.
func (l *life) end() time.Time {
	if l.ended.IsZero() {
		return never
	}
	return l.ended
}

// active returns the runs of a job that are active when a slot is due, without its own.
func (g *judge) active(name string, due time.Time) (list []*life) {
	for _, l := range g.of(name) {
		begun := len(l.started) > 0 && !l.first().After(due)
		if l.Kind == job.KindBackfill || len(l.After) > 0 {
			continue
		}
		if (l.wanted().Before(due) || begun) && l.end().After(due) && !(l.Kind == job.KindScheduled && l.wanted().Equal(due)) {
			list = append(list, l)
		}
	}
	return list
}

// slots judges all slots of a job without parents. A slot belongs to the schedule that the job has when it is due.
func (g *judge) slots(j *job.Job) {
	schedules, jitter := g.schedules(j.Name), g.jitter(j.Name)
	for _, e := range schedules {
		every := e.spec.Every.Std()
		first := e.from.Add(-jitter).Truncate(every).Add(every)
		for s := first; s.Add(jitter).Before(job.Earlier(g.until, e.to)); s = s.Add(every) {
			if s.After(j.Created) && s.Before(g.until) {
				g.slot(j.Name, e, s)
			}
		}
	}
	for _, l := range g.of(j.Name) { // armed ahead, before an edit that left out the slot
		i := slices.IndexFunc(schedules, func(e era) bool { return e.has(l.Slot.Add(jitter)) })
		if l.Kind == job.KindScheduled && (i < 0 || !l.Slot.Truncate(schedules[i].spec.Every.Std()).Equal(l.Slot) && !l.created.Before(schedules[i].from)) {
			g.fail("run %s is of no slot", l.Name())
		}
	}
}

// slot judges a slot of a schedule.
func (g *judge) slot(name string, e era, s time.Time) {
	r := g.lives[name+"/"+job.SlotID(s)]
	var reasons []string
	decided := never
	for _, e := range g.skips[name] {
		if covers(s)(e) {
			reasons, decided = append(reasons, e.Reason), e.At
		}
	}
	if r != nil {
		decided = r.created
	}
	if r != nil && r.State == job.Skipped && len(r.After) == 0 && !strings.HasPrefix(r.Reason, "waited") && r.asked.IsZero() {
		reasons = append(reasons, r.Reason)
	} else if r != nil {
		reasons = append(reasons, "")
	}
	due := s.Add(g.jitter(name))
	if len(reasons) == 0 && e.to.Before(never) {
		if _, ok := uncovered(due, e.to, g.down, g.paused[""], g.paused[name], g.busy(name)); !ok {
			return // it was undecided when the schedule changed
		}
	}
	if len(reasons) != 1 {
		g.fail("slot %s %v has the fates %q", name, s, reasons)
		return
	}
	why := g.refuteEdited(name, e, s, decided, reasons[0])
	if r != nil && r.State == job.Skipped { // it may have been armed ahead
		decided = r.ended
	}
	if specs := g.during(name, job.Earlier(due, decided), job.Later(due, decided)); why == "" && (r != nil || decided.Before(e.to)) && reasons[0] != policy.ReasonOvertaken {
		for i := 0; i < len(specs) && (i == 0 || why != ""); i++ {
			why = g.refute(name, specs[i], due, decided, r, reasons[0])
		}
	}
	if why != "" {
		g.fail("slot %s/%s (%q) %s", name, job.SlotID(s), reasons[0], why)
	}
}

// refute returns why a slot must not have had its fate; "" if it may. reason is that of a skipped slot. s is when it was due.
func (g *judge) refute(name string, spec *job.Spec, s, decided time.Time, r *life, reason string) string {
	if r != nil && r.State == job.Canceled && len(r.started) == 0 && (r.created.Before(s) || r.end().Before(s)) { // a person was faster
		return ""
	}
	if paused := g.off(name, s); paused || reason == "paused" {
		switch begun := r != nil && len(r.started) > 0; {
		case !paused:
			return "lies in no pause"
		case reason != "paused" && !begun:
			return "lies in a pause"
		case begun:
			return "ran in a pause"
		}
		return ""
	}
	active := g.active(name, s)
	down := within(s, g.down)
	onTime := func(l *life) bool { return !l.first().IsZero() && l.first().Equal(l.wanted()) }
	missed := down // whether missed may decide about it
	fair := true   // whether each active run was on time
	for _, l := range active {
		late := !onTime(l) && (l.delay() > 0 || !l.approved.IsZero() && !l.first().Equal(l.approved))
		fair = fair && !late
		lost := slices.ContainsFunc(l.losses, func(at time.Time) bool { return !at.After(decided) })
		missed = missed || late || len(l.over) > 1 && len(g.down) > 0 || lost // the loss delayed it, or nobody knows whether it was alive
		fair = fair && !lost
		for _, d := range g.down { // the next leader finds the slot undecided
			open := !d.from.Before(s) && d.from.Before(decided)
			missed, fair = missed || open, fair && !open
		}
	}
	later := s.Add(spec.Every.Std()) // the next slot that lies in no pause
	for g.off(name, later) {
		later = later.Add(spec.Every.Std())
	}
	switch overlap := strings.HasPrefix(reason, "overlap: "); {
	case strings.HasPrefix(reason, "missed: "):
		switch kind := strings.TrimPrefix(reason, "missed: "); {
		case !missed:
			return fmt.Sprintf("was not missed: %s", g.list(active))
		case strings.HasPrefix(kind, "nobody could"):
			if spec.Missed != job.MissedNone {
				return "is not for missed: none"
			}
		case strings.HasPrefix(kind, "a later slot"):
			if spec.Missed != job.MissedLatest {
				return "is not for missed: latest"
			}
			if e := g.lives[name+"/"+job.SlotID(later.Add(-g.jitter(name)))]; e != nil && e.created.Before(later) {
				return "yields to a slot that was not due"
			}
		case strings.HasPrefix(kind, "beyond the limit"):
			if spec.Missed != job.MissedAll {
				return "is not for missed: all"
			}
		case spec.MissedWindow == 0:
			return "has no window"
		}
	case overlap && reason == "overlap: a later slot replaces it":
		if spec.Overlap != job.OverlapReplace {
			return "is not for its overlap"
		}
		if len(active) == 0 && !down {
			return "had no earlier run"
		}
	case overlap:
		if spec.Overlap != job.OverlapSkip {
			return "is not for its overlap"
		}
		id := strings.Fields(reason)[2]
		l := g.lives[name+"/"+id]
		switch {
		case l == nil:
			return "names no run"
		case strings.Contains(reason, "would still"):
			if at := s.Add(l.delay()); l.wanted().After(s) || !l.end().After(at) || down {
				return "would not have met it"
			}
		case !slices.Contains(active, l):
			return "met no active run"
		}
	case reason != "":
		return "has an unknown reason"
	case len(active) == 0 && !down: // it runs
	case spec.Missed == job.MissedNone && down && len(active) == 0 && !g.armedBefore(r, s):
		return "ran although it was missed"
	case spec.Missed == job.MissedLatest && down && later.Before(g.until) && within(later, g.down) && !r.created.Before(later) && !g.armedBefore(r, s):
		return "ran although a later one was missed"
	case spec.Overlap == job.OverlapSkip && len(active) > 0 && fair && !down:
		return "met an active run: " + g.list(active)
	}
	return ""
}

// off reports whether a slot lies in a pause, or comes due in one.
func (g *judge) off(name string, due time.Time) bool {
	slot := due.Add(-g.jitter(name))
	return within(slot, g.paused[""], g.paused[name]) || within(due, g.paused[""], g.paused[name])
}

// armedBefore reports whether a run was armed ahead of a time, or ended before it.
func (g *judge) armedBefore(r *life, at time.Time) bool {
	return r.end().Before(at) || len(r.armed) > 0 && r.armed[0].Before(at)
}

func (g *judge) list(runs []*life) string {
	var names []string
	for _, l := range runs {
		names = append(names, fmt.Sprintf("%s from %s to %s, delay %v", l.Name(), l.first().Format(time.TimeOnly), l.end().Format(time.TimeOnly), l.delay()))
	}
	return strings.Join(names, "; ")
}
