package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
	"github.com/spf13/cobra"
)

func newApplyCommand(c *cli) *cobra.Command {
	var dryRun, yes bool
	var prune pruneFlags
	cmd := &cobra.Command{
		Use:   "apply PATH...",
		Short: "Apply job files to the cluster",
		Long: `Create and change jobs and limits until the cluster has the definitions of the files. With --prune, also remove
definitions that the API created and no file contains; with -l, only jobs with these labels. Apply lists the runs that a
removal cancels, and asks. Where nobody can be asked, it removes nothing without --yes.

Apply changes nothing if a file has a mistake, or if a replica's own files define one of the jobs. If a job changes in
the meantime, apply stops there.`,
		Example: "  rota apply jobs.yaml\n  rota apply jobs.yaml --prune -l team=billing",
		Args:    takes("PATH..."),
		RunE: c.changing(func(ctx context.Context, cl *client.Client, paths []string) error {
			changes, err := c.changes(ctx, cl, paths, prune, dryRun)
			if err != nil {
				return err
			}
			if dryRun {
				return c.preview(changes)
			}
			return c.apply(ctx, cl, changes, yes)
		}),
	}
	flags := cmd.Flags()
	prune.add(cmd, "remove definitions that the API created and no file contains")
	flags.BoolVar(&dryRun, "dry-run", false, "show the changes without making them, like rota diff")
	flags.BoolVarP(&yes, "yes", "y", false, "remove without asking")
	return cmd
}

// refusals returns a conflict that names every refused change, or nil.
func refusals(changes []change) error {
	var lines []string
	for _, ch := range ofKind(changes, refused) {
		lines = append(lines, fmt.Sprintf("%s: %s", ch.fullTitle(), ch.Reason))
	}
	if len(lines) == 0 {
		return nil
	}
	return &codedError{code: exitConflict, hint: "nothing was changed", err: errors.New(strings.Join(lines, "\n"))}
}

// confirm asks a question and reports whether the answer is yes.
func (c *cli) confirm(question string) bool {
	_, _ = fmt.Fprintf(c.err, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(c.stdin()).ReadString('\n') // an error means no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}

// apply makes the changes, and prints each when it is made. If one of them is refused, it makes none.
func (c *cli) apply(ctx context.Context, cl *client.Client, changes []change, yes bool) error {
	people := c.forPeople()
	if err := refusals(changes); err != nil {
		if people {
			changes = ofKind(changes, refused)
		}
		return errors.Join(err, c.printChanges(changes, ""))
	}
	asks := people && !yes
	if gone := ofKind(changes, removed); asks && len(gone) > 0 {
		if err := c.print(nil, func(p *page) { p.line("To be removed:"); writeChanges(p, gone) }); err != nil {
			return err
		}
	}
	if err := c.mayRemove(len(ofKind(changes, removed)), yes); err != nil {
		return err
	}
	var unprinted error
	err := applyAll(ctx, cl, changes, func(ch *change) {
		if people { // the other changes are made also if nobody reads
			unprinted = cmp.Or(unprinted, c.print(nil, func(p *page) { writeChanges(p, []change{*ch}) }))
		}
	})
	switch {
	case !people:
		return errors.Join(err, c.printChanges(changes, "")) // the printed data shows which changes were made
	case err != nil:
		return err
	case unprinted != nil:
		return unprinted
	}
	return c.print(nil, func(p *page) { p.line("%s", summary(changes)) })
}

// applyAll makes the changes in order, and calls made after each. It stops at the first failure. Its error lists the changes that
// were made and those that were not.
func applyAll(ctx context.Context, cl *client.Client, changes []change, made func(*change)) error {
	var done []string
	inWorkflowOrder(changes)
	for i := range changes {
		ch := &changes[i]
		if ch.Kind == unchanged {
			continue
		}
		if err := applyOne(ctx, cl, ch); err != nil {
			return partialFailure(ch.fullTitle(), done, changes[i+1:], err)
		}
		ch.Applied = true
		done = append(done, ch.title())
		made(ch)
	}
	return nil
}

// inWorkflowOrder sorts the changes of jobs, each at a place of another: a job follows its parents, and is removed before them. The
// API refuses a step without its parents.
func inWorkflowOrder(changes []change) {
	specs := make(map[string]*job.Spec)
	for i := range changes {
		if ch := &changes[i]; ch.Job != "" {
			specs[ch.Job] = &ch.spec
		}
	}
	depth := workflow.Of(specs).Depths()
	var places [2][]int // of jobs that stay, and of those that are removed
	for i, ch := range changes {
		switch {
		case ch.Job == "":
		case ch.Kind == removed:
			places[1] = append(places[1], i)
		default:
			places[0] = append(places[0], i)
		}
	}
	for group, at := range places {
		sorted := make([]change, 0, len(at))
		for _, i := range at {
			sorted = append(sorted, changes[i])
		}
		slices.SortStableFunc(sorted, func(a, b change) int {
			if group == 1 {
				a, b = b, a
			}
			return cmp.Compare(depth[a.Job], depth[b.Job])
		})
		for n, i := range at {
			changes[i] = sorted[n]
		}
	}
}

func applyOne(ctx context.Context, cl *client.Client, ch *change) error {
	pre := api.Precondition{Revision: ch.revision, Absent: ch.Kind == created}
	switch {
	case ch.Kind == removed && ch.Limit != "":
		return cl.DeleteLimit(ctx, ch.Limit, pre)
	case ch.Kind == removed:
		return cl.DeleteJob(ctx, ch.Job, pre)
	case ch.Limit != "":
		_, err := cl.PutLimit(ctx, ch.Limit, ch.limit, pre)
		return err
	}
	_, _, err := cl.PutJob(ctx, ch.Job, ch.spec, pre)
	return err
}

// partialFailure returns the error for a change that failed with err. done names the changes before it, and rest has those that
// were not tried.
func partialFailure(name string, done []string, rest []change, err error) error {
	var left []string
	for _, ch := range rest {
		if ch.Kind != unchanged {
			left = append(left, ch.title())
		}
	}
	text := fmt.Sprintf("done before: %s; not tried: %s", orDash(strings.Join(done, ", ")), orDash(strings.Join(left, ", ")))
	err = fmt.Errorf("apply %s: %w\n%s", name, err, text)
	var answer *client.Error
	if errors.As(err, &answer) && answer.Status == http.StatusUnprocessableEntity {
		return &codedError{code: exitBadConfig, err: err}
	}
	if errors.As(err, &answer) && answer.Status == http.StatusPreconditionFailed {
		return &codedError{exitConflict, "Another client changed it meanwhile. Run the command again.", err}
	}
	return err
}
