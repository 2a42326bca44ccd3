package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// Facts holds the known records of a job around the time in question.
type Facts struct {
	Job    *job.Job           // nil: there is no such job, or its definition cannot be read
	Broken error              // why the definition cannot be read; nil if it can
	When   *schedule.Schedule // nil: the job has no schedule, or it cannot be parsed
	Bad    error              // why the schedule cannot be parsed; nil if it can
	Gate   job.Gate
	Cursor *job.Cursor // nil: no slot has been decided yet
	Run    *job.Run    // the run of the slot; nil: the store has none
	Events []job.Event // the events of the job
	Leader string      // the leader's name, "" if there is none
	Active []*job.Run  // runs of the job that have not ended
	Before []*job.Run  // runs of the job with earlier slots, as far as the store still has them
	Now    time.Time

	// Parents are the parents of a step, with their runs of the slot. When is then the schedule of the workflow.
	Parents []Parent

	Copies map[string]*job.Run // the copies of Run by their workers, if it is a run on every worker
}

// Parent is a parent of a step.
type Parent struct {
	Job     string
	Run     *job.Run // nil: it has none
	Decided bool     // the cursor of the parent has passed the slot
}

// Answer is the explanation.
type Answer struct {
	Slot    time.Time // zero: the time is not a slot
	Verdict string    // one to three words
	Text    []string  // sentences for people, one or more in each

	Late   string // why the run is late, as a part of a sentence; empty: it is not
	Behind string // the run that a late run waited behind; empty: none, or it is unknown
}

// The verdicts. The verdict on a slot with a run is the run's state, with verdictRan and verdictRanLate in place of
// succeeded.
const (
	// Unknown is the verdict on a job without any record.
	Unknown = "no such job"

	verdictUnreadable   = "unreadable"
	verdictNoSlots      = "no slots"
	verdictNotASlot     = "not a slot"
	verdictNotScheduled = "not scheduled"
	verdictSkipped      = "skipped"
	verdictPaused       = "paused"
	verdictUpcoming     = "upcoming"
	verdictWaits        = "waits"
	verdictDecided      = "decided"
	verdictRan          = "ran"
	verdictRanLate      = "ran late"
)

