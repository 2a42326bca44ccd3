package importer

import (
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// literal keeps the text of a command that rota would read as a reference. In a shell, ${env:-prod} is the value of env, or prod if
// env is not set. rota resolves no reference in a shell, so a command with such a text runs from one.
func literal(spec *job.Spec) {
	if slices.ContainsFunc(spec.Command, refs.Has) {
		spec.Shell, spec.Command = "exec "+shellLine(spec.Command), nil
	}
}

// asUser returns a command that runs another one as a user. runuser sets HOME to the home of the user, so env sets another one
// again.
func asUser(user, group, home string, command []string) []string {
	prefix := []string{"runuser", "-u", user}
	if group != "" {
		prefix = append(prefix, "-g", group)
	}
	prefix = append(prefix, "--")
	if home != "" {
		prefix = append(prefix, "env", "HOME="+home)
	}
	return append(prefix, command...)
}

// variable reports a variable of the input whose value rota would read as a reference. line is the line of its assignment.
func (t *translation) variable(line int, name, value string) {
	if refs.Has(value) {
		t.lost(line, "variable %s: rota resolves the reference in %q; set the variable in the command", name, value)
	}
}

// sent reports a part of a request, such as its url, that rota would fill in before it sends it.
func (t *translation) sent(line int, part, text string) {
	if refs.Has(text) {
		t.lost(line, "%s: rota resolves its reference, and dkron sends it as it is; write {{ \"${\" }} for ${", part)
	}
	if strings.Contains(text, "{{") {
		t.lost(line, "%s: rota fills in {{ }}, and dkron sends it as it is; write {{ \"{{\" }} for {{", part)
	}
}
