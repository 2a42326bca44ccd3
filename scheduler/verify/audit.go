package verify

import (
	"maps"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// checkAudit notes the definitions whose present version or removal has no audit record. Somebody changed the store without the
// API, or a replica of version 0.1.0 did. It leaves out definitions of job files, and definitions older than the audit trail.
func (c *checker) checkAudit() {
	var first int64 // the earliest revision from which on no record was removed
	recorded := make(map[int64]bool, len(c.audits))
	for _, a := range c.audits {
		recorded[a.Rev] = true
		if !a.OfRun() && (first == 0 || a.Rev < first) { // records of single runs are removed earlier than others
			first = a.Rev
		}
	}
	if first == 0 {
		return
	}
	check := func(what string, origin job.Origin, rev int64) {
		if origin.Kind != job.OriginFile && rev > first && !recorded[rev] {
			c.note("%s was changed outside of the API: no audit record has its revision %d", what, rev)
		}
	}
	for _, name := range c.names() {
		if def := c.jobs[name].def; def != nil {
			check("job "+name, def.Origin, def.Rev)
		}
	}
	for _, l := range c.limits {
		check("limit "+l.Name, l.Origin, l.Rev)
	}
	check("the pause of all jobs", job.Origin{}, c.gate.Rev)
	for _, rev := range slices.Sorted(maps.Keys(c.removals)) {
		if rev > first && !recorded[rev] {
			c.note("job %s was removed outside of the API: no audit record has the revision %d", c.removals[rev], rev)
		}
	}
}

// checkRemains notes the remains of definitions that somebody removed without the API, which would have removed or refused them.
// Changes through two replicas at the same moment can leave the same.
func (c *checker) checkRemains() {
	limits := make(map[string]bool, len(c.limits))
	for _, l := range c.limits {
		limits[l.Name] = true
	}
	specs := make(map[string]*job.Spec, len(c.jobs))
	for name := range c.spoilt {
		specs[name] = &job.Spec{} // it may be all right
	}
	for _, name := range c.names() {
		s := c.jobs[name]
		if s.def == nil {
			if s.cursor != nil && !c.spoilt[name] {
				c.note("job %s has a cursor but no definition: the definition was removed outside of the API", name)
			}
			continue
		}
		for _, limit := range s.def.Spec.Limits {
			if !limits[limit] {
				c.note("job %s names the limit %s, which is not defined: its runs wait", name, limit)
			}
		}
		specs[name] = s.def.Spec
	}
	for _, p := range workflow.Check(specs) {
		if !p.Slots {
			c.note("job %s never runs as a step: %s", p.Job, p.Text)
		}
	}
}
