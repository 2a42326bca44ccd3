package backend

import (
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/explain"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// slotsOf returns the schedule of a job. The schedule of a step is that of the jobs without parents in its workflow.
func (b *Backend) slotsOf(j *job.Job) (*schedule.Schedule, error) {
	if j.Spec.Step() {
		for _, name := range b.graph(j.Name).Roots(j.Name) {
			if root, known := b.mirror.Job(name); known {
				return policy.When(name, root.Spec)
			}
		}
	}
	return policy.When(j.Name, j.Spec)
}

// namesOf returns the names of parents.
func namesOf(after []job.After) string {
	names := make([]string, len(after))
	for i, a := range after {
		names[i] = a.Job
	}
	return strings.Join(names, ", ")
}

// parentsAt returns the parents of a step with their runs of a slot.
func (b *Backend) parentsAt(j *job.Job, slot time.Time) []explain.Parent {
	parents := make([]explain.Parent, 0, len(j.Spec.After))
	known := map[string]bool{j.Name: false}
	for _, a := range j.Spec.After {
		p := explain.Parent{Job: a.Job, Decided: b.decided(a.Job, slot, known)}
		p.Run, _ = b.mirror.Run(a.Job + "/" + job.SlotID(slot))
		parents = append(parents, p)
	}
	return parents
}

// decided reports whether a slot of a job is decided. If none of the parents of a step ran in a slot, the cursor of the step stays
// before the slot until a later one. known has the answers so far; they also end a cycle of parents.
func (b *Backend) decided(name string, slot time.Time, known map[string]bool) bool {
	if answer, ok := known[name]; ok {
		return answer
	}
	cursor, _ := b.mirror.Cursor(name)
	known[name] = cursor.Passed(slot)
	j, ok := b.mirror.Job(name)
	if known[name] || !ok || !j.Spec.Step() {
		return known[name]
	}
	for _, a := range j.Spec.After {
		if _, ran := b.mirror.Run(a.Job + "/" + job.SlotID(slot)); ran || !b.decided(a.Job, slot, known) {
			return false
		}
	}
	known[name] = true
	return true
}
