package history

import (
	"slices"
	"strings"
	"time"
)

// An effect may end earlier than the record of its run says, by at most History.Slack / settles.
const settles = 4

// active returns two sorted lists of spans. runs has one span for each run, which begins at the slot of the run. It ends settle
// after the end of the last effect of this run or of an earlier run. busy has one span for each effect. effects must be sorted,
// and their runs exclude each other.
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
			runs[i].to = s.to // the end of the run's latest effect
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

// endOf returns a time at which an effect had certainly ended; zero if none is known. If no end was recorded, it takes the end
// of a fault in which the worker of the effect may have been lost. Or it takes the start of the next run, if that is earlier.
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

// behind returns the end of the last run that began before slot, if that run was active after at. Otherwise it returns at. Zero
// means that the run may never end.
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
	if first, _, isCopy := strings.Cut(id, "Z."); isCopy { // its name is the slot's, a dot and the worker
		id = first + "Z"
	}
	slot, err := time.Parse(time.RFC3339Nano, id)
	return slot, err == nil
}
