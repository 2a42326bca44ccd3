package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/workflow"
	"github.com/rota-scheduler/rota/store"
)

// specs returns the definitions of all workflows, and of the jobs with some names. It visits no other jobs, because there may be a
// million, and each of them is defined with a request of its own.
func (b *Backend) specs(names ...string) map[string]*job.Spec {
	specs := map[string]*job.Spec{}
	add := func(name string) {
		if j, known := b.mirror.Job(name); known {
			specs[name] = j.Spec
		}
	}
	for _, name := range names {
		add(name)
	}
	for _, step := range b.mirror.Steps() {
		specs[step.Name] = step.Spec
		for _, parent := range step.Spec.After {
			add(parent.Job)
		}
	}
	return specs
}

// graph returns the graph of all workflows, and of the job with a name. Other jobs are joined with none, and are left out.
func (b *Backend) graph(name string) workflow.Graph { return workflow.Of(b.specs(name)) }

// checkWorkflow refuses a definition that would break a workflow. Mistakes that the store contains already do not count. A job
// without parents may get other slots than its companions: they change one after the other, and until then the steps behind them
// are skipped with a reason.
func (b *Backend) checkWorkflow(ctx context.Context, name string, spec *job.Spec) error {
	names := []string{name}
	for _, a := range spec.After {
		names = append(names, a.Job)
	}
	specs := b.specs(names...)
	if !spec.Step() && len(workflow.Of(specs).Behind(name)) == 0 {
		return nil
	}
	known := workflow.Check(specs)
	specs[name] = spec
	invalid := &api.Invalid{}
	for _, p := range workflow.Check(specs) {
		if p.Job == name || !p.Slots && !slices.Contains(known, p) {
			invalid.Errors = append(invalid.Errors, inField(ctx, name, spec, p))
		}
	}
	if len(invalid.Errors) > 0 {
		return invalid
	}
	return nil
}

// checkParents refuses parents that the client may not see, as if they did not exist. A step gets the outputs of its parents.
// Parents that the job has already may stay.
func (b *Backend) checkParents(ctx context.Context, name string, spec *job.Spec) error {
	visible := api.Visible(ctx)
	if visible == nil {
		return nil
	}
	var before []job.After
	if j, known := b.mirror.Job(name); known {
		before = j.Spec.After
	}
	invalid := &api.Invalid{}
	for i, a := range spec.After {
		if !visible(a.Job) && !slices.ContainsFunc(before, func(had job.After) bool { return had.Job == a.Job }) {
			invalid.Errors = append(invalid.Errors, inField(ctx, name, spec, workflow.Undefined(name, i, a.Job)))
		}
	}
	if len(invalid.Errors) > 0 {
		return invalid
	}
	return nil
}

// inField returns a problem as a mistake in a field of the definition of a job. A client that may not see all jobs of the problem
// learns no names.
func inField(ctx context.Context, name string, spec *job.Spec, p workflow.Problem) api.FieldError {
	e := api.FieldError{Field: "after", Message: p.Text + " (" + p.Hint + ")"}
	if p.Job == name && len(spec.After) > 1 {
		e.Field = fmt.Sprintf("after[%d]", p.Parent)
	}
	visible := api.Visible(ctx)
	if visible != nil && slices.ContainsFunc(strings.Fields(p.Names), func(name string) bool { return !visible(name) }) {
		e.Message = "the job does not fit into its workflow, which has jobs that your role does not cover (ask an administrator)"
	}
	return e
}

// stepBehind returns the name of a step that follows a job; empty if none does.
func (b *Backend) stepBehind(name string) string {
	return firstName(slices.DeleteFunc(b.mirror.Steps(), func(j *job.Job) bool {
		return !slices.ContainsFunc(j.Spec.After, func(a job.After) bool { return a.Job == name })
	}))
}

// firstName returns the first of the names of jobs; empty if there are none.
func firstName(jobs []*job.Job) string {
	if len(jobs) == 0 {
		return ""
	}
	return slices.MinFunc(jobs, func(x, y *job.Job) int { return strings.Compare(x.Name, y.Name) }).Name
}

// generation returns the generation of a job's definition.
func (b *Backend) generation(name string) int64 {
	if j, known := b.mirror.Job(name); known {
		return j.Generation
	}
	return 0
}

// stepsOf returns the records of the steps behind r, which starts a workflow.
func (b *Backend) stepsOf(r *job.Run) ([]job.Run, error) {
	return atMost(r, b.defaultParams(b.graph(r.Job).Runs(r, b.generation)))
}

