package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkOrder checks that a target which rejects falling tokens would have accepted every effect. Tokens rise along the effects
// of each job whose runs do not overlap; along copies, they rise for each worker. The check skips effects of a process that
// continues after a pause: the target rejects these by their token. It also skips two runs that were valid at the same time because
// one of them is backfilled.
func (t *timeline) checkOrder() {
	byLane := make(map[string][]Effect)
	for _, e := range t.Effects {
		name, _, told := strings.Cut(e.Run, "/")
		if j, known := t.expected[name]; !told || !known || j.Spec.Overlap == job.OverlapAllow {
			continue
		}
		lane := name
		if vs := t.runs[e.Run]; len(vs) > 0 {
			lane = laneOf(&vs[0].run)
		}
		byLane[lane] = append(byLane[lane], e)
	}
	for _, es := range byLane {
		slices.SortStableFunc(es, func(a, b Effect) int { return cmp.Or(a.Arrived.Compare(b.Arrived), cmp.Compare(a.Token, b.Token)) })
		highest := es[0]
		for _, e := range es[1:] {
			switch {
			case e.Token > highest.Token:
				highest = e
			case !t.delayed(t.runs[e.Run], e) && !t.beside(e, highest):
				t.reportAs(fell(highest, e), RuleToken, e.Run, fmt.Sprintf("its target saw token %d after token %d of %s", e.Token, highest.Token, highest.Run))
			}
		}
	}
}

// beside reports whether two effects with falling tokens belong to runs that were valid at the same time, and one of them is
// backfilled. Such runs overlap by intention, and the docs say so. The attempt with the lower token must not have ended when the
// leader armed the other one: otherwise its effect is too late.
func (t *timeline) beside(lower, higher Effect) bool {
	if lower.Run == higher.Run || !t.backfilled(lower.Run) && !t.backfilled(higher.Run) {
		return false
	}
	vs := t.runs[lower.Run]
	armed := slices.IndexFunc(vs, func(v runVersion) bool { return v.Rev == lower.Token })
	if armed < 0 {
		return false
	}
	for _, v := range vs[armed+1:] {
		if v.run.State != job.Running || v.run.Token != lower.Token {
			return v.Rev > higher.Token // a token is the revision that armed its attempt
		}
	}
	return true
}

// backfilled reports whether a run was created by a backfill. Such runs run beside others, whatever overlap says.
func (t *timeline) backfilled(run string) bool {
	vs := t.runs[run]
	return len(vs) > 0 && vs[0].run.Kind == job.KindBackfill
}
