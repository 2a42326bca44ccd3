package job

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
)

// Definition is a named record that a job file or the API defines. Job has the same fields, and the state of its
// schedule between them.
type Definition[S any] struct {
	Name       string    `json:"name"`
	Origin     Origin    `json:"origin"`
	Generation int64     `json:"generation"` // from 1; rises with every change of Spec
	Updated    time.Time `json:"updated"`
	Spec       S         `json:"spec"`
	Op         string    `json:"op,omitempty"` // id of the write that made this version

	Rev int64 `json:"-"`
}

// Origin names the owner of a definition.
type Origin struct {
	Kind   string `json:"kind"`             // OriginFile or OriginAPI
	Source string `json:"source,omitempty"` // the file, or the caller
}

// The origins. The API refuses to change a definition of a file.
const (
	OriginFile = "file"
	OriginAPI  = "api"
)

// define returns the definition that results from applying spec to cur at now, and whether anything changed. If cur is
// nil, the definition does not exist yet.
func define[S any](cur *Definition[S], name string, spec S, origin Origin, now time.Time) (Definition[S], bool) {
	if cur == nil {
		return Definition[S]{Name: name, Origin: origin, Generation: 1, Updated: now, Spec: spec}, true
	}
	same := sameJSON(cur.Spec, spec)
	if same && cur.Origin == origin {
		return *cur, false
	}
	next := *cur
	if !same {
		next.Generation++
	}
	next.Origin, next.Updated, next.Spec = origin, now, spec
	return next, true
}

// Define returns the definition that results from applying spec to cur at now, and whether anything changed. If cur is nil, the
// job does not exist yet. The caller sets UpdatedBy. A pause stays. If the schedule changes, undecided slots of the old schedule
// are dropped.
func Define(cur *Job, name string, spec Spec, origin Origin, now time.Time) (Job, bool) {
	spec = spec.WithDefaults()
	if cur == nil {
		first := Job{
			Name: name, Origin: origin, Generation: 1, Created: now, Updated: now,
			Since: now, SinceReason: SinceCreated, SinceGeneration: 1, Scheduled: now, Spec: &spec,
		}
		if spec.Reports() {
			first.Notified = now
		}
		return first, true
	}
	if sameJSON(*cur.Spec, spec) && cur.Origin == origin {
		return *cur, false
	}
	next := *cur
	next.Origin, next.Updated, next.UpdatedBy, next.Spec = origin, now, "", &spec
	if !sameJSON(*cur.Spec, spec) {
		next.Generation++
	}
	if !cur.Spec.Notify.sameMessages(spec.Notify) || (cur.Spec.Ping == nil) != (spec.Ping == nil) {
		next.Notified = now
	}
	if !sameJSON(cur.Spec.when(), spec.when()) || !sameParents(cur.Spec.After, spec.After) {
		next.Since, next.SinceReason, next.SinceGeneration, next.Scheduled = now, SinceRescheduled, next.Generation, now
		next.Jittered, next.Pauses = &spec.Jitter, cur.pausesAfter(now.Add(-spec.Jitter.Std()))
	}
	return next, true
}

// when returns the part of a spec that decides which slots exist.
func (s Spec) when() Spec {
	if s.Step() {
		return Spec{} // its slots are those of its parents
	}
	return Spec{
		Schedule: s.Schedule, Every: s.Every, At: s.At, Timezone: s.Timezone, DST: s.DST,
		Start: s.Start, End: s.End, Exclude: s.Exclude, Calendar: s.Calendar,
	}
}

// DifferentSlots returns the key in which the schedules of two jobs differ; "" if they are equal. With H, two jobs have different
// slots nevertheless.
func DifferentSlots(a, b *Spec) string {
	for _, key := range []struct {
		name string
		a, b any
	}{
		{"schedule", a.Schedule, b.Schedule},
		{"every", a.Every, b.Every},
		{"at", a.At, b.At},
		{"timezone", a.Timezone, b.Timezone},
		{"dst", a.DST, b.DST},
		{"start", a.Start, b.Start},
		{"end", a.End, b.End},
		{"exclude", a.Exclude, b.Exclude},
		{"calendar", a.Calendar, b.Calendar},
	} {
		if !sameJSON(key.a, key.b) {
			return key.name
		}
	}
	return ""
}

// sameParents reports whether a job stays a step of the same slots: it has a parent that it had before. Slots that are under way
// are then decided with the new parents. Two jobs without parents are the same too.
func sameParents(before, after []After) bool {
	if len(before) == 0 || len(after) == 0 {
		return len(before) == len(after)
	}
	return slices.ContainsFunc(before, func(b After) bool {
		return slices.ContainsFunc(after, func(a After) bool { return a.Job == b.Job })
	})
}

// sameJSON reports whether two specs have the same stored form.
func sameJSON[S any](a, b S) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
