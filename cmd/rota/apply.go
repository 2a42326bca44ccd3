package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newApplyCommand(c *cli) *cobra.Command {
	var prune, dryRun, yes bool
	cmd := &cobra.Command{
		Use:   "apply PATH...",
		Short: "Make the cluster's jobs those of job files",
		Long: `Apply creates and changes jobs so that they are as the files say, and with --prune removes those that came by the API
and are in no file. Nothing is changed if a file has a mistake, or if a job is defined by a replica's own files. Each
job is only changed as long as it is as it was compared.`,
		Example: "  rota apply jobs.yaml",
		Args:    takes("PATH..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.changer()
			if err != nil {
				return err
			}
			defer cl.Close()
			changes, err := c.changes(cmd.Context(), cl, args, prune)
			if err != nil {
				return err
			}
			if dryRun {
				return c.printChanges(changes)
			}
			return c.apply(cmd.Context(), cl, changes, yes)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&prune, "prune", false, "remove jobs that came by the API and are in no file")
	flags.BoolVar(&dryRun, "dry-run", false, "show what would change, like rota diff")
	flags.BoolVarP(&yes, "yes", "y", false, "remove jobs without asking")
	return cmd
}

// refusals is a conflict that names every job that cannot be changed, or nil.
func refusals(changes []change) error {
	var lines []string
	for _, ch := range only(changes, refused) {
		lines = append(lines, fmt.Sprintf("%s: %s", ch.named(), ch.Reason))
	}
	if len(lines) == 0 {
		return nil
	}
	return &codedError{code: exitConflict, hint: "nothing was changed", err: errors.New(strings.Join(lines, "\n"))}
}

// confirm asks a yes-or-no question.
func (c *cli) confirm(question string) bool {
	_, _ = fmt.Fprintf(c.err, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(c.in).ReadString('\n') // no answer is a no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}

// apply shows the changes and makes them, if nothing is against it.
func (c *cli) apply(ctx context.Context, cl *client.Client, changes []change, yes bool) error {
	if c.forPeople() {
		if err := c.print(nil, func(p *page) { writeChanges(p, changes) }); err != nil {
			return err
		}
	}
	if err := refusals(changes); err != nil {
		if !c.forPeople() {
			return errors.Join(err, c.printChanges(changes))
		}
		return err
	}
	if n := len(only(changes, removed)); n > 0 && !yes && c.asks() && !c.confirm("remove "+counted(n, "definition")+"?") {
		return errors.New("nothing was changed")
	}
	err := applyAll(ctx, cl, changes)
	if !c.forPeople() {
		return errors.Join(err, c.printChanges(changes)) // data says how far it came
	}
	if err != nil {
		return err
	}
	return c.print(nil, func(p *page) { p.line("%s", summary(changes)) })
}

// applyAll makes the changes one after the other, and ends with the first that fails: it says how far it came.
func applyAll(ctx context.Context, cl *client.Client, changes []change) error {
	var done []string
	for i := range changes {
		ch := &changes[i]
		if ch.Kind == unchanged {
			continue
		}
		if err := applyOne(ctx, cl, ch); err != nil {
			return stopped(ch.named(), done, changes[i+1:], err)
		}
		ch.Applied = true
		done = append(done, ch.what())
	}
	return nil
}

func applyOne(ctx context.Context, cl *client.Client, ch *change) error {
	var err error
	if ch.Limit != "" {
		return applyLimit(ctx, cl, ch)
	}
	switch ch.Kind {
	case created:
		_, _, err = cl.PutJob(ctx, ch.Job, ch.spec, api.Precondition{Absent: true})
	case changed:
		_, _, err = cl.PutJob(ctx, ch.Job, ch.spec, api.Precondition{Revision: ch.revision})
	case removed:
		err = cl.DeleteJob(ctx, ch.Job, api.Precondition{Revision: ch.revision})
	}
	return err
}

// stopped tells of a change that failed, of those before it, and of those that were not tried.
func stopped(name string, done []string, rest []change, err error) error {
	var left []string
	for _, ch := range rest {
		if ch.Kind != unchanged {
			left = append(left, ch.what())
		}
	}
	text := fmt.Sprintf("done before it: %s; not tried: %s", orDash(strings.Join(done, ", ")), orDash(strings.Join(left, ", ")))
	err = fmt.Errorf("apply %s: %w\n%s", name, err, text)
	var answer *client.Error
	if errors.As(err, &answer) && answer.Status == http.StatusUnprocessableEntity {
		return &codedError{code: exitBadConfig, err: err}
	}
	return err
}
