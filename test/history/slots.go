package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// slotsOf lists the slots of a job in (after, until], sorted.
//
// It checks every minute. It does not use package schedule, so that the code that makes the slots does not judge itself. The
// exceptions are expressions with L, W, # or H, and lists that contain a star.
func slotsOf(j Job, after, until time.Time) ([]time.Time, error) {
	if !until.After(after) {
		return nil, nil
	}
	zone, err := time.LoadLocation(cmp.Or(j.Spec.Timezone, "UTC"))
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.Name, err)
	}
	c, err := calendarOf(j.Spec, zone)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.Name, err)
	}
	from, to := after.Add(-c.reach()), until.Add(c.reach())
	var found []time.Time
	if d := j.Spec.Every.Std(); d > 0 {
		found = multiples(d, from, to)
	}
	found = append(found, j.Spec.At...)
	for _, text := range j.Spec.Schedule {
		e, err := parseCron(text)
		if errors.Is(err, errNotHere) {
			return slotsBySchedule(j, after, until)
		}
		if err != nil {
			return nil, fmt.Errorf("job %s: schedule %q: %w", j.Name, text, err)
		}
		gap, fold := onChanges(j.Spec)
		found = append(found, e.slots(zone, gap, fold, from, to)...)
	}
	inside := func(at time.Time) bool {
		return (j.Spec.Start == nil || !at.Before(*j.Spec.Start)) && (j.Spec.End == nil || at.Before(*j.Spec.End)) &&
			!slices.Contains(j.Spec.Exclude, at.In(zone).Format(time.DateOnly))
	}
	if c != nil {
		found = slices.DeleteFunc(found, func(at time.Time) bool { return !inside(at) })
		found = c.moved(found)
	}
	for i := range found {
		found[i] = found[i].UTC()
	}
	slices.SortFunc(found, time.Time.Compare)
	found = slices.CompactFunc(found, time.Time.Equal)
	return slices.DeleteFunc(found, func(at time.Time) bool {
		return !at.After(after) || at.After(until) || !inside(at)
	}), nil
}

// onChanges returns the policies of a job for the days on which clocks are set.
func onChanges(s job.Spec) (gap, fold string) {
	gap, fold = "run", "first"
	if s.DST != nil {
		gap, fold = cmp.Or(s.DST.Gap, gap), cmp.Or(s.DST.Fold, fold)
	}
	return gap, fold
}

// multiples returns the multiples of d since 1970 in (after, until].
func multiples(d time.Duration, after, until time.Time) (found []time.Time) {
	ms := d.Milliseconds()
	for n := after.UnixMilli()/ms + 1; n*ms <= until.UnixMilli(); n++ {
		found = append(found, time.UnixMilli(n*ms))
	}
	return found
}

func slotsBySchedule(j Job, after, until time.Time) (found []time.Time, err error) {
	s, err := policy.When(j.Name, &j.Spec)
	if err != nil || s == nil {
		return nil, err
	}
	for at, ok := s.Next(after); ok && !at.After(until); at, ok = s.Next(at) {
		found = append(found, at)
	}
	return found, nil
}
