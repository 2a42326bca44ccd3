package config

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// LimitDefinition is one limit and the place where its name stands.
type LimitDefinition struct {
	Name string
	File string
	Line int // from 1
	Spec job.LimitSpec
}

// limitFields are the keys of a limit, in the order in which they are written.
var limitFields = []field[job.LimitSpec]{
	{"concurrent", func(r *reader, n *yaml.Node, l *job.LimitSpec) {
		l.Concurrent = r.count(n, "concurrent", job.ConcurrentRange)
	}},
	{"rate", func(r *reader, n *yaml.Node, l *job.LimitSpec) { l.Rate = r.rate(n, "rate") }},
}

var breakerFields = []field[job.Breaker]{
	{"window", func(r *reader, n *yaml.Node, b *job.Breaker) { b.Window = r.count(n, "window", job.BreakerWindowRange) }},
	{"failure_ratio", func(r *reader, n *yaml.Node, b *job.Breaker) { b.FailureRatio = r.ratio(n, "failure_ratio") }},
	{"open_for", func(r *reader, n *yaml.Node, b *job.Breaker) {
		b.OpenFor = r.span(n, "open_for", job.BreakerOpenForRange)
	}},
}

func readBreaker(r *reader, n *yaml.Node, s *job.Spec) {
	var b job.Breaker
	if readFields(r, n, "breaker", breakerFields, nil, &b) && len(n.Content) > 0 {
		s.Breaker = &b
	}
}

// limitUse is where a job names a limit.
type limitUse struct {
	r    *reader
	node *yaml.Node
}

// limit reads the definition of one limit and adds it.
func (l *loader) limit(r *reader, key, value *yaml.Node) {
	if l.c.full() {
		return
	}
	name := key.Value
	if err := job.CheckName(name); err != nil {
		r.badName(key, "limit", err)
	}
	if other, ok := l.limits[name]; ok {
		r.fail(key, "rename or remove one of the two", "duplicate limit %s: already defined at %s:%d", quote(name), other.File, other.Line)
		return
	}
	d := LimitDefinition{Name: name, File: r.src.name, Line: key.Line}
	l.limits[name] = d
	what, before := "limit "+quote(name), r.mistakes()
	if isNull(value) {
		r.fail(key, "say how much it allows: concurrent, rate or both", "%s has no value", what)
		return
	}
	if !readFields(r, value, what, limitFields, nil, &d.Spec) || r.mistakes() != before {
		return
	}
	if d.Spec == (job.LimitSpec{}) {
		r.fail(key, "say how much it allows: concurrent, rate or both", "%s limits nothing", what)
	}
	l.limits[name] = d
}

// uses notes which limits a job names. Which of them there are is known when all files have been read.
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

// checkUses refuses limits that are named and not defined.
func (l *loader) checkUses() {
	for _, use := range l.used {
		name := use.node.Value
		if _, defined := l.limits[name]; defined || use.node.Kind != yaml.ScalarNode || job.CheckName(name) != nil {
			continue // or reported already
		}
		hint := didYouMean(name, sortedKeys(l.limits))
		if hint == "" {
			hint = fmt.Sprintf("define it in a job file, beside jobs: limits: {%s: {concurrent: 4}}", name)
		}
		use.r.fail(use.node, hint, "limit %s is not defined", quote(name))
	}
}

func readLimits(r *reader, n *yaml.Node, s *job.Spec) {
	r.items(n, "limits", true, func(i int, n *yaml.Node) {
		name, ok := r.scalar(n, "limits", "the name of a limit")
		switch {
		case !ok:
		case job.CheckName(name) != nil:
			r.badName(n, "limits:", job.CheckName(name))
		case slices.Contains(s.Limits, name):
			r.fail(n, "remove one of the two", "limits names %s twice", quote(name))
		case i == job.MaxLimits:
			r.fail(n, "remove some of them", "limits names more than %d", job.MaxLimits)
		case i < job.MaxLimits:
			s.Limits = append(s.Limits, name)
		}
	})
}

// rate reads a rate such as 10/s.
func (r *reader) rate(n *yaml.Node, what string) job.Rate {
	s, ok := r.scalar(n, what, "a rate such as 10/s")
	if !ok {
		return job.Rate{}
	}
	rate, err := job.ParseRate(s)
	if err != nil {
		r.fail(n, fmt.Sprintf("write a number from 1 to %d and /s, /m or /h, such as 10/s", job.MaxRate), "%s %s is not a rate", what, quote(s))
	}
	return rate
}

// ratio reads a number above zero and up to one.
func (r *reader) ratio(n *yaml.Node, what string) float64 {
	s, ok := r.scalar(n, what, "a number")
	if !ok {
		return 0
	}
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case n.Tag != "!!float" && n.Tag != "!!int" || err != nil:
		r.fail(n, "such as 0.5 for a half", "%s must be a number, not %s", what, kindOf(n))
	case !job.BreakerRatioRange.Holds(v):
		r.fail(n, "such as 0.5 for a half", "%s %s is not above 0 and up to 1", what, abbreviate(s))
	default:
		return v
	}
	return 0
}
