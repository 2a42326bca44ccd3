package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
	"go.yaml.in/yaml/v4"
)

// schedule checks the keys of a job's schedule. n is the job's mapping. key is the node of the job's name, nil for defaults.
func (r *reader) schedule(n, key *yaml.Node, name string, s *job.Spec, isJob bool) {
	var given []string
	for _, k := range []string{"schedule", "every", "at"} {
		if child(n, k) != nil {
			given = append(given, k)
		}
	}
	if len(given) > 1 && isJob {
		r.fail(keyOf(n, given[1]), "keep one of them",
			"job %s has more than one of schedule, every and at: %s", quote(name), strings.Join(given, " and "))
	}
	spec := schedule.Spec{
		Cron: s.Schedule, Every: s.Every.Std(), At: s.At,
		Timezone: s.Timezone, Exclude: s.Exclude, Seed: name, Jitter: s.Jitter.Std(),
	}
	if c := s.Calendar; c != nil && c.Resolved() {
		spec.Calendar = policy.CalendarOf(c)
	}
	if s.DST != nil {
		spec.Gap, spec.Fold = schedule.Gap(s.DST.Gap), schedule.Fold(s.DST.Fold)
	}
	if s.Start != nil {
		spec.Start = *s.Start
	}
	if s.End != nil {
		spec.End = *s.End
	}
	sound := len(given) == 1 && s.Scheduled() && !slices.ContainsFunc(s.At, time.Time.IsZero) && !slices.Contains(s.Schedule, "")
	if !sound {
		// The other keys are checked as if the job had a slot each second.
		spec.Cron, spec.Every, spec.At = []string{"* * * * * *"}, 0, nil
	}
	_, err := schedule.Parse(spec)
	for _, e := range scheduleErrors(err) {
		if !sound && (e.Field == "every" || e.Field == "schedule") {
			continue
		}
		if at := locate(n, e); at != nil {
			r.refused(at, "", e)
		} else {
			r.refused(cmp.Or(key, n), e.Field, e)
		}
	}
}

// refused reports a mistake that package schedule found. absent is the key that is missing in the mapping at n; empty if n itself
// is wrong.
func (r *reader) refused(n *yaml.Node, absent string, e *schedule.Error) {
	hint := e.Hint
	if e.Field == "timezone" {
		if z := LikelyZone(e.Expr); z != "" {
			hint = "did you mean " + z + "?"
		}
	}
	what := e.Field
	if e.Expr != "" {
		what += " " + quote(e.Expr)
	}
	if e.Field == "schedule" {
		what += ":"
	}
	r.failAbsent(n, absent, hint, "%s %s", what, e.Msg)
}

// scheduleErrors returns the errors that schedule.Parse joined.
func scheduleErrors(err error) []*schedule.Error {
	if err == nil {
		return nil
	}
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	out := make([]*schedule.Error, 0, len(list))
	for _, err := range list {
		var e *schedule.Error
		if !errors.As(err, &e) {
			e = &schedule.Error{Field: "schedule", Index: -1, Msg: fmt.Sprint(err)}
		}
		out = append(out, e)
	}
	return out
}

// locate returns the node that an error refers to; nil if the mapping lacks it.
func locate(n *yaml.Node, e *schedule.Error) *yaml.Node {
	for key := range strings.SplitSeq(e.Field, ".") {
		if n = child(n, key); n == nil {
			return nil
		}
	}
	if e.Index >= 0 && n.Kind == yaml.SequenceNode && e.Index < len(n.Content) {
		return n.Content[e.Index]
	}
	return n
}

// keyOf returns the node of a key itself.
func keyOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i]
		}
	}
	return n
}
