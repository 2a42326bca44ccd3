package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

// bulkFlags are the flags of commands that change all jobs or runs of a selector.
type bulkFlags struct {
	selector string
	since    string
	states   []string
	yes      bool
}

func (b *bulkFlags) add(cmd *cobra.Command) {
	addSelector(cmd, &b.selector)
	cmd.Flags().BoolVar(&b.yes, "yes", false, "with -l: do not ask")
}

// addRuns adds the flags that select runs. The states are those that the command selects without --state.
func (b *bulkFlags) addRuns(cmd *cobra.Command, states []job.State) {
	b.add(cmd)
	cmd.Flags().StringVar(&b.since, "since", "", "with -l: only slots since a time, or since a span ago (24h, 7d)")
	var names []string
	for _, s := range states {
		names = append(names, string(s))
	}
	cmd.Flags().StringSliceVar(&b.states, "state", names, "with -l: only runs in this state; may be repeated")
}

// args checks the arguments: either a name, or a selector.
func (b *bulkFlags) args(one cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if b.selector == "" {
			for _, flag := range []string{"since", "state", "yes"} {
				if f := cmd.Flags().Lookup(flag); f != nil && f.Changed {
					return usagef("%s: --%s needs a selector: -l team=a", cmd.Name(), flag)
				}
			}
			return one(cmd, args)
		}
		if len(args) > 0 {
			return usagef("%s: give either one name or a selector", cmd.Name())
		}
		return nil
	}
}

// runs returns the runs that the flags select, latest first, and all runs of the selected jobs in that time.
func (b *bulkFlags) runs(ctx context.Context, c *cli, cl *client.Client) (selected, all []api.RunView, err error) {
	f, err := c.runFilter(nil, b.states, b.since, 0)
	if err != nil {
		return nil, nil, err
	}
	want := map[job.State]bool{}
	for _, s := range f.States {
		want[s] = true
	}
	f.Selector, f.States = b.selector, nil
	if all, _, err = collect(ctx, cl, f, 0); err != nil {
		return nil, nil, err
	}
	for _, r := range all {
		if want[r.State] {
			selected = append(selected, r)
		}
	}
	return selected, all, nil
}

// bulk is one change of many jobs or runs.
type bulk struct {
	verb, done string // "retry", "retried"
	noun       string // "run" or "job"
	selector   string
	targets    []target
	do         func(ctx context.Context, name string) error // one change, guarded on its own
}

// target is a job or a run that a bulk changes.
type target struct{ name, note string }

// bulkResult is what a bulk has done, for programs.
type bulkResult struct {
	Done   []string      `json:"done"`
	Failed []bulkFailure `json:"failed"`
}

type bulkFailure struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// maxShown is how many targets are shown before the question.
const maxShown = 20

// progressEvery is how often a bulk that takes longer reports its progress.
const progressEvery = time.Second

// run shows what the bulk will change, asks unless yes is set, and makes the changes one after the other. A change that is
// refused does not stop the others. A repetition of the whole command changes only what is left.
func (c *cli) bulk(ctx context.Context, b *bulk, yes bool) error {
	n := len(b.targets)
	if n == 0 {
		return c.print(
			bulkResult{[]string{}, []bulkFailure{}},
			func(p *page) { p.line("no %ss to %s with labels %s", b.noun, b.verb, b.selector) },
		)
	}
	what := counted(n, b.noun)
	if !yes && !c.interactive() {
		return usageError{
			fmt.Sprintf("%s would %s %s, and there is no terminal to ask at", "rota "+b.verb, b.verb, what),
			"add --yes to go on",
		}
	}
	for _, t := range b.targets[:min(n, maxShown)] {
		c.printErr("%s", printable(t.name+"  "+t.note))
	}
	if n > maxShown {
		c.printErr("and %d more", n-maxShown)
	}
	if !yes && !c.confirm(b.verb+" "+what+"?") {
		return errors.New("nothing was changed")
	}
	result, err := c.changeAll(ctx, b)
	if printErr := c.print(result, func(p *page) { p.line("%s %s", counted(len(result.Done), b.noun), b.done) }); err == nil {
		err = printErr
	}
	switch {
	case err != nil:
		return &codedError{
			code: exitCode(ctx, err), err: fmt.Errorf("%d of %s were %s: %w", len(result.Done), what, b.done, err),
			hint: "the same command goes on with the rest",
		}
	case len(result.Failed) > 0:
		return fmt.Errorf("%d of %s were not %s", len(result.Failed), what, b.done)
	}
	return nil
}

// changeAll makes the changes of a bulk. It stops if the cluster does not answer, or if ctx ends.
func (c *cli) changeAll(ctx context.Context, b *bulk) (bulkResult, error) {
	result := bulkResult{Done: []string{}, Failed: []bulkFailure{}}
	reported := c.now()
	for i, t := range b.targets {
		err := c.patiently(ctx, func() error { return b.do(ctx, t.name) })
		switch {
		case err == nil:
			result.Done = append(result.Done, t.name)
		case ctx.Err() != nil:
			return result, context.Cause(ctx)
		case errors.Is(err, api.ErrUnavailable):
			return result, err
		default:
			c.printErr("%s: %v", t.name, err)
			result.Failed = append(result.Failed, bulkFailure{t.name, err.Error()})
		}
		if now := c.now(); now.Sub(reported) >= progressEvery {
			reported = now
			c.printErr("%d of %d", i+1, len(b.targets))
		}
	}
	return result, nil
}

// patiently repeats a change that the server delays, because this client sends too many.
func (c *cli) patiently(ctx context.Context, do func() error) error {
	for {
		err := do()
		var answer *client.Error
		if !errors.As(err, &answer) || answer.RetryAfter <= 0 || errors.Is(err, api.ErrUnavailable) {
			return err
		}
		if err := sleep(ctx, answer.RetryAfter); err != nil {
			return err
		}
	}
}
