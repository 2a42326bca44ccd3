package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
	"github.com/rota-scheduler/rota/scheduler/workflow"
	"go.yaml.in/yaml/v4"
)

// parentKeys are the keys of a parent that is written as a mapping.
var parentKeys = tableOf(job.After{When: job.WhenSuccess},
	key("job", word(job.MaxNameLength), func(a *job.After) *string { return &a.Job },
		"nightly-backup", "The job that this one follows.", required),
	key("when", choiceOf(job.Whens()), func(a *job.After) *job.When { return &a.When },
		"done", "How the run of the parent must have ended: with success, with failure (failed, timed out or lost), or in any way."),
)

// parents is the kind of the jobs that a step follows.
var parents = kind[[]job.After]{
	name: "job or list", limits: fmt.Sprintf("at most %d jobs", job.MaxParents), layout: inFlow, keys: parentKeys.keys(),
	schema: oneOrMore(object{"anyOf": []object{
		{"type": "string", "pattern": namePattern, "maxLength": job.MaxNameLength},
		mappingSchema(parentKeys.keys(), nil),
	}}),
	read: func(r *reader, n *yaml.Node, what string) (list []job.After) {
		if n.Kind == yaml.MappingNode { // a single parent
			n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{n}, Line: n.Line, Column: n.Column}
		}
		r.items(n, what, true, func(i int, n *yaml.Node) {
			a := job.After{When: job.WhenSuccess}
			if n.Kind == yaml.MappingNode {
				if readKeys(r, n, what, what+".", parentKeys, nil, &a) && child(n, "job") == nil {
					r.failAbsent(n, "job", "name the job that this one follows", "%s has no job", what)
				}
			} else if name, ok := r.scalar(n, what, "the name of a job"); ok {
				a.Job = name
			}
			at := cmp.Or(child(n, "job"), n)
			switch {
			case a.Job == "":
			case job.CheckName(a.Job) != nil:
				r.badName(at, what+":", job.CheckName(a.Job))
			case slices.ContainsFunc(list, func(other job.After) bool { return other.Job == a.Job }):
				r.fail(at, "remove one of the two", "%s names %s twice", what, quote(a.Job))
			case i == job.MaxParents:
				r.fail(at, "join some of them in a job of their own", "%s names more than %d jobs", what, job.MaxParents)
			case i < job.MaxParents:
				list = append(list, a)
			}
		})
		return list
	},
}

// parentNode returns the place where the i-th parent of a job is named. n is the job's mapping.
func parentNode(n *yaml.Node, i int) *yaml.Node {
	after := child(n, "after")
	if after != nil && after.Kind == yaml.SequenceNode && i < len(after.Content) {
		after = after.Content[i]
	}
	return cmp.Or(child(after, "job"), after, n)
}

// step checks the keys of a job with after. It removes what the job inherits from defaults and steps cannot have. own is the job's
// mapping. A request may have the keys of defaults: a definition that was read from the API has them.
func (r *reader) step(own *yaml.Node, what string, s *job.Spec, request bool) {
	var usual *yaml.Node
	if request {
		usual, _ = specNode(job.Spec{}.WithDefaults()) // it has no value that JSON cannot have
	}
	for _, k := range jobKeys {
		if given := child(own, k.Name); k.ofRoots && given != nil && !same(given, child(usual, k.Name)) {
			r.fail(keyOf(own, k.Name), "remove it, or remove after",
				"%s has after and %s: a step has the slots of its parents", what, k.Name)
		}
	}
	if given := child(own, "overlap"); given != nil && s.Overlap != job.OverlapQueue && s.Overlap != job.OverlapAllow {
		r.fail(given, "write queue or allow, or remove it",
			"%s has after and overlap: %s: the jobs without parents decide which slots run", what, s.Overlap)
	} else if given == nil {
		s.Overlap = ""
	}
	if c := s.Calendar; c != nil && c.Else != "" && c.Else != string(schedule.ElseSkip) {
		r.fail(cmp.Or(child(child(own, "calendar"), "else"), own), "write else: skip, or give the calendar to the jobs without parents",
			"%s has after and calendar with else: %s: a step has the slots of its parents", what, c.Else)
		c.Else = ""
	}
	s.DST, s.Start, s.End, s.Exclude, s.Jitter = nil, nil, nil, nil, 0
	s.Missed, s.MissedWindow, s.MissedLimit = "", 0, 0
}

// checkWorkflows reports cycles, unknown parents and outputs, and jobs that start one workflow and have different slots. Steps
// whose jobs without parents all allow overlaps allow them too. A request has one job; the caller knows the others.
func (l *loader) checkWorkflows() {
	if l.exists != nil {
		return
	}
	const unknown = "define it in a job file, beside this job"
	l.jobs.resolve(
		func(n *yaml.Node) bool { return job.CheckName(n.Value) != nil },
		func(use) string { return unknown },
		func(use, job.Spec) {},
	)
	specs := make(map[string]*job.Spec, len(l.sound)) // without jobs that have mistakes: these are reported already
	steps := false
	for _, k := range l.sound {
		spec := l.jobs.known[k.node.Value].Spec
		specs[k.node.Value] = &spec
		steps = steps || spec.Step()
	}
	if !steps {
		return
	}
	inherited := workflow.Of(specs).Inherit(specs)
	for _, k := range l.sound {
		if spec := specs[k.node.Value]; spec.Step() && child(k.value, "overlap") == nil {
			spec.Overlap = inherited[k.node.Value]
			l.jobs.set(k.node.Value, *spec)
		}
	}
	l.declaredOutputs(specs)
	for _, p := range workflow.Check(specs) {
		if _, known := specs[specs[p.Job].After[p.Parent].Job]; !known {
			continue // reported above, with the name that was probably meant, or a job with a mistake
		}
		at := l.sound[slices.IndexFunc(l.sound, func(k jobKey) bool { return k.node.Value == p.Job })]
		at.r.fail(parentNode(at.value, p.Parent), p.Hint, "%s", p.Text)
	}
}

// useParents records where a job names its parents.
func (l *loader) useParents(r *reader, n *yaml.Node, name string) {
	if n == nil || l.exists != nil {
		return
	}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	for _, item := range items {
		if at := cmp.Or(child(item, "job"), item); at.Kind == yaml.ScalarNode {
			l.jobs.uses = append(l.jobs.uses, use{r, at, name})
		}
	}
}
