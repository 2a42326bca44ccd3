package config

import (
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// pointers reads a mapping of names of outputs to JSON Pointers.
func (r *reader) pointers(n *yaml.Node, what string) map[string]string {
	list := map[string]string{}
	r.pairs(n, what, func(key, value *yaml.Node) {
		text, ok := r.scalar(value, what+"."+key.Value, "a JSON Pointer")
		switch {
		case !ok:
		case !job.IsOutputName(key.Value):
			r.fail(key, "use letters, digits and _, and begin with a letter", "%s has the bad name %s", what, quote(key.Value))
		case text != "" && !strings.HasPrefix(text, "/"):
			r.fail(value, "write /"+strings.ReplaceAll(text, ".", "/"), "%s.%s %s is no JSON Pointer: it does not begin with /",
				what, key.Value, quote(text))
		default:
			list[key.Value] = text
		}
	})
	return entries(r, n, what, list, maxEntries)
}

// outputUse is a place where a template reads an output; use.job is the parent.
type outputUse struct {
	use
	name string
}

// checkOutputs reports a job that reads outputs from a response that it does not have, or from a job that it does not follow.
func (r *reader) checkOutputs(own *yaml.Node, s *job.Spec) {
	for _, u := range r.outputs {
		if !slices.ContainsFunc(s.After, func(a job.After) bool { return a.Job == u.job }) {
			r.fail(u.node, "add it to after, or name a job that is there",
				"the template reads an output of %s, which is no parent of the job", quote(u.job))
		}
	}
	if given := child(own, "output"); given != nil && s.HTTP == nil {
		r.fail(keyOf(own, "output"), "remove it: programs write name=value to the file $ROTA_OUTPUT, and handlers set outputs themselves",
			"output is for jobs with http")
	}
}

// declaredOutputs reports templates that read an output that the response of their parent does not have. Only the outputs of a
// job with http are known before it runs.
func (l *loader) declaredOutputs(specs map[string]*job.Spec) {
	for _, u := range l.outputs {
		parent, known := specs[u.job]
		if !known || parent.HTTP == nil {
			continue
		}
		if _, declared := parent.Outputs[u.name]; !declared {
			u.r.fail(u.node, didYouMean(u.name, sortedKeys(parent.Outputs), "add it to output of job "+u.job),
				"the template reads the output %s, which job %s does not have", quote(u.name), quote(u.job))
		}
	}
}
