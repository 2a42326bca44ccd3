package history

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// target is a slot of a job and the result that the judge expects.
type target struct {
	Window // its effect must start in it
	slot   time.Time
	due    time.Time // the latest start if nothing delays it
	fault  bool      // a fault may delay it
	reason string    // why the slot need not run; empty: it must run
}

// targets returns a target for each slot of a job, sorted. It derives them from the job's definition, the faults, and the times
// of the job's own effects. For a job with a Tolerance it ignores rota's records of runs, except cancels by a client.
func (t *timeline) targets(j Job, effects []Effect) ([]target, error) {
	since, known := t.since[j.Name]
	if !known {
		since = j.From
	}
	if since.IsZero() {
		return nil, nil
	}
	slots, err := slotsOf(j, since, t.over)
	if err != nil {
		return nil, err
	}
	bounds := t.boundsOf(j, since, effects)
	list := make([]target, len(slots))
	for i, slot := range slots {
		list[i] = bounds.target(slot)
	}
	bounds.miss(list)
	list = slices.DeleteFunc(list, func(g target) bool { return bounds.isPaused(g.slot) && t.ahead(j, g.slot) == 0 })
	for i := range list {
		g := &list[i]
		ahead, paused := t.ahead(j, g.slot), bounds.isPaused(g.slot)
		if paused || t.asked(j, g.slot) {
			g.From = g.From.Add(-ahead)
		}
		switch {
		case g.Optional:
		case paused:
			g.Optional, g.reason = true, "the leader's clock was ahead"
		case t.withdrawn(j.Name + "/" + job.SlotID(g.slot)):
			g.Optional, g.reason = true, "canceled"
		case j.Tolerance == 0 && t.accounted(j, g.slot):
			g.Optional, g.reason = true, "as the store says"
		}
	}
	return list, nil
}

// ahead returns by how much the clock of the leader that decided a slot was ahead, if that is more than the skew. Such a slot may be
// decided before a pause of the job in which it lies, and run after it. Its run may begin early if nothing waits for its time, as
// after an approval.
func (t *timeline) ahead(j Job, slot time.Time) time.Duration {
	vs := t.runs[j.Name+"/"+job.SlotID(slot)]
	if j.Tolerance > 0 || len(vs) == 0 {
		return 0
	}
	if d := vs[0].run.Created.Sub(vs[0].Seen); !vs[0].Seen.IsZero() && d > t.Skew+clockReading {
		return d
	}
	return 0
}

// asked reports whether a person was asked to approve the run of a slot.
func (t *timeline) asked(j Job, slot time.Time) bool {
	vs := t.runs[j.Name+"/"+job.SlotID(slot)]
	return len(vs) > 0 && vs[len(vs)-1].run.Asked()
}

// bounds holds the input for the windows of a job's slots.
type bounds struct {
	job         Job
	tolerance   time.Duration
	slack, skew time.Duration
	from, until time.Time // as in Job
	over        time.Time
	troubles    spans // times in which faults may delay a run
	pauses      spans
	paused      []span // the same, each by itself: by a clock that is behind, a pause begins before the end of the one before
	// The next two fields are only for a job whose runs exclude each other.
	active []span // sorted, one per run: from its start, or the time it was due, to the latest end of it and earlier runs
	busy   spans  // times in which runs followed each other without a gap
}

func (t *timeline) boundsOf(j Job, since time.Time, effects []Effect) bounds {
	b := bounds{job: j, tolerance: j.Tolerance, slack: t.Slack, skew: t.Skew, from: j.From, until: j.Until, over: t.over}
	if j.Tolerance == 0 {
		b.tolerance, b.skew = t.Recovery, t.Skew+clockReading
	}
	if b.from.IsZero() {
		b.from = since.Add(t.Recovery)
	}
	var troubles, busy []span
	settle := t.Slack / settles
	for _, f := range t.Faults {
		if s, ok := t.trouble(f); ok {
			s.from = s.from.Add(-b.tolerance) // a run that was due just before may be delayed too
			troubles = append(troubles, s)
		}
	}
	pauses := t.pausesOf(j.Name)
	if j.Spec.Overlap != job.OverlapAllow {
		b.active, busy = t.active(effects, settle)
	}
	b.troubles, b.pauses, b.busy, b.paused = merge(troubles, 0), merge(pauses, 0), merge(busy, 0), pauses
	return b
}

// pausesOf lists when a job was paused, or all jobs were.
func (t *timeline) pausesOf(name string) (pauses []span) {
	for _, h := range slices.Concat(t.Halts, t.halts) {
		if h.Job == "" || h.Job == name {
			pauses = append(pauses, span{h.From, h.Until})
		}
	}
	return pauses
}

// trouble returns the interval in which a fault may delay a run; false if it delays none.
func (t *timeline) trouble(f Fault) (s span, ok bool) {
	delays := f.Delays
	if delays == 0 {
		delays = t.Recovery
	}
	s = span{f.At, f.At.Add(delays)}
	if f.Kind.Lasts() {
		if s.to = f.Until; !s.to.IsZero() {
			s.to = s.to.Add(delays)
		}
	}
	return s, delays > 0
}

