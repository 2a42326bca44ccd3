package backend

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/suggest"
)

// refusedParams returns the error for parameters that the definition of a job does not allow.
func refusedParams(spec *job.Spec, wrong []job.ParamError) error {
	declared := slices.Sorted(maps.Keys(spec.Params))
	invalid := &api.Invalid{}
	for _, w := range wrong {
		text := "parameter " + w.Name + " " + w.Text
		if _, known := spec.Params[w.Name]; !known {
			text += whichParams(w.Name, declared)
		}
		invalid.Errors = append(invalid.Errors, api.FieldError{Field: "params." + w.Name, Message: text})
	}
	return invalid
}

func whichParams(name string, declared []string) string {
	switch near := suggest.Nearest(name, declared); {
	case len(declared) == 0:
		return ": it has no parameters"
	case near != "":
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ": use " + strings.Join(declared, ", ")
}

// fillParams sets the parameters of r, which a client submits with some of them.
func fillParams(r *job.Run, spec *job.Spec, given map[string]string) error {
	all, defaulted, wrong := spec.FillParams(given)
	if len(wrong) > 0 {
		return refusedParams(spec, wrong)
	}
	r.Params, r.Defaulted = all, defaulted
	return nil
}

// earlier returns the run that an earlier request with the key of r created.
func (b *Backend) earlier(ctx context.Context, r *job.Run) (job.Run, bool) {
	if r.Key == "" {
		return job.Run{}, false
	}
	there, err := b.store.Run(ctx, r.Job, r.ID)
	return there, err == nil && there.Key == r.Key
}

// keepParams sets the parameters of r, which repeats old. It keeps the values of old, and drops those that the job no longer
// declares. A parameter that was declared since has its default.
func keepParams(r, old *job.Run, spec *job.Spec) error {
	kept := maps.Clone(old.Params)
	maps.DeleteFunc(kept, func(name, _ string) bool { _, declared := spec.Params[name]; return !declared })
	all, _, wrong := spec.FillParams(kept)
	if len(wrong) > 0 {
		return refusal("run %s cannot be retried: its %v; the job has changed since, so submit a new run",
			old.Name(), refusedParams(spec, wrong))
	}
	r.Params, r.Defaulted = all, nil
	for name := range all {
		if _, given := kept[name]; !given || slices.Contains(old.Defaulted, name) {
			r.Defaulted = append(r.Defaulted, name)
		}
	}
	slices.Sort(r.Defaulted)
	return nil
}

// defaultParams sets the parameters of steps that have none yet to their defaults.
func (b *Backend) defaultParams(steps []job.Run) []job.Run {
	for i := range steps {
		if j, known := b.mirror.Job(steps[i].Job); known && steps[i].Params == nil {
			steps[i].Params, steps[i].Defaulted = j.Spec.DefaultParams()
		}
	}
	return steps
}
