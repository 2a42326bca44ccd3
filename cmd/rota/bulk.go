package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// bulk is one change of many jobs or runs.
type bulk struct {
	verb, done string // "retry", "retried"
	noun       string // "run" or "job"
	of         string // which of them, such as " with labels team=a"; empty: all
	targets    []target
	do         func(ctx context.Context, name string) error // one change, guarded on its own
	made       []string                                     // the runs that the changes have returned
}

// target is a job or a run that a bulk changes.
type target struct{ name, note string }

// bulkResult is what a bulk has done, for programs.
type bulkResult struct {
	Done   []string      `json:"done"`
	Failed []bulkFailure `json:"failed"`
}

// document returns what a format prints. -o name prints a name for each change, as the change of one run or job does.
func (b *bulk) document(f format, r bulkResult) any {
	if f != formatName {
		return r
	}
	names := r.Done
	if b.made != nil {
		names = b.made
	}
	type named struct {
		Name string `json:"name"`
	}
	list := make([]named, len(names))
	for i, name := range names {
		list[i].Name = name
	}
	return list
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
			b.document(c.format, bulkResult{[]string{}, []bulkFailure{}}),
			func(p *page) { p.line("no %ss to %s%s", b.noun, b.verb, b.of) },
		)
	}
	what := counted(n, b.noun)
	if !yes && !c.interactive() {
		return usageError{
			fmt.Sprintf("%s would %s %s, and there is no terminal to ask at", "rota "+b.verb, b.verb, what),
			"add --yes to go on",
		}
	}
	shown, width := b.targets[:min(n, maxShown)], 0
	for _, t := range shown {
		width = max(width, len(t.name))
	}
	for _, t := range shown {
		c.printErr("%s", printable(strings.TrimRight(fmt.Sprintf("%-*s  %s", width, t.name, t.note), " ")))
	}
	if n > maxShown {
		c.printErr("and %d more", n-maxShown)
	}
	if !yes && !c.confirm(b.verb+" "+what+"?") {
		return errors.New("nothing was changed")
	}
	result, err := c.changeAll(ctx, b)
	printErr := c.print(b.document(c.format, result), func(p *page) {
		p.line("%s %s", counted(len(result.Done), b.noun), b.done)
	})
	if err == nil {
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

// bulkRuns is bulk for runs, whose changes do makes. With --wait, it then waits for the end of the runs that do has returned. It
// fails if one of them ends in another state than want.
func (c *cli) bulkRuns(ctx context.Context, cl *client.Client, b *bulk, yes bool, wait waitFlags, want job.State,
	do func(ctx context.Context, name string) (api.RunView, error),
) error {
	b.do = func(ctx context.Context, name string) error {
		r, err := do(ctx, name)
		if err == nil {
			b.made = append(b.made, r.Ref)
		}
		return err
	}
	err := c.bulk(ctx, b, yes)
	if !wait.wait || ctx.Err() != nil || errors.Is(err, api.ErrUnavailable) {
		return err
	}
	return errors.Join(err, c.awaitAll(ctx, cl, b.made, wait, want))
}

// awaitAll waits for the end of runs, and reports each. A run whose record was removed meanwhile counts as one that failed.
func (c *cli) awaitAll(ctx context.Context, cl *client.Client, names []string, wait waitFlags, want job.State) error {
	ctx, cancel := wait.limit(ctx)
	defer cancel()
	others := 0
	for i, name := range names {
		r, err := c.await(ctx, cl, name, false)
		switch {
		case errors.Is(err, job.ErrNotFound):
			c.printErr("%v", err)
			others++
		case err != nil:
			if rest := len(names) - i - 1; rest > 0 {
				c.printErr("not awaited: %s after run %s", counted(rest, "run"), name)
			}
			return err
		default:
			c.printErr("%s", outcomeText(&r))
			if r.State != want {
				others++
			}
		}
	}
	if others > 0 {
		return fmt.Errorf("%d of %s ended in a state other than %s", others, counted(len(names), "run"), want)
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
