package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/suggest"
	"go.yaml.in/yaml/v4"
)

// suspended are words of other schedulers for a state that job files do not have.
var suspended = []string{"suspend", "suspended", "paused", "disabled", "enabled", "active"}

// executors are words of other schedulers for the kind of an action.
var executors = []string{"executor", "operator", "uses", "steps", "tasks"}

// foreign reports a document that is the input of another scheduler as a whole. The keys in it would each be unknown.
func (r *reader) foreign(root *yaml.Node) bool {
	switch {
	case root.Kind == yaml.ScalarNode:
		r.fail(root, "write jobs: and the jobs below it; for a crontab, use `rota import crontab FILE`",
			"a job file must be a mapping (key: value), not %s", r.kindOf(root))
	case root.Kind == yaml.SequenceNode:
		r.fail(root, "write jobs: and the jobs below it; for jobs of dkron, use `rota import dkron FILE`",
			"a job file must be a mapping (key: value), not a list")
	case child(root, "apiVersion") != nil && child(root, "kind") != nil:
		r.fail(root, "for a CronJob, use `rota import cronjob FILE`", "this is an object of Kubernetes, not a job file")
	case child(root, "on") != nil && child(root, "jobs") != nil:
		r.fail(keyOf(root, "on"), "write each schedule into its job: {schedule: \"30 2 * * *\", shell: ./backup}",
			"this is a workflow of GitHub Actions, not a job file")
	case child(root, "dag_id") != nil:
		r.fail(root, "write jobs: and a job for each task; after: [a] names the tasks before it",
			"this is a DAG of Airflow, not a job file")
	case answersOfAPI(root):
		r.fail(root, "`rota export` prints jobs as a job file", "this is an answer of rota's API, not a job file")
	default:
		return false
	}
	return true
}

// answersOfAPI reports whether a document is a job or a list of jobs, as `rota job -o yaml` and `rota jobs -o yaml` print them.
func answersOfAPI(root *yaml.Node) bool {
	if jobs := child(root, "jobs"); jobs != nil && jobs.Kind == yaml.SequenceNode && len(jobs.Content) > 0 {
		root = jobs.Content[0]
	}
	return child(root, "generation") != nil && child(root, "spec") != nil
}

// unknownOfJob reports an unknown key of a job or of defaults. keys are those that may stand there. It returns the keys that the
// word may mean: the nearest one, or those that other schedulers call so.
func (r *reader) unknownOfJob(key *yaml.Node, what string, keys table[job.Spec]) (meant []string) {
	names := keys.names()
	if r.c.full() {
		r.unknown(key, what, names)
		return nil
	}
	word := plainWord(key.Value)
	for i := range keys {
		if slices.ContainsFunc(keys[i].aliases, func(a string) bool { return plainWord(a) == word }) {
			meant = append(meant, keys[i].Name)
		}
	}
	hint := fmt.Sprintf("such as %s; `rota config schema` has all %d keys", oneOf(names[:min(len(names), 8)]), len(names))
	switch {
	case len(meant) == 0 && suggest.Nearest(key.Value, names) != "":
		meant = []string{suggest.Nearest(key.Value, names)}
		hint = "did you mean " + meant[0] + "?"
	case word == "user" || word == "runas":
		hint = "remove it; setting worker.run_as names the user of commands"
	case slices.Contains(executors, word):
		hint = "write one of " + oneOf(actions)
	case slices.Contains(suspended, word):
		hint = "remove it, and use `rota pause JOB` and `rota resume JOB`"
	case len(meant) > 0:
		hint = "write " + oneOf(meant)
	}
	r.fail(key, hint, "unknown key %s in %s", quote(key.Value), what)
	return meant
}

// plainWord makes the spellings of one word equal, such as startDate, start_date and start-date.
func plainWord(word string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(word))
}
