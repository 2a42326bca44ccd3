package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// Facts is all that is known about a job around the time that was asked for.
type Facts struct {
	Job    *job.Job           // nil: there is no such job (any more), or nobody can read its definition
	Broken error              // why nobody can read it; nil otherwise
	When   *schedule.Schedule // nil: no schedule of its own, or none that can be read
	Bad    error              // why the schedule cannot be read; nil if it can
	Gate   job.Gate
	Cursor *job.Cursor // nil: no slot has been decided yet
	Run    *job.Run    // of the slot; nil: none is in the store
	Events []job.Event // of the job
	Leader string      // who leads, "" if nobody does
	Active []*job.Run  // of the job, that have not ended
	Now    time.Time
}

// Answer is the explanation.
type Answer struct {
	Slot    time.Time // zero: the time is no slot
	Verdict string    // in a word or two
	Text    []string  // lines for people
}

// Slot returns the slot that is meant by at: the one in its second, or the only one in its minute, or the latest before
// it in that minute. false if there is none.
func Slot(when *schedule.Schedule, at time.Time) (time.Time, bool) {
	if when == nil {
		return time.Time{}, false
	}
	in := func(unit time.Duration) []time.Time {
		begin := at.Truncate(unit)
		return when.Last(begin.Add(-time.Millisecond), begin.Add(unit-time.Millisecond), 2)
	}
	if slots := in(time.Second); len(slots) > 0 {
		return slots[0], true
	}
	slots := in(time.Minute)
	if len(slots) == 1 {
		return slots[0], true
	}
	if earlier := when.Last(at.Truncate(time.Minute).Add(-time.Millisecond), at, 1); len(earlier) == 1 {
		return earlier[0], true
	}
	return time.Time{}, false
}

// Unknown is the verdict on a job that nothing is known of.
const Unknown = "no such job"

// Explain says what became of the slot.
func Explain(f Facts, at time.Time) Answer {
	slot, ok := Slot(f.When, at)
	e, skipped := writtenOff(f, at)
	sameSecond := func(t time.Time) bool { return within(time.Second, t, at) }
	switch {
	case f.Run != nil && (e == nil || sameSecond(f.Run.Slot) || !sameSecond(skipped)):
		return ofRun(f, f.Run)
	case e != nil:
		return ofEvent(f, e, skipped)
	case f.Broken != nil:
		return Answer{Verdict: "unreadable", Text: []string{
			unreadable(f),
			"It has no slots until somebody repairs the record or deletes it, with `rota etcdctl`. Slots that pass meanwhile are missed.",
		}}
	case f.Job == nil:
		return Answer{Verdict: Unknown, Text: []string{"There is no job of that name, and nothing is known of it at that time."}}
	case !ok:
		return noSlot(f, at)
	}
	a := Answer{Slot: slot}
	switch why, at := notOwed(f, slot); {
	case why != "":
		a.Verdict = "not owed"
		a.Text = append(a.Text, fmt.Sprintf("It was not owed: %s %s.", why, stamp(at)))
	case f.Cursor != nil && !slot.After(f.Cursor.After):
		a.Verdict = "decided"
		a.Text = append(a.Text, gone(f, slot))
	case f.Gate.Paused != nil:
		a.Verdict = "paused"
		a.Text = append(a.Text, "It does not run while all jobs are paused"+by(f.Gate.Paused)+".")
	case f.Job.Paused != nil:
		a.Verdict = "paused"
		a.Text = append(a.Text, "It does not run while the job is paused"+by(f.Job.Paused)+".")
	case slot.Add(f.When.Offset()).After(f.Now):
		a.Verdict = "to come"
		a.Text = append(a.Text, fmt.Sprintf("It is due in %s.", slot.Add(f.When.Offset()).Sub(f.Now).Round(time.Second)))
		if d := f.When.Offset(); d > 0 {
			a.Text = append(a.Text, fmt.Sprintf("The job's jitter adds %s.", d))
		}
	default:
		a.Verdict = "waits"
		a.Text = append(a.Text, fmt.Sprintf("It is due since %s and not decided yet: %s.", stamp(slot.Add(f.When.Offset())), undecided(f)))
	}
	return a
}

func unreadable(f Facts) string {
	return "The job's definition cannot be read: " + f.Broken.Error() + "."
}

// undecided says for what a slot waits that is due.
func undecided(f Facts) string {
	if f.Leader == "" {
		return "nobody leads"
	}
	for _, r := range f.Active {
		if r.State == job.Running || r.Attempt > 0 {
			return fmt.Sprintf("it waits for run %s, which is %s%s", r.Name(), r.State, because(r.Reason))
		}
	}
	if len(f.Active) > 0 {
		r := f.Active[0]
		return fmt.Sprintf("it waits behind run %s, which is %s%s", r.Name(), r.State, because(r.Reason))
	}
	return fmt.Sprintf("%s leads and has not come to it", f.Leader)
}

