package verify

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// patience is how long a run whose time has come may wait without saying for what.
const patience = time.Minute

func (c *checker) checkJob(s *subject) {
	slices.SortFunc(s.runs, func(a, b *job.Run) int { return a.Slot.Compare(b.Slot) })
	holders := map[int64]string{}
	for _, r := range s.runs {
		c.checkRun(r)
		c.checkOutcome(s, r)
		c.checkTokens(r, holders)
	}
	if s.cursor != nil {
		c.checkCursor(s)
		c.checkSlots(s)
	}
}

// checkRun looks at one record on its own.
func (c *checker) checkRun(r *job.Run) {
	if r.Kind == job.KindScheduled && r.ID != job.SlotID(r.Slot) {
		c.broken(1, r.Name(), r.Rev, "its slot is %s", job.SlotID(r.Slot))
	}
	if r.Term > r.Rev {
		c.broken(2, r.Name(), r.Rev, "it names term %d, which began later", r.Term)
	}
	if r.State == job.Running && (r.Token == 0 || r.Token >= r.Rev) {
		c.broken(3, r.Name(), r.Rev, "it runs with token %d", r.Token)
	}
	if r.State.Terminal() && r.Finished.IsZero() {
		c.broken(7, r.Name(), r.Rev, "it is %s, but did not finish", r.State)
	}
	if r.State == job.Pending && r.Reason == "" && c.now.Sub(r.Due) > patience {
		if c.led.Sub(r.Due) > patience {
			c.broken(7, r.Name(), r.Rev, "it is %s since %s and does not say why", r.State, r.Due.Format(time.RFC3339))
		} else {
			c.note("%s waits since %s, and nothing shows that anybody leads", r.Name(), r.Due.Format(time.RFC3339))
		}
	}
}

// checkTokens looks at the fencing tokens of a run's attempts, of which no other run of the job has one. Each is the revision
// of a write of the run's record, which was not the last one.
func (c *checker) checkTokens(r *job.Run, holders map[int64]string) {
	var last int64
	for _, a := range r.Attempts {
		if a.Token == 0 {
			continue // never begun
		}
		if a.Token <= last {
			c.broken(4, r.Name(), r.Rev, "attempt %d has token %d, after %d", a.Number, a.Token, last)
		}
		last = a.Token
	}
	tokens := make([]int64, 0, len(r.Attempts)+1)
	for _, a := range r.Attempts {
		tokens = append(tokens, a.Token)
	}
	if r.State == job.Running {
		if r.Token <= last {
			c.broken(4, r.Name(), r.Rev, "attempt %d has token %d, after %d", r.Attempt, r.Token, last)
		}
		tokens = append(tokens, r.Token)
	}
	for _, t := range tokens {
		if t != 0 && (t < c.made[r.Name()] || t >= r.Rev) {
			c.broken(4, r.Name(), r.Rev, "it has token %d, and its record was made at revision %d and written last at %d", t, c.made[r.Name()], r.Rev)
		}
		if other, taken := holders[t]; taken && t != 0 {
			c.broken(4, r.Name(), r.Rev, "run %s has token %d as well", other, t)
		}
		holders[t] = r.Name()
	}
}

func (c *checker) checkCursor(s *subject) {
	cur := s.cursor
	if cur.Term <= 0 || cur.Term > cur.Rev {
		c.broken(2, s.name, cur.Rev, "its cursor names term %d", cur.Term)
	}
	if !cur.Next.IsZero() && !cur.Next.After(cur.After) {
		c.broken(5, s.name, cur.Rev, "its cursor's next slot %s is not after %s", job.SlotID(cur.Next), job.SlotID(cur.After))
	}
	for _, r := range s.runs {
		if r.Kind == job.KindScheduled && r.Slot.After(cur.After) {
			c.broken(5, r.Name(), r.Rev, "the cursor is at %s, before its slot", job.SlotID(cur.After))
		}
	}
}

// lookForLife finds the latest time at which a leader is known to have been at work.
func (c *checker) lookForLife() {
	for _, s := range c.jobs {
		for _, r := range s.runs {
			if r.Kind == job.KindScheduled {
				c.led = job.Later(c.led, r.Created)
			}
		}
		for _, e := range s.skips {
			c.led = job.Later(c.led, e.At)
		}
	}
}

// checkSlots looks for slots that were passed without a run or a reason, within the history that is kept.
func (c *checker) checkSlots(s *subject) {
	if s.def == nil {
		return
	}
	edge, any := historyEdge(s.runs, s.def.Spec.Breaker)
	if !any {
		return
	}
	when, err := policy.When(s.name, s.def.Spec)
	if err != nil || when == nil {
		return
	}
	from := job.Later(job.Later(s.def.Since, c.gate.Since), edge)
	c.checkPassed(when, s.cursor, from, nil, "is past")
}

// maxGaps is how many slots of one job are listed that were passed without a word: one may have passed millions.
const maxGaps = 100

// checkPassed wants a run or a reason, in batch or in the store, for each slot after from that cur is past.
func (c *checker) checkPassed(when *schedule.Schedule, cur *job.Cursor, from time.Time, batch []job.Change, is string) {
	gaps := 0
	for slot, ok := when.Next(from); ok && !slot.After(cur.After); slot, ok = when.Next(slot) {
		name := cur.Job + "/" + job.SlotID(slot)
		if c.known[name] {
			c.proven[name] = true
			continue
		}
		if end, skipped := c.skipped(batch, cur.Job, slot); skipped {
			slot = end
			continue
		}
		c.broken(5, name, cur.Rev, "the cursor %s it, but it has neither a run nor a reason", is)
		if gaps++; gaps == maxGaps {
			c.note("%s: further slots that the cursor %s are not listed", cur.Job, is)
			return
		}
	}
}

// earlyEnd is how far ahead of its slot a run may seem to have ended: it was armed ahead, by a minute at most, and taken back
// for good; and clocks differ a little.
const earlyEnd = 2 * time.Minute

// historyEdge is the time from which no slot's run has been removed from history, false if nobody can tell. Runs are
// removed in the order of their ends, those that went well apart from the others. So what is missing ended before what is
// left of its kind; and no run ends before its slot. Three sorts of runs are kept longer and tell nothing: those with an
// idempotency key, those that somebody asked for, and the latest attempted ones by which a breaker goes. Of a kind of which only
// the latter two are left, the latest one is what nothing missing has ended after.
func historyEdge(runs []*job.Run, b *job.Breaker) (edge time.Time, ok bool) {
	byEnd := slices.DeleteFunc(slices.Clone(runs), func(r *job.Run) bool { return !r.State.Terminal() || r.Key != "" })
	slices.SortFunc(byEnd, func(a, b *job.Run) int { return b.Ended().Compare(a.Ended()) })
	pinned := policy.BreakerLookBack(b)
	if pinned > 0 {
		pinned += job.MaxDeletions // some more wait to be removed
	}
	var oldest [2]time.Time
	for _, r := range byEnd { // the latest first
		kind := 0
		if good(r) {
			kind = 1
		}
		tells := r.Kind == job.KindScheduled && (len(r.Attempts) == 0 || pinned <= 0)
		if len(r.Attempts) > 0 {
			pinned--
		}
		if tells || oldest[kind].IsZero() {
			oldest[kind] = r.Ended()
		}
	}
	edge = job.Later(oldest[0], oldest[1])
	return edge.Add(earlyEnd), !edge.IsZero()
}
