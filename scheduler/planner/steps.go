package planner

import (
	"iter"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// steps is what the planner knows about the workflows. It is derived from definitions and runs.
type steps struct {
	children map[string][]*jobState          // by the name of a job: the steps whose definitions name it as a parent
	needed   map[string]map[string]*jobState // by the name of a run: the live runs that follow it, with their jobs
	bad      map[string]bool                 // names of runs whose records are unreadable
}

// isStep reports whether the job follows others.
func (j *jobState) isStep() bool { return j.def != nil && j.def.Spec.Step() }

// setParents records the change of a step's parents.
func (p *Planner) setParents(j *jobState, old, def *job.Job) {
	if old != nil {
		for _, a := range old.Spec.After {
			list := slices.DeleteFunc(p.steps.children[a.Job], func(c *jobState) bool { return c == j })
			if p.steps.children[a.Job] = list; len(list) == 0 {
				delete(p.steps.children, a.Job)
			}
		}
	}
	if def != nil && def.Spec.Step() {
		if p.steps.children == nil {
			p.steps.children = make(map[string][]*jobState)
		}
		for _, a := range def.Spec.After {
			p.steps.children[a.Job] = append(p.steps.children[a.Job], j)
		}
	}
	for step := range p.behind(j) { // a job before it may have been created or deleted, or have no slots any more
		p.markDirty(step)
	}
}

// needsParents reports whether the live run r needs the records of the runs that it follows: it waits for them, or one has outputs.
// nil needs none.
func needsParents(r *job.Run) bool {
	return r != nil && len(r.After) > 0 && !r.State.Terminal() &&
		(r.AwaitsParents() || slices.ContainsFunc(r.After, func(a job.Parent) bool { return a.Outputs }))
}

// setNeeds records which runs r follows, if it needs their records. was is the run before the change. Either may be nil.
func (p *Planner) setNeeds(j *jobState, was, r *job.Run) {
	if needsParents(was) {
		for i := range was.After {
			parent := was.After[i].Job + "/" + was.After[i].RunID(was)
			if delete(p.steps.needed[parent], was.Name()); len(p.steps.needed[parent]) == 0 {
				delete(p.steps.needed, parent)
			}
		}
	}
	if !needsParents(r) {
		return
	}
	if p.steps.needed == nil {
		p.steps.needed = make(map[string]map[string]*jobState)
	}
	for i := range r.After {
		parent := r.After[i].Job + "/" + r.After[i].RunID(r)
		if p.steps.needed[parent] == nil {
			p.steps.needed[parent] = make(map[string]*jobState, 1)
		}
		p.steps.needed[parent][r.Name()] = j
	}
}

// wakeSteps schedules the steps that may be decided after the run r has changed. r is nil if its record is gone or unreadable.
func (p *Planner) wakeSteps(j *jobState, id string, r *job.Run) {
	if r != nil && !r.State.Terminal() {
		return
	}
	if len(p.steps.needed) > 0 {
		for _, child := range p.steps.needed[j.name+"/"+id] {
			p.markDirty(child)
		}
	}
	if r == nil || r.Kind == job.KindBackfill {
		p.wakeBackfills(j.name)
	}
	if r == nil || r.Kind == job.KindScheduled {
		for _, child := range p.steps.children[j.name] {
			p.markDirty(child)
		}
	}
}

// behind yields the steps behind j, each once.
func (p *Planner) behind(j *jobState) iter.Seq[*jobState] {
	return func(yield func(*jobState) bool) {
		if len(p.steps.children[j.name]) == 0 { // most jobs
			return
		}
		reached, seen := []*jobState{j}, map[*jobState]bool{j: true}
		for i := 0; i < len(reached); i++ {
			for _, child := range p.steps.children[reached[i].name] {
				if seen[child] {
					continue
				}
				seen[child] = true
				if reached = append(reached, child); !yield(child) {
					return
				}
			}
		}
	}
}

// wakeJoins schedules the steps behind j that have several parents, after the cursor of j has moved. If it has moved past a slot
// without a run, neither such a step nor a parent of it waits for j any more. Only the cursor of a job without parents does so.
func (p *Planner) wakeJoins(j *jobState) {
	mark := func(step *jobState) {
		if step.def != nil && len(step.def.Spec.After) > 1 {
			p.markDirty(step)
		}
	}
	if j.isStep() {
		for _, child := range p.steps.children[j.name] {
			mark(child)
		}
		return
	}
	for step := range p.behind(j) {
		mark(step)
	}
}

// isFollowed reports whether steps begin at the end of r, a run of j or a copy of one. They are those of its slot, or those that a
// client started with it. A step that joins j between the arming and the slot may begin while r goes on.
func (p *Planner) isFollowed(j *jobState, r *job.Run) bool {
	of, slot := r.ID, r.Kind == job.KindScheduled
	if r.CopyOf() != "" {
		of = r.CopyOf()
		parent := j.live.get(of)
		slot = parent != nil && parent.Kind == job.KindScheduled
	}
	return slot && len(p.steps.children[j.name]) > 0 || len(p.steps.needed[j.name+"/"+of]) > 0
}

// setBad records whether the record of a run is unreadable.
func (s *steps) setBad(run string, bad bool) {
	switch {
	case !bad:
		delete(s.bad, run)
	case s.bad == nil:
		s.bad = map[string]bool{run: true}
	default:
		s.bad[run] = true
	}
}

// isNeeded reports whether a step still needs the record of a run of j: it has not decided the slot, or a run of it follows this
// run. So does the run of which r is a copy, until it has ended. History keeps such a record.
func (p *Planner) isNeeded(j *jobState, r *job.Run) bool {
	if len(p.steps.needed) > 0 && len(p.steps.needed[r.Name()]) > 0 {
		return true
	}
	if j.live.get(r.CopyOf()) != nil { // it ends with its copies, and by their states
		return true
	}
	if r.Kind != job.KindScheduled {
		return false
	}
	return slices.ContainsFunc(p.steps.children[j.name], func(c *jobState) bool { return !p.stepPosition(c).Passed(r.Slot) })
}

// stepPosition returns up to where the slots of a step are decided. Its Rev is 0 if there is no record of it.
func (p *Planner) stepPosition(j *jobState) *job.Cursor {
	at := job.Cursor{Job: j.name}
	if j.cursor != nil {
		at = *j.cursor
	}
	if !isKnown(j.cursor) {
		at.After = p.lastSlot(j)
	}
	if j.def != nil {
		at.After = job.Later(at.After, j.scheduledAfter())
	}
	return &at
}

// passed returns up to where the slots of a parent are decided, as far as all their runs are known.
func (p *Planner) passed(j *jobState) *job.Cursor {
	switch {
	case j.trouble().unseen > p.seen:
		return nil
	case j.isStep():
		return p.stepPosition(j)
	}
	at := job.Cursor{}
	if j.def != nil {
		at.After = j.scheduledAfter()
	}
	switch {
	case j.def != nil && !j.def.Spec.Scheduled(): // it never has a slot
		at.After = job.WhenParentsEnd
	case !isKnown(j.cursor):
	case j.when != nil && p.position(j).next.IsZero(): // its last slot is decided
		at.After = job.WhenParentsEnd
	default:
		at.After = job.Later(at.After, j.cursor.After)
	}
	return &at
}

// getsNone reports whether j has no run of a slot, and gets none: it has passed the slot, or all its parents get none either.
// visited has the jobs that were asked, because others may write a cycle into the store.
func (p *Planner) getsNone(j *jobState, slot time.Time, visited map[*jobState]bool) bool {
	none, known := visited[j]
	switch passed := p.passed(j); {
	case known:
		return none
	case passed == nil || p.steps.bad[j.name+"/"+job.SlotID(slot)] || j.run(job.SlotID(slot)) != nil:
		return false
	case passed.Passed(slot) || j.def == nil && !j.unreadable: // decided, or deleted
		return true
	case !j.isStep():
		return false
	}
	visited[j] = false
	visited[j] = !slices.ContainsFunc(j.def.Spec.After, func(a job.After) bool {
		parent := p.jobs[a.Job]
		return parent != nil && !p.getsNone(parent, slot, visited)
	})
	return visited[j]
}

// openSlots returns the slots after at for which a parent of the step j has a run, in order.
func (p *Planner) openSlots(j *jobState, at *job.Cursor) (open []time.Time) {
	add := func(r *job.Run) {
		if r.Kind == job.KindScheduled && !at.Passed(r.Slot) {
			open = append(open, r.Slot)
		}
	}
	for _, a := range j.def.Spec.After {
		parent := p.jobs[a.Job]
		if parent == nil {
			continue
		}
		for _, r := range parent.live.order {
			add(r.Run)
		}
		for r := range parent.ended.since(at.After.Add(-earlyEnd)) {
			add(r)
		}
	}
	slices.SortFunc(open, time.Time.Compare)
	return slices.CompactFunc(open, time.Time.Equal)
}

// earlyEnd is how long before its slot a run may have ended. It may have been armed ahead, by at most a minute, and canceled; and
// clocks differ slightly.
const earlyEnd = 2 * time.Minute
