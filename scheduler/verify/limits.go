package verify

import (
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkLimits checks the fencing tokens of the runs that hold each limit, or held it last. All tokens of one limit must
// differ, because tokens rise from one holder to the next.
func (c *checker) checkLimits() {
	holders, held := map[string]map[int64]string{}, map[string]int{}
	for _, name := range c.names() {
		for _, r := range c.jobs[name].runs {
			token := heldWith(r)
			for _, limit := range r.Limits {
				if r.State == job.Armed || r.State == job.Running {
					held[limit]++
				}
				if holders[limit] == nil {
					holders[limit] = map[int64]string{}
				}
				if other, taken := holders[limit][token]; taken && token != 0 {
					c.broken(4, r.Name(), r.Rev, "run %s also held limit %s with token %d", other, limit, token)
				}
				holders[limit][token] = r.Name()
			}
		}
	}
	for _, l := range c.limits {
		if most := l.Spec.Concurrent; most > 0 && held[l.Name] > most { // possible after the limit was lowered
			c.note("limit %s is held by %d runs, but allows %d", l.Name, held[l.Name], most)
		}
	}
}

// heldWith returns the token of the present or last attempt of r; 0 if there was none.
func heldWith(r *job.Run) int64 {
	switch n := len(r.Attempts); {
	case r.State == job.Armed:
		return r.Rev
	case r.State == job.Running:
		return r.Token
	case n > 0:
		return r.Attempts[n-1].Token
	}
	return 0
}

// checkHolders checks that no transaction gave a limit to two runs.
func (c *checker) checkHolders(batch []job.Change) {
	given := map[string]string{}
	for _, ch := range batch {
		r := job.ValueOf[job.Run](ch)
		if r == nil || r.State != job.Armed {
			continue
		}
		for _, limit := range slices.Compact(slices.Clone(r.Limits)) {
			if other := given[limit]; other != "" {
				c.broken(4, ch.Name, ch.Rev, "it got limit %s in the same transaction as run %s", limit, other)
			}
			given[limit] = ch.Name
		}
	}
}
