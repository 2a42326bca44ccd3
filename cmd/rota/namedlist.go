package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

// namedList is a short list of named things, of which a command prints all or those that are given.
type namedList[T any] struct {
	kind  string // of one thing, for errors
	gone  string // the state of a thing that has vanished while it was watched
	empty string // the line for people if there is none
	read  func(*client.Client, context.Context) ([]T, error)
	name  func(*T) string
	list  func([]T) any // the document for programs
	rows  func(*page, []T) [][]any
}

// newNamedListCommand completes a command that prints the list.
func newNamedListCommand[T any](c *cli, cmd *cobra.Command, l namedList[T]) *cobra.Command {
	watch := false
	cmd.Args = takes("[NAME]...")
	cmd.RunE = c.reading(func(ctx context.Context, cl *client.Client, names []string) error {
		if watch {
			return c.watchList(ctx, l.gone, func(p *page) ([]any, []watchedRow, error) {
				all, err := l.read(cl, ctx)
				if err != nil {
					return nil, nil, err
				}
				chosen, _ := l.choose(all, names) // what is named may appear later
				header, rows := watchedRows(l.rows(p, chosen), chosen, l.name)
				return header, rows, nil
			})
		}
		all, err := l.read(cl, ctx)
		if err != nil {
			return err
		}
		chosen, err := l.choose(all, names)
		if err != nil {
			return err
		}
		return c.print(l.list(chosen), func(p *page) {
			if len(chosen) == 0 {
				p.line("%s", l.empty)
				return
			}
			p.table(l.rows(p, chosen))
		})
	})
	addWatch(cmd, &watch)
	return cmd
}

// choose returns the things with these names, all if there are no names; never nil, which would be null in JSON. The error names
// the first name that is unknown.
func (l namedList[T]) choose(all []T, names []string) (chosen []T, err error) {
	chosen = []T{}
	for i := range all {
		if len(names) == 0 || slices.Contains(names, l.name(&all[i])) {
			chosen = append(chosen, all[i])
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(v T) bool { return l.name(&v) == name }) {
			return chosen, fmt.Errorf("%s %s: %w", l.kind, name, job.ErrNotFound)
		}
	}
	return chosen, nil
}
