package verify

import "github.com/rota-scheduler/rota/scheduler/job"

// checkAudit notes the definitions whose present version has no audit record. Somebody wrote them into the store without the API,
// or a replica of version 0.1.0 did. It leaves out definitions of job files, and definitions older than the audit trail.
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
}
