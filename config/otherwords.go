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

// unknownOfJob reports an unknown key of a job or of defaults. keys are those that may stand there. It returns the keys that the
// word may mean: the nearest one, or those that other schedulers call so.
func (r *reader) unknownOfJob(key *yaml.Node, what string, keys table[job.Spec]) (meant []string) {
	names := keys.names()
	if r.c.full() || suggest.Nearest(key.Value, names) != "" {
		r.unknown(key, what, names)
		return []string{suggest.Nearest(key.Value, names)}
	}
	word := plainWord(key.Value)
	for i := range keys {
		if slices.ContainsFunc(keys[i].aliases, func(a string) bool { return plainWord(a) == word }) {
			meant = append(meant, keys[i].Name)
		}
	}
	hint := fmt.Sprintf("such as %s; `rota config schema` has all %d keys", oneOf(names[:min(len(names), 8)]), len(names))
	switch {
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
