package history

import (
	"github.com/rota-scheduler/rota/scheduler/job"
)

// slotsUntil counts the slots after the slots of p that were due when p was decided.
func (t *timeline) slotsUntil(p plea) int {
	slots, err := slotsOf(p.job, p.to, p.at)
	if err != nil {
		t.report(RuleSlot, p.job.Name, err.Error())
	}
	return len(slots)
}

// waiting counts the runs of a job that waited when p was decided. It includes runs that clients may have canceled by then.
func (t *timeline) waiting(p plea) (n int) {
	for _, name := range t.of[p.job.Name] {
		var then *job.Run
		for i, v := range t.runs[name] {
			if v.Rev >= p.rev {
				break
			}
			then = &t.runs[name][i].run
		}
		if then != nil && name != p.run && then.Attempt == 0 && (then.State == job.Pending || then.State == job.Canceled) {
			n++
		}
	}
	return n
}

// couldNotDispatch reports whether a slot may have passed while no replica could dispatch it. It also returns true if an
// earlier run was in the way that was late or had lost its worker.
func (t *timeline) couldNotDispatch(p plea) bool {
	if t.ByHand[t.Prefix+"/jobs/"+p.job.Name] { // its definition was unreadable
		return true
	}
	since := p.to.Add(-t.Slack - t.Skew)
	if begun := t.began[t.reigning(p.rev)]; !begun.Before(since) { // zero without a leader; another check reports that
		return true
	}
	for _, f := range t.Faults {
		if s, ok := t.trouble(f); ok && !s.from.After(job.Later(p.at, p.seen)) && (s.to.IsZero() || !s.to.Before(since)) {
			return true
		}
	}
	return t.heldUp(p)
}

// heldUp reports whether another run of the job was in the way of a slot, and the job is not the cause. Either the other run
// started after the slot and so was late, or it lost a worker, or it never started.
func (t *timeline) heldUp(p plea) bool {
	slot := p.to.Add(-t.Skew - clockReading)
	for _, name := range t.of[p.job.Name] {
		vs := t.runs[name]
		end := vs[len(vs)-1]
		skipped := end.run.State == job.Skipped && !end.run.Asked() // a run that waited for a person was in the way until its end
		if name == p.run || vs[0].Rev >= p.rev || skipped || end.run.State.Terminal() && end.Seen.Before(slot) {
			continue
		}
		r := end.run
		if r.Late || r.LostAttempts() > 0 || r.State == job.Lost || len(r.Attempts) == 0 && r.Started.IsZero() {
			return true
		}
		for i, v := range vs {
			if v.begins(vs[:i]) && v.run.Attempt == 1 {
				if !v.run.Started.Before(slot) || !v.Seen.Before(slot) {
					return true
				}
				break
			}
		}
	}
	return false
}

// wasPaused reports whether the job was paused at its slots, or before they could be dispatched.
func (t *timeline) wasPaused(p plea) bool {
	if !p.seen.IsZero() { // by a leader's clock that is ahead, a slot is due early
		p.to = p.to.Add(-max(0, p.at.Sub(p.seen)))
	}
	for _, pause := range merge(t.pausesOf(p.job.Name), t.Slack) { // one pause may continue in the next
		if pause.from.After(job.Later(p.at, p.seen).Add(t.Slack)) || !pause.to.IsZero() && pause.to.Add(t.Slack).Before(p.to) {
			continue
		}
		first := p
		first.to = p.from
		due := p.from.Add(p.job.Spec.Jitter.Std())
		if !due.Before(pause.from.Add(-t.Slack)) || t.couldNotDispatch(first) || t.behindAny(first) {
			return true
		}
	}
	return false
}

// behindAny reports whether some run of the job had not ended at a slot.
func (t *timeline) behindAny(p plea) bool {
	for _, name := range t.of[p.job.Name] {
		vs := t.runs[name]
		end := vs[len(vs)-1]
		if name != p.run && vs[0].Rev < p.rev && !(end.run.State.Terminal() && end.Seen.Before(p.to.Add(-t.Skew-clockReading))) {
			return true
		}
	}
	return false
}

// wasChanged reports whether a job had more than one definition before rev.
func (t *timeline) wasChanged(name string, rev int64) bool {
	for i, d := range t.definitions[name] {
		first := t.definitions[name][0].job
		if i > 0 && d.rev < rev && (d.job.Generation != first.Generation || !d.job.Created.Equal(first.Created) || !d.job.Since.Equal(first.Since)) {
			return true
		}
	}
	return false
}
