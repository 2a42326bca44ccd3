package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// bulk is one change of many jobs or runs.
type bulk struct {
	verb, done string // "retry", "retried"
	noun       string // "run" or "job"
	of         string // which of them, such as " with labels team=a"; empty: all
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
