package top

import (
	"context"
	"fmt"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Verb names a change that a key makes.
type Verb string

// The changes.
const (
	RunNow Verb = "run"
	Cancel Verb = "cancel"
	Retry  Verb = "retry"
	Pause  Verb = "pause"
	Resume Verb = "resume"
)

// Action is a change of one job or run.
type Action struct {
	Verb   Verb
	Target string // name of the job or run
	Ask    string // the question before it, which says what it touches
}

// jobAction returns the change that a key makes to a job; nil if the key is for something else.
func jobAction(key string, v *api.JobView, running bool) *Action {
	name := v.Job.Name
	switch {
	case key == "r":
		ask := "Run job " + name + " now?"
		if running {
			ask = "Run job " + name + " now? A run of it is active: its policy for overlaps is " + string(v.Spec.Overlap) + "."
		}
		return &Action{RunNow, name, ask}
	case key == "p" && v.Paused != nil:
		return &Action{Resume, name, "Resume job " + name + "? Its slots run again; for those that passed, its policy is missed: " +
			string(v.Spec.Missed) + "."}
	case key == "p":
		return &Action{Pause, name, "Pause job " + name + "? Its slots do not run until it is resumed. " +
			activeText(max(v.ActiveRuns, len(v.Active)))}
	}
	return nil
}

func activeText(n int) string {
	switch n {
	case 0:
		return "It has no active run."
	case 1:
		return "Its 1 active run goes on."
	}
	return fmt.Sprintf("Its %d active runs go on.", n)
}

// runAction returns the change that a key makes to a run, or why it cannot be made. Both are empty if the key is for something
// else.
func runAction(key string, r *api.RunView) (a *Action, refusal string) {
	switch {
	case key == "r":
		return &Action{RunNow, r.Job, "Run job " + r.Job + " now?"}, ""
	case key == "c" && r.State.Terminal():
		return nil, "Run " + r.Ref + " has ended: " + string(r.State) + "."
	case key == "c" && r.State == job.Running:
		return &Action{Cancel, r.Ref, fmt.Sprintf("Cancel run %s? Attempt %d runs on %s and is stopped.", r.Ref, r.Attempt, r.Worker)}, ""
	case key == "c":
		return &Action{Cancel, r.Ref, "Cancel run " + r.Ref + "? It is " + string(r.State) + ", and will not start."}, ""
	case key == "t" && !r.State.Terminal():
		return nil, "Run " + r.Ref + " has not ended: cancel it, or wait."
	case key == "t":
		return &Action{Retry, r.Ref, "Retry run " + r.Ref + "? It " + endedText(r.State) + "; a new run of job " + r.Job + " starts."}, ""
	}
	return nil, ""
}

func endedText(s job.State) string {
	switch s {
	case job.Failed, job.Succeeded:
		return string(s)
	}
	return "is " + strings.ReplaceAll(string(s), "_", " ")
}

// Do makes the change, and returns a sentence about it. key makes it idempotent.
func Do(ctx context.Context, to Changer, a Action, key string) (string, error) {
	const reason = "rota top"
	switch a.Verb {
	case RunNow:
		r, _, err := to.Submit(ctx, a.Target, api.RunRequest{Key: key})
		return "Run " + r.Ref + " was made.", err
	case Cancel:
		r, err := to.Cancel(ctx, a.Target, reason)
		if r.State.Terminal() {
			return "Run " + a.Target + " is " + string(r.State) + ".", err
		}
		return "Run " + a.Target + " is being canceled.", err
	case Retry:
		r, _, err := to.RetryOnce(ctx, a.Target, key)
		return "Run " + r.Ref + " was made.", err
	case Pause:
		_, err := to.PauseJob(ctx, a.Target, reason)
		return "Job " + a.Target + " is paused.", err
	case Resume:
		_, err := to.ResumeJob(ctx, a.Target, reason)
		return "Job " + a.Target + " is resumed.", err
	}
	return "", fmt.Errorf("unknown change %q", a.Verb)
}
