package backend

import (
	"fmt"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// specs returns the definitions in the mirror by name.
func (b *Backend) specs() map[string]*job.Spec {
	jobs := b.mirror.Jobs()
	specs := make(map[string]*job.Spec, len(jobs))
	for _, j := range jobs {
		specs[j.Name] = j.Spec
	}
	return specs
}

// checkWorkflow refuses a definition that would break a workflow. Mistakes that the store contains already do not count. A job
// without parents may get other slots than its companions: they change one after the other, and until then the steps behind them
// are skipped with a reason.
func (b *Backend) checkWorkflow(name string, spec *job.Spec) error {
	specs := b.specs()
	if !spec.Step() && len(workflow.Of(specs).Behind(name)) == 0 {
		return nil
	}
	known := workflow.Check(specs)
	specs[name] = spec
	invalid := &api.Invalid{}
	for _, p := range workflow.Check(specs) {
		if p.Job == name || !p.Slots && !slices.Contains(known, p) {
			field := "after"
			if p.Job == name && len(spec.After) > 1 {
				field = fmt.Sprintf("after[%d]", p.Parent)
			}
			invalid.Errors = append(invalid.Errors, api.FieldError{Field: field, Message: p.Text + " (" + p.Hint + ")"})
		}
	}
	if len(invalid.Errors) > 0 {
		return invalid
	}
	return nil
}

// stepBehind returns the name of a step that follows a job; empty if none does.
func (b *Backend) stepBehind(name string) string {
	for _, j := range b.mirror.Jobs() {
		if slices.ContainsFunc(j.Spec.After, func(a job.After) bool { return a.Job == name }) {
			return j.Name
		}
	}
	return ""
}