// Slot returns the slot that a client means by the time at; false if there is none. It prefers the slot at that very time, then the
// first one in the same second, then a slot that is alone in the same minute. The last choice is the latest slot of that minute
// that is not after at.
func Slot(when *schedule.Schedule, at time.Time) (time.Time, bool) {
	if when == nil {
		return time.Time{}, false
	}
	if exact := when.Last(at.Add(-time.Millisecond), at, 1); len(exact) == 1 {
		return exact[0], true
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

// SlotAmong returns the slot that a client means by the time at; false if there is none. slots are all slots in the minute of at,
// in any order. It chooses as Slot does.
func SlotAmong(slots []time.Time, at time.Time) (slot time.Time, ok bool) {
	if slices.ContainsFunc(slots, at.Equal) {
		return at, true
	}
	for _, s := range slots {
		switch {
		case within(time.Second, s, at):
			return s, true
		case len(slots) == 1, !s.After(at) && !s.Before(slot):
			slot, ok = s, true
		}
	}
	return slot, ok
}

// Explain explains whether the slot that a client means by the time at ran or will run, and why.
func Explain(f Facts, at time.Time) Answer {
	a := explain(f, at)
	slot := cmp.Or(a.Slot, at)
	for i := range f.Events {
		if e := &f.Events[i]; e.Kind == job.EventLate && within(time.Second, e.From, slot) {
			a.Text = append(a.Text, fmt.Sprintf("It was late: %s.", e.Reason))
		}
	}
	return a
}

func explain(f Facts, at time.Time) Answer {
	slot, ok := Slot(f.When, at)
	e, skipped := skipEvent(f, at)
	sameSecond := func(t time.Time) bool { return within(time.Second, t, at) }
	switch {
	case f.Run != nil && (e == nil || sameSecond(f.Run.Slot) || !sameSecond(skipped)):
		return explainRun(f, f.Run)
	case e != nil:
		return explainSkip(f, e, skipped)
	case f.Broken != nil:
		return Answer{Verdict: verdictUnreadable, Text: []string{
			unreadable(f),
			"It has no slots until its record is repaired or deleted with `rota etcdctl`. Slots that pass until then are missed.",
		}}
	case f.Job == nil:
		return Answer{Verdict: Unknown, Text: []string{"There is no job of that name, and no record of it at that time."}}
	case !ok:
		return explainNoSlot(f, at)
	}
	verdict, text := explainSlot(f, slot)
	return Answer{Slot: slot, Verdict: verdict, Text: text}
}

// explainSlot explains a slot without a run and without an event.
func explainSlot(f Facts, slot time.Time) (verdict string, text []string) {
	due := slot.Add(f.When.Offset())
	why := notScheduled(f, slot)
	switch {
	case why != "":
		return verdictNotScheduled, []string{"Not scheduled: " + why + "."}
	case f.Cursor.Passed(slot) && !noParentRan(f):
		return verdictDecided, []string{explainNoRecord(f, due)}
	case len(f.Parents) > 0:
		return explainParents(f, slot)
	case f.Gate.Paused != nil:
		return verdictPaused, []string{"It does not run while all jobs are paused" + pauseDetails(f.Gate.Paused) + "."}
	case f.Job.Paused != nil:
		return verdictPaused, []string{"It does not run while the job is paused" + pauseDetails(f.Job.Paused) + "."}
	case due.After(f.Now):
		text = append(text, dueIn(due, f.Now))
		if d := f.When.Offset(); d > 0 {
			text = append(text, fmt.Sprintf("The job's jitter adds %s.", d))
		}
		return verdictUpcoming, text
	}
	return verdictWaits, []string{fmt.Sprintf("It has been due since %s and is not decided yet: %s.", stamp(due), waitsFor(f))}
}

// dueIn says when something is due. The years that rota knows are further apart than a time.Duration can say.
func dueIn(due, now time.Time) string {
	if days := (due.Unix() - now.Unix()) / (24 * 60 * 60); days >= 7 {
		return fmt.Sprintf("It is due in %d days.", days)
	}
	return fmt.Sprintf("It is due in %s.", due.Sub(now).Round(time.Second))
}

// waitsFor returns the reason why a due slot still waits.
func waitsFor(f Facts) string {
	if f.Leader == "" {
		return "no replica leads"
	}
	backfilled := func(r *job.Run) bool { return r.Kind == job.KindBackfill } // no slot waits for these
	active := slices.DeleteFunc(slices.Clone(f.Active), backfilled)
	for _, r := range active {
		if r.State == job.Running || r.Attempt > 0 {
			return fmt.Sprintf("it waits for run %s, which is %s%s", r.Name(), r.State, because(r.Reason))
		}
	}
	if len(active) > 0 {
		r := active[0]
		return fmt.Sprintf("it waits behind run %s, which is %s%s", r.Name(), r.State, because(r.Reason))
	}
	return fmt.Sprintf("leader %s has not reached it", f.Leader)
}

// explainNoRecord explains a slot that the cursor has passed and that has no record.
func explainNoRecord(f Facts, due time.Time) string {
	if due.After(f.Now) {
		return fmt.Sprintf("It will not run: the cursor, at %s, passed it before its time, and it has no run. "+
			"Its run was removed or the cursor was moved by hand. `rota verify` lists such slots.", stamp(f.Cursor.After))
	}
	return fmt.Sprintf("It was decided, because the cursor is at %s, but history no longer has its record. "+
		"If the slot is recent, its record was removed by hand. `rota verify` lists such slots.", stamp(f.Cursor.After))
}

// explainNoSlot explains a time that is not a slot.
func explainNoSlot(f Facts, at time.Time) Answer {
	if f.Bad != nil {
		return Answer{Verdict: verdictNoSlots, Text: []string{
			"The job has no slots, because its schedule cannot be parsed: " + f.Bad.Error(),
		}}
	}
	a := Answer{Verdict: verdictNotASlot}
	if f.When == nil {
		a.Text = append(a.Text, "The job has no schedule: it runs only on request.")
		return a
	}
	a.Text = append(a.Text, fmt.Sprintf("%s is not a slot of the job (zone %s).", stamp(at), f.Job.Spec.Timezone))
	if next, ok := f.When.Next(at); ok {
		a.Text = append(a.Text, fmt.Sprintf("The next slot after it is %s.", stamp(next)))
	}
	if last := f.When.Last(at.AddDate(-1, 0, 0), at, 1); len(last) == 1 {
		a.Text = append(a.Text, fmt.Sprintf("The last slot before it is %s.", stamp(last[0])))
	}
	if off := f.When.Off(at); off != "" {
		a.Text = append(a.Text, off+".")
	}
	date := at.In(location(f.Job.Spec.Timezone)).Format(time.DateOnly)
	if slices.Contains(f.Job.Spec.Exclude, date) {
		a.Text = append(a.Text, fmt.Sprintf("The job excludes %s.", date))
	}
	return a
}

func location(zone string) *time.Location {
	if loc, err := time.LoadLocation(zone); err == nil {
		return loc
	}
	return time.UTC
}
