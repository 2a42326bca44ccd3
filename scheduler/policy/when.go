package policy

import (
	"slices"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// When parses the schedule of a spec. It returns nil for a job without a schedule of its own, and the errors of schedule.Parse.
func When(name string, s *job.Spec) (*schedule.Schedule, error) {
	if !s.Scheduled() {
		return nil, nil
	}
	spec := schedule.Spec{
		Cron: s.Schedule, Every: s.Every.Std(), At: s.At, Timezone: s.Timezone,
		Start: deref(s.Start), End: deref(s.End), Exclude: s.Exclude, Seed: name, Jitter: s.Jitter.Std(),
	}
	spec.Calendar = CalendarOf(s.Calendar)
	if s.DST != nil {
		spec.Gap, spec.Fold = schedule.Gap(s.DST.Gap), schedule.Fold(s.DST.Fold)
	}
	return schedule.Parse(spec)
}

// StoredWhen is When for a spec that never changes, as those of stored definitions. Many jobs share one, and it is parsed once.
func StoredWhen(name string, s *job.Spec) (*schedule.Schedule, error) {
	if known := parsed.get(s); known != nil {
		return known.For(name, s.Jitter.Std()), nil
	}
	when, err := When(name, s)
	if when != nil && !slices.ContainsFunc(s.Schedule, schedule.Hashed) {
		parsed.put(s, when)
	}
	return when, err
}

// parsed holds schedules of specs that StoredWhen has parsed lately.
var parsed schedules

// maxParsed bounds how many specs schedules has.
const maxParsed = 1000

type schedules struct {
	mu     sync.Mutex
	bySpec map[*job.Spec]*schedule.Schedule // guarded by mu
}

func (p *schedules) get(s *job.Spec) *schedule.Schedule {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bySpec[s]
}

// put adds a schedule. When there are too many, it removes all others.
func (p *schedules) put(s *job.Spec, when *schedule.Schedule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bySpec == nil || len(p.bySpec) >= maxParsed {
		p.bySpec = make(map[*job.Spec]*schedule.Schedule)
	}
	p.bySpec[s] = when
}

// StepOff says why a step does not run in a slot on a day that is off, such as "2026-12-25 is not on nyse"; "" if it runs.
func StepOff(s *job.Spec, slot time.Time) string {
	if s.Calendar == nil || slot.IsZero() {
		return ""
	}
	zone, err := time.LoadLocation(s.Timezone)
	if err != nil { // nothing accepts such a definition
		zone = time.UTC
	}
	return CalendarOf(s.Calendar).Off(slot.In(zone))
}

// CalendarOf returns the calendar of a definition in the form of package schedule; nil for nil.
func CalendarOf(c *job.Calendar) *schedule.Calendar {
	if c == nil {
		return nil
	}
	return &schedule.Calendar{
		Name: c.Name(), Not: c.NotOn != "", Weekdays: c.Weekdays, Dates: c.Dates, Except: c.Except, Else: schedule.Else(c.Else),
	}
}

// SlotsAfter returns the time after which the slots of the job's present schedule run; zero if the record does not say.
// when is that schedule.
//
// An edited schedule begins with the first slot whose time, with the jitter that the job got by the edit, had not come at the edit.
// So an edit between a slot and its time loses the run only if the new schedule lacks the slot. An edit of the jitter alone
// neither loses nor repeats a slot. A new job has no slots before its creation.
func SlotsAfter(j *job.Job, when *schedule.Schedule) time.Time {
	at := j.Scheduled
	if at.IsZero() && j.SinceReason != job.SinceResumed {
		at = j.Since
	}
	if at.IsZero() || when == nil || j.SinceGeneration <= 1 {
		return at
	}
	offset := when.Offset()
	if j.Jittered != nil {
		offset = schedule.Offset(j.Name, j.Jittered.Std())
	}
	return job.Later(j.Created, at.Add(-offset))
}

func deref(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
