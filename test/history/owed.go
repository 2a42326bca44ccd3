package history

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// owedUntil returns the time up to which all slots of a job must be decided when recording ends. It is zero if no definition of
// the job is in force at the end. Usually it is History.Recovery before the end of the recording. It is earlier if a fault or a
// pause lasts until then, or if a run was in the way at that time.
func (t *timeline) owedUntil(name string) time.Time {
	ds := t.definitions[name]
	if len(ds) == 0 || ds[len(ds)-1].over != 0 || t.over.IsZero() {
		return time.Time{}
	}
	end := t.over.Add(-t.Recovery)
	jitter := ds[len(ds)-1].job.Spec.Jitter.Std()
	troubles := t.troubles()
	for _, s := range t.pausesOf(name) {
		if s.to.IsZero() || s.to.After(end) {
			end = earlier(end, s.from.Add(-t.Slack-jitter))
		}
	}
	for _, s := range troubles { // a delayed slot is decided after the trouble, unless a pause began meanwhile
		if s.to.IsZero() || !s.to.Before(t.over) || s.covers(end) {
			end = earlier(end, s.from.Add(-t.Slack-jitter))
		}
	}
	for _, run := range t.of[name] {
		vs := t.runs[run]
		if first, last := vs[0], vs[len(vs)-1]; !first.Seen.After(end.Add(t.Slack+jitter)) && !last.Seen.Before(end) {
			end = earlier(end, earlier(first.run.Slot, first.Seen.Add(-t.Slack)))
		}
	}
	return end
}

// troubles returns the times in which faults may delay a run.
func (t *timeline) troubles() spans {
	var list []span
	for _, f := range t.Faults {
		if s, ok := t.trouble(f); ok {
			list = append(list, s)
		}
	}
	return merge(list, 0)
}

// decidedUntil returns up to when the slots of a job were decided, by its cursor.
func (t *timeline) decidedUntil(name string) (end time.Time) {
	for _, c := range t.cursors[name] {
		end = job.Later(end, c.cursor.After)
	}
	return end
}

// scheduleOver reports whether a schedule had ended when the recording ended, and returns the end of the schedule.
func (t *timeline) scheduleOver(s *job.Spec) (time.Time, bool) {
	if s.End == nil || !t.over.After(*s.End) {
		return time.Time{}, false
	}
	return *s.End, true
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
