package main

import (
	"context"
	"errors"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

// pruneFlags are the flags that say which definitions apply and diff remove.
type pruneFlags struct {
	prune    bool
	selector string
}

func (f *pruneFlags) add(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&f.prune, "prune", false, usage)
	const selects = "with --prune: remove only jobs with these labels, and no limits: team=a"
	cmd.Flags().VarP(newSelectorFlag(&f.selector), "selector", "l", selects)
}

// pruning says which jobs may be removed.
type pruning struct {
	on    bool
	names map[string]bool // nil: all jobs
}

func (p pruning) job(name string) bool { return p.on && (p.names == nil || p.names[name]) }

// limits reports whether limits may be removed. A selector selects jobs only, because limits have no labels.
func (p pruning) limits() bool { return p.on && p.names == nil }

// read asks the cluster which jobs the flags select.
func (f *pruneFlags) read(ctx context.Context, cl *client.Client) (pruning, error) {
	if f.selector == "" {
		return pruning{on: f.prune}, nil
	}
	if !f.prune {
		return pruning{}, usagef("-l %s needs --prune", f.selector)
	}
	jobs, err := cl.SelectJobs(ctx, f.selector)
	if err != nil {
		return pruning{}, err
	}
	p := pruning{on: true, names: make(map[string]bool)}
	for _, j := range jobs {
		p.names[j.Job.Name] = true
	}
	return p, nil
}

// mayRemove returns an error unless a person agrees to the removals, or --yes was given.
func (c *cli) mayRemove(n int, yes bool) error {
	switch {
	case n == 0 || yes:
		return nil
	case !c.interactive():
		return usageError{
			"apply would remove " + counted(n, "definition") + ", and there is no terminal to ask at: nothing was changed",
			"add --yes to go on, or -l team=a to remove only your own jobs",
		}
	case !c.confirm("remove " + counted(n, "definition") + "?"):
		return errors.New("nothing was changed")
	}
	return nil
}