func ofRun(f Facts, r *job.Run) Answer {
	a := Answer{Slot: r.Slot, Verdict: string(r.State)}
	late := lateBy(r)
	switch {
	case r.State == job.Skipped:
		a.Text = append(a.Text, fmt.Sprintf("It did not run: %s.", r.Reason))
	case r.State.Terminal():
		if r.State == job.Succeeded {
			a.Verdict = "ran"
		}
		a.Text = append(a.Text, fmt.Sprintf("It %s at %s%s.", past(r.State), stamp(r.Finished), because(r.Reason)))
	case r.State == job.Running:
		a.Text = append(a.Text, fmt.Sprintf("It is running on worker %s since %s%s%s.", r.Worker, stamp(r.Started), because(r.Reason), because(stopping(r))))
	case r.State == job.Armed:
		a.Text = append(a.Text, fmt.Sprintf("It was given to worker %s, which has not begun it yet.", r.Worker))
		if left := r.Due.Sub(f.Now); left > 0 {
			a.Text = append(a.Text, fmt.Sprintf("It is armed ahead: the worker begins it in %s.", left.Round(time.Millisecond)))
		}
	default:
		a.Text = append(a.Text, fmt.Sprintf("It is %s%s.", r.State, because(r.Reason)))
		if f.Now.Before(r.Due) {
			a.Text = append(a.Text, fmt.Sprintf("It is due in %s.", r.Due.Sub(f.Now).Round(time.Second)))
		}
	}
	if r.Late {
		a.Text = append(a.Text, "It is late: its time passed while nobody could dispatch it, or behind a run that was late. "+
			"The job's policy for missed slots is "+missed(f.Job)+".")
		if r.State == job.Succeeded {
			a.Verdict = "ran late"
		}
	} else if late > time.Second {
		a.Text = append(a.Text, fmt.Sprintf("Its last attempt began %s after it was due.", late.Round(time.Millisecond)))
	}
	for _, t := range r.Attempts {
		a.Text = append(a.Text, fmt.Sprintf("Attempt %d on worker %s with token %d: %s%s.", t.Number, t.Worker, t.Token, t.State, because(t.Reason)))
	}
	return a
}

// lateBy is how long after it was due the last attempt of a run began that executes or has ended, by the clocks of the leaders.
func lateBy(r *job.Run) time.Duration {
	n := len(r.Attempts)
	switch {
	case r.State == job.Running:
		return r.Began().Sub(r.Due)
	case n > 0 && r.Attempts[n-1].Finished.Equal(r.Finished):
		began, _ := r.Span(n - 1)
		return began.Sub(r.Due)
	}
	return 0
}

func noSlot(f Facts, at time.Time) Answer {
	a := Answer{Verdict: "is no slot"}
	if f.Bad != nil {
		a.Verdict = "has no slots"
		a.Text = append(a.Text, "The job has no slots, since its schedule cannot be read: "+f.Bad.Error())
		return a
	}
	if f.When == nil {
		a.Text = append(a.Text, "The job has no schedule of its own: it runs when asked.")
		return a
	}
	a.Text = append(a.Text, fmt.Sprintf("%s is not a slot of the job (zone %s).", stamp(at), f.Job.Spec.Timezone))
	if next, ok := f.When.Next(at); ok {
		a.Text = append(a.Text, fmt.Sprintf("The next slot after it is %s.", stamp(next)))
	}
	if last := f.When.Last(at.AddDate(-1, 0, 0), at, 1); len(last) == 1 {
		a.Text = append(a.Text, fmt.Sprintf("The last slot before it is %s.", stamp(last[0])))
	}
	date := at.In(location(f.Job.Spec.Timezone)).Format(time.DateOnly)
	for _, d := range f.Job.Spec.Exclude {
		if d == date {
			a.Text = append(a.Text, fmt.Sprintf("%s is excluded by the job.", d))
		}
	}
	return a
}

// notOwed says why a slot is nobody's debt, in words that an instant follows; "" if it is owed.
func notOwed(f Facts, slot time.Time) (why string, at time.Time) {
	j := f.Job
	switch early := !slot.After(policy.OwedAfter(j, f.When)); {
	case early && j.SinceReason == job.SinceResumed:
		return "the job got its present schedule at", j.Scheduled
	case early && j.SinceReason == job.SinceRescheduled:
		return "the job got its present schedule at", j.Since
	case early:
		return "the job was created at", j.Since
	}
	if until, was := pausedUntil(f, slot, f.Gate.Halted()); was {
		return "all jobs were paused until", until
	}
	if until, was := pausedUntil(f, slot, j.Halted()); was {
		return "the job was paused until", until
	}
	return "", time.Time{}
}

// pausedUntil says whether a slot is not owed for one of the pauses, and when the last such one was over.
func pausedUntil(f Facts, slot time.Time, pauses []job.PastPause) (until time.Time, was bool) {
	for i, p := range pauses {
		for _, s := range policy.Paused(f.When.Offset(), slot.Add(-1), pauses[i:i+1]) {
			if s.Holds(slot) {
				until, was = p.Until, true
			}
		}
	}
	return until, was
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func count(e job.Event) string {
	if e.Partial {
		return fmt.Sprintf(" (at least %d)", e.Count)
	}
	return fmt.Sprintf(" (%d)", e.Count)
}

func by(p *job.Pause) string {
	s := " (since " + stamp(p.At)
	if p.By != "" {
		s += ", by " + p.By
	}
	if p.Reason != "" {
		s += ": " + p.Reason
	}
	return s + ")"
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(reason, ".")
}

// stopping says that somebody asked for the end of a run that goes on.
func stopping(r *job.Run) string {
	if r.Cancel == nil {
		return ""
	}
	return "its end was asked for (" + r.Cancel.Reason + ")"
}

func past(s job.State) string {
	if s == job.TimedOut {
		return "timed out"
	}
	if s == job.Canceled || s == job.Lost {
		return "was " + string(s)
	}
	return string(s)
}

func missed(j *job.Job) string {
	if j == nil {
		return "unknown"
	}
	return string(j.Spec.Missed)
}

func location(zone string) *time.Location {
	if loc, err := time.LoadLocation(zone); err == nil {
		return loc
	}
	return time.UTC
}
