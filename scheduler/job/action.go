package job

import (
	"fmt"
	"strings"
)

// action describes one kind of action. To add a kind, add a field to Spec and a row to actions.
type action struct {
	name     string // that of the executor, and of the field of Spec
	has      func(*Spec) bool
	program  bool              // it runs a program, which has an exit code, gets variables and needs the right define-command
	worker   string            // the one of WorkerKinds that it belongs to
	onDemand bool              // workers execute it only if their settings say so
	without  []string          // keys of a job that have no effect on it
	defaults func(*Spec)       // sets what has a default in the field of Spec; nil: nothing has
	check    func(*Spec) error // checks the field of Spec; nil: any value is right
}

// keysOfPrograms are the keys of a job that have an effect on programs alone.
var keysOfPrograms = []string{"env", "dir", "resources", "success_codes"}

// actions has all kinds, in the order of Kinds.
var actions = []action{
	{name: "command", has: func(s *Spec) bool { return len(s.Command) > 0 }, program: true, worker: "command"},
	{name: "shell", has: func(s *Spec) bool { return s.Shell != "" }, program: true, worker: "command"},
	{
		name: "http", has: func(s *Spec) bool { return s.HTTP != nil }, worker: "http", without: keysOfPrograms,
		defaults: func(s *Spec) { s.HTTP = s.HTTP.withDefaults() },
	},
	{name: "handler", has: func(s *Spec) bool { return s.Handler != "" }, worker: "handler", without: keysOfPrograms},
	{
		name: "container", has: func(s *Spec) bool { return s.Container != nil }, program: true, worker: "container", onDemand: true,
		defaults: func(s *Spec) { s.Container = s.Container.withDefaults() },
		check:    func(s *Spec) error { return s.Container.check() },
	},
	{
		name: "kubernetes", has: func(s *Spec) bool { return s.Kubernetes != nil }, program: true, worker: "kubernetes", onDemand: true,
		without:  []string{"dir", "resources"},
		defaults: func(s *Spec) { s.Kubernetes = s.Kubernetes.withDefaults() },
		check:    func(s *Spec) error { return s.Kubernetes.check() },
	},
}

// Kinds lists the kinds of actions: each has an executor, and a field of Spec with the same name. A job has exactly one.
func Kinds() []string { return namesOf(func(*action) bool { return true }) }

// ProgramKinds lists those of Kinds whose action is a program: see RunsProgram.
func ProgramKinds() []string { return namesOf(func(a *action) bool { return a.program }) }

// WorkerKinds lists the kinds of actions that a worker may be restricted to. A shell is a command.
func WorkerKinds() []string { return namesOf(func(a *action) bool { return a.worker == a.name }) }

// UsualKinds lists those of WorkerKinds that a worker executes unless its settings say otherwise.
func UsualKinds() []string {
	return namesOf(func(a *action) bool { return a.worker == a.name && !a.onDemand })
}

// WithoutEffect lists the keys of a job that have no effect on actions of a kind.
func WithoutEffect(kind string) []string {
	for i := range actions {
		if actions[i].name == kind {
			return actions[i].without
		}
	}
	return nil
}

func namesOf(wanted func(*action) bool) (names []string) {
	for i := range actions {
		if wanted(&actions[i]) {
			names = append(names, actions[i].name)
		}
	}
	return names
}

// action returns the row of the job's action; nil for a Spec without an action.
func (s *Spec) action() *action {
	for i := range actions {
		if actions[i].has(s) {
			return &actions[i]
		}
	}
	return nil
}

// Kind returns the kind of the job's action. It is empty for a Spec without an action.
func (s *Spec) Kind() string {
	if a := s.action(); a != nil {
		return a.name
	}
	return ""
}

// RunsProgram reports whether the action is a program, which has an exit code and gets variables.
func (s *Spec) RunsProgram() bool {
	for i := range actions {
		if actions[i].program && actions[i].has(s) {
			return true
		}
	}
	return false
}

// checkAction returns an error unless s has exactly one action, and that is right.
func (s *Spec) checkAction() error {
	count := 0
	for i := range actions {
		if actions[i].has(s) {
			count++
		}
	}
	if count != 1 {
		kinds := Kinds()
		last := len(kinds) - 1
		return fmt.Errorf("it has %d of %s and %s, and needs exactly one", count, strings.Join(kinds[:last], ", "), kinds[last])
	}
	if a := s.action(); a.check != nil {
		return a.check(s)
	}
	return nil
}
