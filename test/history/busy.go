package history

import (
	"slices"
	"strings"
	"time"
)

// settles is the share of History.Slack by which an effect may end before its run's record says so.
const settles = 4

// active returns, sorted, when runs of a job were active: from the slot that they state to settle after the end of their last
// effect or of an earlier one. It also returns when each of their effects lasted. effects are sorted, and belong to runs that
// exclude each other.
func (t *timeline) active(effects []Effect, settle time.Duration) (runs, busy []span) {
	byRun := make(map[string]int)
	for n, e := range effects {
		s := span{e.Arrived, t.endOf(e, effects[n+1:])}
		if !s.to.IsZero() {
			s.to = s.to.Add(settle)
		}
		busy = append(busy, s)
		if slot, scheduled := slotOf(e); scheduled && slot.Before(s.from) {
			s.from = slot
		}
		i, again := byRun[e.Run]
		if e.Run == "" || !again {
			byRun[e.Run] = len(runs)
			runs = append(runs, s)
		} else {
			runs[i].to = s.to // of the last run
		}
	}
	slices.SortStableFunc(runs, func(a, b span) int { return a.from.Compare(b.from) })
	for i := 1; i < len(runs); i++ {
		if before := runs[i-1].to; before.IsZero() || !runs[i].to.IsZero() && before.After(runs[i].to) {
			runs[i].to = before
		}
	}
	return runs, busy
}

// endOf returns a time at which an effect had certainly ended; zero if none is known. Without a recorded end, it is the end of a
// fault in which the effect may have lost its worker, or the start of the next run.
func (t *timeline) endOf(e Effect, after []Effect) time.Time {
	end := e.Ended
	if !end.IsZero() {
		return end
	}
	known := func(at time.Time) {
		if end.IsZero() || !at.IsZero() && at.Before(end) {
			end = at
		}
	}
	for _, f := range t.Faults {
		if trouble, ok := t.trouble(f); ok && t.cost(f, f.Node, e) {
			known(trouble.to)
		}
	}
	if i := slices.IndexFunc(after, func(o Effect) bool { return o.Run == "" || o.Run != e.Run }); i >= 0 {
		known(after[i].Arrived)
	}
	return end
}

// behind returns the end of the last run that began before a slot and was active at or after an instant. It returns the instant
// if there is none.
func (b *bounds) behind(slot, at time.Time) time.Time {
	i, _ := slices.BinarySearchFunc(b.active, slot, func(s span, slot time.Time) int { return s.from.Compare(slot) })
	if i > 0 && (b.active[i-1].to.IsZero() || b.active[i-1].to.After(at)) {
		return b.active[i-1].to
	}
	return at
}

// slotOf returns the slot that an effect states.
func slotOf(e Effect) (slot time.Time, scheduled bool) {
	_, id, _ := strings.Cut(e.Run, "/")
	slot, err := time.Parse(time.RFC3339Nano, id)
	return slot, err == nil
}
