package config

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// limit reads the definition of one limit.
func (l *loader) limit(r *reader, key, value *yaml.Node) {
	if l.c.full() {
		return
	}
	before := r.mistakes()
	what, ok := l.limits.declare(r, key, value)
	var spec job.LimitSpec
	if !ok || !readKeys(r, value, what, "", limitKeys, nil, &spec) || r.mistakes() != before {
		return
	}
	if spec == (job.LimitSpec{}) {
		r.failAbsent(key, limitKeys[0].Name, l.limits.empty, "%s limits nothing", what)
	}
	l.limits.set(key.Value, spec)
}

// checkLimits reports names of limits that are defined neither in the sources nor in the cluster.
func (l *loader) checkLimits() {
	l.limits.resolve(func(n *yaml.Node) bool { return job.CheckName(n.Value) != nil || l.inCluster(limitKind, n.Value) },
		func(u use) string {
			return fmt.Sprintf("define it in a job file, beside jobs: limits: {%s: {concurrent: 4}}", u.node.Value)
		}, func(use, job.LimitSpec) {})
}

// inCluster reports whether the cluster has a definition. If the look-up fails, it records the error and returns true.
func (l *loader) inCluster(kind, name string) bool {
	if l.exists == nil {
		return false
	}
	known, err := l.exists(kind, name)
	if err != nil {
		l.err = err
	}
	return known || err != nil
}

// limitNames is the kind of the names of limits that a job needs.
var limitNames = kind[[]string]{
	name: "name or list", limits: fmt.Sprintf("at most %d names", job.MaxLimits), layout: inFlow,
	schema: oneOrMore(object{"type": "string", "pattern": namePattern, "maxLength": job.MaxNameLength}),
	read: func(r *reader, n *yaml.Node, what string) (names []string) {
		r.items(n, what, true, func(i int, n *yaml.Node) {
			name, ok := r.scalar(n, what, "the name of a limit")
			switch {
			case !ok:
			case job.CheckName(name) != nil:
				r.badName(n, what+":", job.CheckName(name))
			case slices.Contains(names, name):
				r.fail(n, "remove one of the two", "%s names %s twice", what, quote(name))
			case i == job.MaxLimits:
				r.fail(n, "remove some of them", "%s names more than %d", what, job.MaxLimits)
			case i < job.MaxLimits:
				names = append(names, name)
			}
		})
		return names
	},
}

// rate reads a rate such as 10/s.
func (r *reader) rate(n *yaml.Node, what string) job.Rate {
	s, ok := r.scalar(n, what, "a rate such as 10/s")
	if !ok {
		return job.Rate{}
	}
	rate, err := job.ParseRate(s)
	if err != nil {
		r.fail(n, fmt.Sprintf("write a number from 1 to %d and /s, /m or /h, such as 10/s", job.MaxRate),
			"%s %s is not a rate", what, quote(s))
	}
	return rate
}

// ratio reads a number that is above 0 and at most 1.
func (r *reader) ratio(n *yaml.Node, what string) float64 {
	s, ok := r.scalar(n, what, "a number")
	if !ok {
		return 0
	}
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case n.Tag != "!!float" && n.Tag != "!!int" || err != nil:
		r.fail(n, "such as 0.5 for a half", "%s must be a number, not %s", what, r.kindOf(n))
	case !job.BreakerRatioRange.Holds(v):
		r.fail(n, "such as 0.5 for a half", "%s %s is not above 0 and up to 1", what, abbreviate(s))
	default:
		return v
	}
	return 0
}
