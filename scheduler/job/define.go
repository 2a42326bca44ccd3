package job

import (
	"bytes"
	"encoding/json"
	"time"
)

// Define returns the definition that spec makes of cur (nil: there is none) at now, and whether anything changed.
// A pause outlives it. Slots that the present schedule owed before now are owed no longer if the schedule changes.
func Define(cur *Job, name string, spec Spec, origin Origin, now time.Time) (Job, bool) {
	spec = spec.WithDefaults()
	if cur == nil {
		first := Job{
			Name: name, Origin: origin, Generation: 1, Created: now, Updated: now,
			Since: now, SinceReason: SinceCreated, SinceGeneration: 1, Scheduled: now, Spec: &spec,
		}
		if len(spec.Notify) > 0 {
			first.Notified = now
		}
		return first, true
	}
	if sameJSON(*cur.Spec, spec) && cur.Origin == origin {
		return *cur, false
	}
	next := *cur
	next.Origin, next.Updated, next.Spec = origin, now, &spec
	if !sameJSON(*cur.Spec, spec) {
		next.Generation++
	}
	if !cur.Spec.Notify.tellAlike(spec.Notify) {
		next.Notified = now
	}
	if !sameJSON(cur.Spec.when(), spec.when()) {
		next.Since, next.SinceReason, next.SinceGeneration, next.Scheduled = now, SinceRescheduled, next.Generation, now
		next.Jittered, next.Pauses = &spec.Jitter, nil
	}
	return next, true
}

// when is what of a spec decides which slots there are.
func (s Spec) when() Spec {
	return Spec{
		Schedule: s.Schedule, Every: s.Every, At: s.At, Timezone: s.Timezone, DST: s.DST,
		Start: s.Start, End: s.End, Exclude: s.Exclude,
	}
}

// sameJSON says whether two specs are stored alike.
func sameJSON(a, b Spec) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
