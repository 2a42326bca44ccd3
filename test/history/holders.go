package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// limitVersion is one version of a limit.
type limitVersion struct {
	rev     int64
	over    time.Time // when the recorder got the next version; zero: there is none
	defined bool
	most    int // 0: any number
}

func (t *timeline) addLimit(v Version, name string) {
	l := job.Limit{}
	if !v.Deleted && json.Unmarshal(v.Value, &l) != nil {
		return // the last readable version still counts
	}
	if n := len(t.limits[name]); n > 0 {
		t.limits[name][n-1].over = v.Seen
	}
	t.limits[name] = append(t.limits[name], limitVersion{rev: v.Rev, defined: !v.Deleted, most: l.Spec.Concurrent})
}

// mayHold returns how many runs may hold a limit after v, a write of a run that holds it; 0: any number, -1: none. A run that had
// begun when the limit was changed goes on, so a former limit counts for the slack.
func (t *timeline) mayHold(limit string, v runVersion) (most int) {
	most = -1
	decided := v.Seen
	if !v.run.Armed.IsZero() {
		decided = earlier(decided, v.run.Armed)
	}
	for _, b := range t.limits[limit] {
		if b.rev > v.Rev || !b.defined || !b.over.IsZero() && b.over.Add(t.Slack).Before(decided) {
			continue
		}
		if b.most == 0 {
			return 0
		}
		most = max(most, b.most)
	}
	return most
}

// checkHolders checks that runs hold the limits that their jobs name, and at most the allowed number at a time. Tokens rise
// from one holder to the next: no token is given twice, and for a limit of one they rise from claim to claim.
func (t *timeline) checkHolders() {
	var vs []*runVersion // of runs that hold a limit at some time, or should
	for name, runs := range t.of {
		needs := len(t.expected[name].Spec.Limits) > 0
		for _, run := range runs {
			if !needs && !slices.ContainsFunc(t.runs[run], func(v runVersion) bool { return len(v.run.Limits) > 0 }) {
				continue
			}
			for i := range t.runs[run] {
				vs = append(vs, &t.runs[run][i])
			}
		}
	}
	slices.SortFunc(vs, func(a, b *runVersion) int {
		return cmp.Or(cmp.Compare(a.Rev, b.Rev), compareBool(holds(a.run), holds(b.run)))
	})
	holders := make(map[string]map[string]int64) // by limit and run: the revision since which it holds
	tokens := make(map[string]map[int64]string)  // by limit: the tokens of claims, with their runs
	highest := make(map[string]int64)            // by limit
	for _, v := range vs {
		name := v.run.Name()
		if j := t.expected[v.run.Job]; v.run.State == job.Armed && v.run.Spec == nil && !j.Edited {
			for _, limit := range j.Spec.Limits {
				if !slices.Contains(v.run.Limits, limit) {
					t.report(RuleLimit, name, fmt.Sprintf("dispatched%s without limit %s, which its job names", at(v.Version), limit))
				}
			}
		}
		for limit, runs := range holders {
			if !holds(v.run) || !slices.Contains(v.run.Limits, limit) {
				delete(runs, name)
			}
		}
		if !holds(v.run) {
			continue
		}
		for _, limit := range v.run.Limits {
			if t.ByHand[t.Prefix+"/limits/"+limit] {
				continue
			}
			if holders[limit] == nil {
				holders[limit], tokens[limit] = make(map[string]int64), make(map[int64]string)
			}
			if v.run.State == job.Running {
				t.checkHolderToken(limit, *v, tokens[limit], highest)
			}
			if _, held := holders[limit][name]; held {
				continue
			}
			for other, since := range holders[limit] {
				if since == v.Rev {
					t.report(RuleToken, name, fmt.Sprintf("got limit %s%s in the same transaction as %s", limit, at(v.Version), other))
				}
			}
			holders[limit][name] = v.Rev
			if most := t.mayHold(limit, *v); most < 0 || most > 0 && len(holders[limit]) > most {
				t.report(RuleLimit, name, fmt.Sprintf("is holder number %d of limit %s%s, which allows %d", len(holders[limit]), limit, at(v.Version), max(0, most)))
			}
		}
	}
	for limit := range t.limits {
		t.checkHeld(limit)
	}
}

// holds reports whether a run holds the limits that it names: it is with a worker.
func holds(r job.Run) bool { return r.State == job.Armed || r.State == job.Running }

// checkHolderToken judges the token of a run that holds a limit and is executed.
func (t *timeline) checkHolderToken(limit string, v runVersion, tokens map[int64]string, highest map[string]int64) {
	name, token := v.run.Name(), v.run.Token
	switch other, given := tokens[token]; {
	case given && other != name:
		t.report(RuleToken, name, fmt.Sprintf("holds limit %s with token %d, which %s had", limit, token, other))
	case t.mayHold(limit, v) == 1 && token < highest[limit]:
		t.report(RuleToken, name, fmt.Sprintf("holds limit %s with token %d after token %d", limit, token, highest[limit]))
	}
	tokens[token] = name
	highest[limit] = max(highest[limit], token)
}

// checkHeld compares a limit with the effects of the runs of all jobs that name it. It skips limits and jobs that were changed,
// and executions whose end rota could not await.
func (t *timeline) checkHeld(limit string) {
	if bs := t.limits[limit]; len(bs) > 1 || bs[0].most == 0 {
		return
	}
	var es []Effect
	for _, e := range t.Effects {
		name, _, _ := strings.Cut(e.Run, "/")
		if j := t.expected[name]; !j.Edited && slices.Contains(j.Spec.Limits, limit) {
			es = append(es, e)
		}
	}
	slices.SortStableFunc(es, func(a, b Effect) int { return a.Arrived.Compare(b.Arrived) })
	var lasting []Effect // earlier effects that may last until e
	for _, e := range es {
		lasting = slices.DeleteFunc(lasting, func(o Effect) bool { return !o.until().After(e.Arrived) })
		n := 1
		for _, o := range lasting {
			if !t.mayLinger(o, e.Arrived) {
				n++
			}
		}
		if most := t.limits[limit][0].most; n > most && !t.mayLinger(e, e.Arrived) {
			t.report(RuleLimit, e.Run, fmt.Sprintf("is execution number %d at %s under limit %s, which allows %d", n, stamp(e.Arrived), limit, most))
		}
		lasting = append(lasting, e)
	}
}
