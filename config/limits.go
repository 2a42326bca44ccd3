package config

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// LimitDefinition is one limit and the place of its name.
type LimitDefinition struct {
	Name string
	File string
	Line int // from 1
	Spec job.LimitSpec
}

// limitUse is a place where a job names a limit.
type limitUse struct {
	r    *reader
	node *yaml.Node
}

// limit reads the definition of one limit.
func (l *loader) limit(r *reader, key, value *yaml.Node) {
	if l.c.full() {
		return
	}
	name := key.Value
	if err := job.CheckName(name); err != nil {
		r.badName(key, "limit", err)
	}
	if other, ok := l.limits[name]; ok {
		r.fail(key, "rename or remove one of the two",
			"duplicate limit %s: already defined at %s:%d", quote(name), other.File, other.Line)
		return
	}
	d := LimitDefinition{Name: name, File: r.src.name, Line: key.Line}
	l.limits[name] = d
	what, before := "limit "+quote(name), r.mistakes()
	if isNull(value) {
		r.fail(key, "say how much it allows: concurrent, rate or both", "%s has no value", what)
		return
	}
	if !readKeys(r, value, what, "", limitKeys, nil, &d.Spec) || r.mistakes() != before {
		return
	}
	if d.Spec == (job.LimitSpec{}) {
		r.failAbsent(key, limitKeys[0].Name, "say how much it allows: concurrent, rate or both", "%s limits nothing", what)
	}
	l.limits[name] = d
}

// uses records the limits that a job names. checkUses compares them with the definitions of all files.
func (l *loader) uses(r *reader, value *yaml.Node) {
	n := child(value, "limits")
	if n == nil {
		return
	}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	for _, item := range items {
		l.used = append(l.used, limitUse{r, item})
	}
}

// checkUses reports names of limits that are not defined.
func (l *loader) checkUses() {
	for _, use := range l.used {
		name := use.node.Value
		if _, defined := l.limits[name]; defined || use.node.Kind != yaml.ScalarNode || job.CheckName(name) != nil {
			continue // defined, or reported before
		}
		if l.exists != nil {
			known, err := l.exists("limit", name)
			if err != nil {
				l.err = err
			}
			if known || err != nil {
				continue
			}
		}
		hint := didYouMean(name, sortedKeys(l.limits))
		if hint == "" {
			hint = fmt.Sprintf("define it in a job file, beside jobs: limits: {%s: {concurrent: 4}}", name)
		}
		use.r.fail(use.node, hint, "limit %s is not defined", quote(name))
	}
}

// limitNames are the names of limits that a job holds.
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

// ratio reads a number that is more than zero and at most one.
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
