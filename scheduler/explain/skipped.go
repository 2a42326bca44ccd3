package explain

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// writtenOff returns the event with which the slot that is meant by at was skipped, nil if there is none. Slots of earlier
// schedules are known only as the ends of ranges; zero: at is between the ends, and nobody knows whether it was a slot.
func writtenOff(f Facts, at time.Time) (*job.Event, time.Time) {
	slot, ok := Slot(f.When, at)
	if !ok || !within(time.Second, slot, at) {
		if e, end := endsWithin(f.Events, time.Second, at); e != nil {
			return e, end
		}
	}
	if ok {
		return holding(f.Events, slot), slot
	}
	if e, end := endsWithin(f.Events, time.Minute, at); e != nil {
		return e, end
	}
	e := holding(f.Events, at)
	if e != nil && f.Job != nil && f.Bad == nil && !e.At.Before(f.Job.Scheduled) { // its slots are those of the present schedule
		return nil, time.Time{}
	}
	return e, time.Time{}
}

// endsWithin finds the range of skipped slots that begins or ends in the same unit of time as at, and that end.
func endsWithin(events []job.Event, unit time.Duration, at time.Time) (*job.Event, time.Time) {
	for i, e := range events {
		for _, end := range []time.Time{e.From, e.To} {
			if e.Kind == job.EventSkipped && within(unit, end, at) {
				return &events[i], end
			}
		}
	}
	return nil, time.Time{}
}

// holding finds the range of skipped slots that holds an instant.
func holding(events []job.Event, at time.Time) *job.Event {
	for i, e := range events {
		if e.Kind == job.EventSkipped && !at.Before(e.From) && !at.After(e.To) {
			return &events[i]
		}
	}
	return nil
}

func within(unit time.Duration, a, b time.Time) bool { return a.Truncate(unit).Equal(b.Truncate(unit)) }

// ofEvent explains a slot that was skipped with others; a zero one may not have been one.
func ofEvent(f Facts, e *job.Event, slot time.Time) Answer {
	a := Answer{Slot: slot, Verdict: "skipped"}
	did := "It did not run"
	if slot.IsZero() {
		did = "If it was a slot, it did not run"
	}
	a.Text = append(a.Text, fmt.Sprintf("%s: %s.", did, e.Reason),
		fmt.Sprintf("Written down at %s for the slots from %s to %s%s, in term %d.",
			stamp(e.At), stamp(e.From), stamp(e.To), count(*e), e.Term))
	present, ok := Slot(f.When, slot)
	switch {
	case f.Broken != nil:
		a.Text = append(a.Text, unreadable(f))
	case f.Job == nil, ok && !slot.IsZero() && present.Equal(slot):
	case f.Bad != nil:
		a.Text = append(a.Text, "The job's present schedule cannot be read: "+f.Bad.Error())
	default:
		a.Text = append(a.Text, "The job's present schedule has no slot at that time.")
	}
	return a
}

// gone says what is to be said of a slot that the cursor is past and of which nothing is left.
func gone(f Facts, slot time.Time) string {
	if slot.Add(f.When.Offset()).After(f.Now) {
		return fmt.Sprintf("The cursor is at %s, past it before its time, and it has no run: it will not run. "+
			"Somebody removed its run or moved the cursor by hand; `rota verify` lists such slots.", stamp(f.Cursor.After))
	}
	return fmt.Sprintf("It was decided (the cursor is at %s), but its record is gone: history is bounded. "+
		"If it is younger than what is kept, somebody removed it by hand; `rota verify` lists such slots.", stamp(f.Cursor.After))
}
