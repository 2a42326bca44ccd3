package verify

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// maxUnexplained is how long a due run may wait without a reason.
const maxUnexplained = time.Minute

func (c *checker) checkJob(s *subject) {
	slices.SortFunc(s.runs, func(a, b *job.Run) int { return a.Slot.Compare(b.Slot) })
	holders := map[int64]string{}
	for _, r := range s.runs {
		c.checkRun(r)
		c.checkOutcome(s, r)
		c.checkStep(r)
		c.checkApproval(r)
		c.checkCopies(r)
		c.checkTokens(r, holders)
	}
	if s.cursor != nil {
		c.checkCursor(s)
		c.checkSlots(s)
	}
}

// checkRun checks one record on its own.
func (c *checker) checkRun(r *job.Run) {
	if ofSlot(r) && r.ID != job.SlotID(r.Slot) {
		c.broken(1, r.Name(), r.Rev, "its id does not match its slot %s", job.SlotID(r.Slot))
	}
	if r.Term > r.Rev {
		c.broken(2, r.Name(), r.Rev, "it was written at this revision in term %d, which began later", r.Term)
	}
	if r.State == job.Running && (r.Token == 0 || r.Token >= r.Rev) {
		c.broken(3, r.Name(), r.Rev, "it is running with token %d", r.Token)
	}
	if r.State.Terminal() && r.Finished.IsZero() {
		c.broken(7, r.Name(), r.Rev, "it is %s, but has no end time", r.State)
	}
	if r.State == job.Pending && r.Reason == "" && !r.AwaitsParents() && c.now.Sub(r.Due) > maxUnexplained {
		if c.led.Sub(r.Due) > maxUnexplained {
			c.broken(7, r.Name(), r.Rev, "it is %s since %s without a reason", r.State, r.Due.Format(time.RFC3339))
		} else {
			c.note("%s waits since %s, and no record shows that a leader was at work since", r.Name(), r.Due.Format(time.RFC3339))
		}
	}
}

// ofSlot reports whether r is the only run of its slot, which the schedule or a backfill created.
func ofSlot(r *job.Run) bool { return r.Kind == job.KindScheduled || r.Kind == job.KindBackfill }

// checkTokens checks the fencing tokens of a run's attempts. No other run of the job may have the same. Each is the
// revision of an earlier write of the run's record.
func (c *checker) checkTokens(r *job.Run, holders map[int64]string) {
	var last int64
	for _, a := range r.Attempts {
		if a.Token == 0 {
			continue // it was not begun
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
		if t != 0 && (t < c.created[r.Name()] || t >= r.Rev) {
			c.broken(4, r.Name(), r.Rev, "it has token %d, but its record was created at revision %d and last written at %d",
				t, c.created[r.Name()], r.Rev)
		}
		if other, taken := holders[t]; taken && t != 0 {
			c.broken(4, r.Name(), r.Rev, "run %s also has token %d", other, t)
		}
		holders[t] = r.Name()
	}
}

func (c *checker) checkCursor(s *subject) {
	cur := s.cursor
	if cur.Term <= 0 || cur.Term > cur.Rev {
		c.broken(2, s.name, cur.Rev, "its cursor has term %d", cur.Term)
	}
	if !cur.Next.IsZero() && !cur.Next.After(cur.After) {
		c.broken(5, s.name, cur.Rev, "its cursor's next slot %s is not after %s", job.SlotID(cur.Next), job.SlotID(cur.After))
	}
	for _, r := range s.runs {
		if r.Kind == job.KindScheduled && !cur.Passed(r.Slot) {
			c.broken(5, r.Name(), r.Rev, "the cursor is at %s, which is before its slot", job.SlotID(cur.After))
		}
	}
}

// findLeadership finds the latest time at which a leader is known to have been at work.
func (c *checker) findLeadership() {
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

// checkSlots checks that every slot before the cursor has a run or a reason, as far back as the history reaches.
func (c *checker) checkSlots(s *subject) {
	if s.def == nil {
		return
	}
	if s.def.Spec.Step() {
		c.checkStepSlots(s)
		return
	}
	when, err := policy.When(s.name, s.def.Spec)
	if err != nil || when == nil {
		return
	}
	cur := s.cursor
	if next, _ := when.Next(cur.After); cur.Generation == s.def.Generation && !cur.Next.Equal(next) {
		c.note("%s: the next slot in its cursor is %s, but its schedule has %s; the leader follows the schedule",
			s.name, slotText(cur.Next), slotText(next))
	}
	edge, any := historyEdge(s.runs, s.def.Spec.Breaker)
	if !any {
		return
	}
	from := job.Later(job.Later(s.def.Since, c.gate.Since), edge)
	c.checkPassed(when, s.cursor, from, nil, "is past")
}

// slotText returns the name of a slot; "none" for no slot.
func slotText(slot time.Time) string {
	if slot.IsZero() {
		return "none"
	}
	return job.SlotID(slot)
}

// maxGaps is how many missing slots of one job are listed. A job may miss millions.
const maxGaps = 100

// checkPassed checks that each slot after from and up to the cursor has a run or a reason, in batch or in the store.
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

// earlyEnd is how long before its slot a run may have ended. It may have been armed ahead, by at most a minute, and
// canceled; and clocks differ slightly.
const earlyEnd = 2 * time.Minute

// historyEdge returns the time after which no slot's run has been removed from history; false if it is unknown.
//
// Good and bad runs are removed separately, in the order of their ends. So every removed run ended before the remaining
// ones of its kind, and no run ends before its slot. Some runs are kept longer, and prove nothing: runs with an
// idempotency key, runs by hand, and the latest attempted runs, which a breaker counts. If a kind has only runs by hand
// or runs for the breaker left, every removed run of the kind ended before the latest of them.
func historyEdge(runs []*job.Run, b *job.Breaker) (edge time.Time, ok bool) {
	byEnd := slices.DeleteFunc(slices.Clone(runs), func(r *job.Run) bool { return !r.State.Terminal() || r.Key != "" })
	slices.SortFunc(byEnd, func(a, b *job.Run) int { return b.Ended().Compare(a.Ended()) })
	pinned := policy.BreakerLookBack(b)
	if pinned > 0 {
		pinned += job.MaxDeletions // the runs that leaders remove next
	}
	var oldest [2]time.Time
	for _, r := range byEnd { // the latest end first
		kind := 0
		if good(r) {
			kind = 1
		}
		proves := r.Kind == job.KindScheduled && (len(r.Attempts) == 0 || pinned <= 0)
		if len(r.Attempts) > 0 {
			pinned--
		}
		if proves || oldest[kind].IsZero() {
			oldest[kind] = r.Ended()
		}
	}
	edge = job.Later(oldest[0], oldest[1])
	return edge.Add(earlyEnd), !edge.IsZero()
}
