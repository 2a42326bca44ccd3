package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// skipEvent finds the slot that a client means by the time at. It returns the event that skipped this slot, and the slot. A nil
// event means that no event skipped it. If the event belongs to an earlier schedule, only the first and the last slot of its
// range are known. For a time between them, the returned slot is zero, because that time may not have been a slot.
func skipEvent(f Facts, at time.Time) (*job.Event, time.Time) {
	slot, ok := Slot(f.When, at)
	if !ok || !within(time.Second, slot, at) {
		if e, end := endingIn(f.Events, time.Second, at); e != nil {
			return e, end
		}
	}
	if ok {
		return containing(f.Events, slot), slot
	}
	if e, end := endingIn(f.Events, time.Minute, at); e != nil {
		return e, end
	}
	e := containing(f.Events, at)
	if e != nil && f.Job != nil && f.Bad == nil && !e.At.Before(f.Job.Scheduled) { // e skipped slots of the present schedule
		return nil, time.Time{}
	}
	return e, time.Time{}
}

// endingIn finds the range of skipped slots whose first or last slot is in the same unit of time as at. It returns the range
// and that slot.
func endingIn(events []job.Event, unit time.Duration, at time.Time) (*job.Event, time.Time) {
	for i, e := range events {
		for _, end := range []time.Time{e.From, e.To} {
			if e.Kind == job.EventSkipped && within(unit, end, at) {
				return &events[i], end
			}
		}
	}
	return nil, time.Time{}
}

// containing finds the range of skipped slots that contains at.
func containing(events []job.Event, at time.Time) *job.Event {
	for i, e := range events {
		if e.Kind == job.EventSkipped && !at.Before(e.From) && !at.After(e.To) {
			return &events[i]
		}
	}
	return nil
}

func within(unit time.Duration, a, b time.Time) bool { return a.Truncate(unit).Equal(b.Truncate(unit)) }

// explainSkip explains a slot of the skipped range e. slot is zero if the time in question may not have been a slot.
func explainSkip(f Facts, e *job.Event, slot time.Time) Answer {
	a := Answer{Slot: slot, Verdict: verdictSkipped}
	did := "It did not run"
	if slot.IsZero() {
		did = "If it was a slot, it did not run"
	}
	count := fmt.Sprint(e.Count)
	if e.Partial {
		count = "at least " + count
	}
	a.Text = append(a.Text, fmt.Sprintf("%s: %s.", did, e.Reason),
		fmt.Sprintf("Recorded at %s in term %d, for the slots from %s to %s (%s).",
			stamp(e.At), e.Term, stamp(e.From), stamp(e.To), count))
	if e.Reason == policy.ReasonOvertaken {
		a.Text = append(a.Text, "If an earlier schedule had this slot, it may have run: history no longer has the run.")
	}
	present, ok := Slot(f.When, slot)
	switch {
	case f.Broken != nil:
		a.Text = append(a.Text, unreadable(f))
	case f.Job == nil, ok && !slot.IsZero() && present.Equal(slot):
	case f.Bad != nil:
		a.Text = append(a.Text, "The job's present schedule cannot be parsed: "+f.Bad.Error())
	default:
		a.Text = append(a.Text, "The job's present schedule has no slot at that time.")
	}
	return a
}

// notScheduled returns why a slot does not count for its job; "" if it counts.
func notScheduled(f Facts, slot time.Time) string {
	j := f.Job
	switch early := !slot.After(policy.SlotsAfter(j, f.When)); {
	case early && j.SinceReason == job.SinceResumed:
		return "the job got its present schedule later, at " + stamp(j.Scheduled)
	case early && j.SinceReason == job.SinceRescheduled:
		return "the job got its present schedule later, at " + stamp(j.Since)
	case early:
		return "the job was created later, at " + stamp(j.Since)
	}
	if len(f.Parents) > 0 { // a pause only delays a step
		return ""
	}
	if until, was := pausedUntil(f, slot, f.Gate.PauseHistory()); was {
		return "all jobs were paused until " + stamp(until)
	}
	if until, was := pausedUntil(f, slot, j.PauseHistory()); was {
		return "the job was paused until " + stamp(until)
	}
	return ""
}

// pausedUntil returns the end of the last of the pauses that contains the slot; false if none does.
func pausedUntil(f Facts, slot time.Time, pauses []job.PastPause) (until time.Time, was bool) {
	for i, p := range pauses {
		if i == 0 && len(pauses) >= job.MaxPauses && f.Cursor.Passed(slot) { // the slot may have run between two pauses
			continue
		}
		for _, s := range policy.Paused(f.When.Offset(), slot.Add(-1), pauses[i:i+1]) {
			if s.Holds(slot) {
				until, was = p.Until, true
			}
		}
	}
	return until, was
}

func unreadable(f Facts) string {
	return "The job's definition cannot be read: " + f.Broken.Error() + "."
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// pauseDetails returns the start, the author and the reason of a pause, in parentheses.
func pauseDetails(p *job.Pause) string {
	s := " (since " + stamp(p.At)
	if p.By != "" {
		s += ", by " + p.By
	}
	if p.Reason != "" {
		s += ": " + p.Reason
	}
	return s + ")"
}

// because returns reason after a colon; "" if there is none.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(reason, ".")
}