// target returns the target for a slot. It does not apply the policy for missed slots.
func (b *bounds) target(slot time.Time) target {
	g := target{slot: slot, due: slot.Add(b.job.Spec.Jitter.Std())}
	g.From = slot.Add(-b.skew)
	var last time.Time
	if last, g.fault = b.delayed(slot, g.due); !last.IsZero() {
		g.To = last.Add(b.tolerance)
	}
	g.reason = b.excuse(&g)
	g.Optional = g.reason != ""
	if b.job.Tolerance == 0 {
		g.To = time.Time{}
	}
	return g
}

// delayed returns the latest start of a slot that is due at due, after all delays by faults, pauses and other runs. Zero means
// that the delay may last for ever. fault reports whether a fault is one of the causes.
func (b *bounds) delayed(slot, due time.Time) (last time.Time, fault bool) {
	for last = due; ; {
		before := last
		if s, ok := b.troubles.at(last); ok {
			last, fault = s.to, true
		}
		if s, ok := b.pauses.at(last); ok && !last.IsZero() { // a run that waits at the start of a pause waits for its end
			last = s.to
		}
		if !last.IsZero() {
			last = b.behind(slot, last)
		}
		// Missed slots run one after the other.
		if s, ok := b.busy.at(last); ok && !last.IsZero() && (fault || s.from.Before(slot)) {
			last = s.to
		}
		if last.IsZero() || last.Equal(before) {
			return last, fault
		}
	}
}

// excuse returns why a slot need not run although no fault prevented it; "" if it must run.
func (b *bounds) excuse(g *target) string {
	overlap := b.job.Spec.Overlap
	inTheWay := !b.behind(g.slot, g.slot).Equal(g.slot) || !b.behind(g.slot, g.due).Equal(g.due)
	switch {
	case inTheWay && (overlap == job.OverlapSkip || overlap == job.OverlapReplace):
		return "overlap"
	case g.To.IsZero() || g.To.After(b.over):
		return "not over yet"
	case b.pauses.touch(g.slot, g.To):
		return "paused"
	case !g.slot.After(b.from) || !b.until.IsZero() && g.slot.After(b.until):
		return "not judged"
	}
	return ""
}

// isPaused reports whether a slot is so far inside a pause that it certainly does not run.
func (b *bounds) isPaused(slot time.Time) bool {
	return slices.ContainsFunc(b.paused, func(s span) bool {
		return slot.After(s.from.Add(b.slack)) && (s.to.IsZero() || slot.Before(s.to.Add(-b.slack)))
	})
}

// miss marks a target as optional if a fault delays it and the job's policy for missed slots allows the skip.
func (b *bounds) miss(list []target) {
	for from := 0; from < len(list); from++ {
		if !list[from].fault {
			continue
		}
		to := from // the last slot that the same faults delay
		for to+1 < len(list) && list[to+1].fault {
			to++
		}
		for i := from; i <= to; i++ {
			if g := &list[i]; !g.Optional && b.mayMiss(g, to-i) {
				g.Optional, g.reason = true, "missed"
			}
		}
		from = to
	}
}

// mayMiss reports whether the job's policies allow to skip a slot that a fault delays. later is the number of slots after it
// that the same fault delays.
func (b *bounds) mayMiss(g *target, later int) bool {
	s := &b.job.Spec
	window, limit := s.MissedWindow.Std(), max(1, s.MissedLimit)
	switch {
	case s.Delivery == job.AtMostOnce: // it was given to a worker that is lost
		return true
	case s.Missed == job.MissedNone, s.Overlap == job.OverlapReplace && later > 0: // a later slot takes its place
		return true
	case s.Missed == job.MissedAll && later >= limit, s.Missed == job.MissedLatest && later > 0:
		return true
	}
	return window > 0 && (g.To.IsZero() || g.To.Sub(g.slot) > window)
}

// withdrawn reports whether a client canceled the run.
func (t *timeline) withdrawn(name string) bool {
	vs := t.runs[name]
	if len(vs) == 0 {
		return false
	}
	c := last(vs).Cancel
	return c != nil && c.By != "rota"
}

// accounted reports whether the store states the result of a slot. Then the slot is judged by this result.
func (t *timeline) accounted(j Job, slot time.Time) bool {
	name := j.Name + "/" + job.SlotID(slot)
	if vs := t.runs[name]; len(vs) > 0 {
		return last(vs).State != job.Succeeded
	}
	_, stated := t.stated(j.Name, slot)
	return stated || t.ByHand[t.Prefix+"/runs/"+name]
}

// stated returns the range of skipped slots that contains slot; false if there is none.
func (t *timeline) stated(name string, slot time.Time) (skip, bool) {
	i := slices.IndexFunc(t.skips[name], func(s skip) bool { return !slot.Before(s.from) && !slot.After(s.to) })
	if i < 0 {
		return skip{}, false
	}
	return t.skips[name][i], true
}