// resumed returns the records of the steps behind old that did not run because of it. r repeats old.
func (b *Backend) resumed(ctx context.Context, old, r *job.Run) ([]job.Run, error) {
	if unfit := workflow.Unfit(old); unfit != "" {
		return nil, refusal("the workflow cannot be resumed from run %s: %s; `rota graph %s --slot %s` shows all",
			old.Name(), unfit, old.Job, old.ID)
	}
	if err := b.caughtUp(ctx); err != nil { // in an older view, a step that has succeeded would seem to be missing
		return nil, err
	}
	open := func(step string) bool { return b.awaitsSlot(old, step) }
	steps := b.graph(old.Job).Resume(old, r, b.workflowRecords(), open, b.generation)
	for i := range steps {
		if name := steps[i].Job; steps[i].RetryOf == "" && b.hadStep(old, name) {
			return nil, refusal("the history has no room any more for the run of step %[1]s, which may have succeeded: "+
				"start the steps that are missing, as with `rota run %[1]s --workflow`", name)
		}
	}
	return atMost(r, b.defaultParams(steps))
}

// workflowRecords finds runs and their repetitions. No repetition is a delayed run.
func (b *Backend) workflowRecords() workflow.Records {
	return workflow.Records{
		Run: func(name string) *job.Run {
			r, _ := b.mirror.Run(name)
			return r
		},
		Repeats: func(name string) []*job.Run {
			of, _, _ := strings.Cut(name, "/")
			return b.mirror.Runs(of, time.Time{}, func(r *job.Run) bool { return r.RetryOf == name })
		},
	}
}

// hadStep reports whether a step behind r, which ran in a slot or repeats such a run, had a run in this slot. The history may have
// removed it.
func (b *Backend) hadStep(r *job.Run, step string) bool {
	at, _ := b.mirror.Cursor(step)
	return at.Passed(r.Slot) && b.hasSlot(r, step)
}

// awaitsSlot reports whether the leader has not decided yet about a step behind r, which ran in a slot or repeats such a run.
func (b *Backend) awaitsSlot(r *job.Run, step string) bool {
	at, _ := b.mirror.Cursor(step)
	return !at.Passed(r.Slot) && b.hasSlot(r, step)
}

// hasSlot reports whether a step behind r, which ran in a slot or repeats such a run, has this slot too. A step has no slots before
// its creation.
func (b *Backend) hasSlot(r *job.Run, step string) bool {
	j, known := b.mirror.Job(step)
	return known && workflow.OfSlot(r, b.workflowRecords().Run) && r.Slot.After(policy.SlotsAfter(j, nil))
}

func atMost(r *job.Run, steps []job.Run) ([]job.Run, error) {
	if len(steps) > store.MaxBehind {
		return nil, refusal("%d steps follow job %s, and at most %d can be started at once: start a later step, or the job alone",
			len(steps), r.Job, store.MaxBehind)
	}
	return steps, nil
}

// Workflow returns the workflow of a job. If id is not empty, each job has its run of that slot or id.
func (b *Backend) Workflow(_ context.Context, name, id string) (api.WorkflowView, error) {
	if _, err := b.known(name); err != nil {
		return api.WorkflowView{}, err
	}
	graph := b.graph(name)
	v := api.WorkflowView{Job: name, ID: id, Steps: []api.StepView{}}
	runs := map[string]*job.Run{} // by job
	jobs := graph.Workflow(name)
	for _, member := range jobs {
		if r, known := b.mirror.Run(member + "/" + id); known && id != "" {
			runs[member] = r
		}
	}
	for found := slices.Clone(jobs); len(found) > 0; found = found[1:] { // a resumed run follows runs of an earlier id
		r := runs[found[0]]
		for i := 0; r != nil && i < len(r.After); i++ {
			if a := &r.After[i]; a.ID != "" && runs[a.Job] == nil {
				if earlier, known := b.mirror.Run(a.Job + "/" + a.ID); known {
					runs[a.Job], found = earlier, append(found, a.Job)
				}
			}
		}
	}
	behind := graph.Behind(name)
	for _, member := range jobs {
		step := api.StepView{Job: member, After: append([]job.After{}, graph.Parents(member)...), Behind: slices.Contains(behind, member)}
		if r := runs[member]; r != nil {
			step.Ref, step.State, step.Reason = r.Name(), r.State, r.Reason
			if !r.Started.IsZero() {
				step.Started = &r.Started
			}
			if !r.Finished.IsZero() {
				step.Finished = &r.Finished
			}
		}
		v.Steps = append(v.Steps, step)
	}
	return v, nil
}
