package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

// completionTime is how long a shell waits for names.
const completionTime = time.Second

// completeJobs returns the names of the cluster's jobs as completions of the first argument. If the cluster does not answer, it
// returns none.
func (c *cli) completeJobs(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.complete(cmd, args, func(ctx context.Context, cl *client.Client) (names []cobra.Completion) {
		jobs, err := cl.Jobs(ctx)
		if err != nil {
			return nil
		}
		for i := range jobs {
			if name := jobs[i].Job.Name; strings.HasPrefix(name, prefix) {
				names = append(names, cobra.CompletionWithDesc(name, printable(jobs[i].Spec.Description)))
			}
		}
		return names
	})
}

// completeRuns completes the name of a run in one of some states, of any state without them. The latest run is first. The beginning
// of a name is completed to a job, which stands for its latest run: on a busy cluster, the latest runs are of other jobs.
func (c *cli) completeRuns(states ...job.State) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		name, _, typed := strings.Cut(prefix, "/")
		if prefix != "" && !typed {
			return c.completeJobs(cmd, args, prefix)
		}
		return c.complete(cmd, args, func(ctx context.Context, cl *client.Client) (names []cobra.Completion) {
			list, err := cl.Runs(ctx, client.RunFilter{Job: name, States: states, Limit: 50}, "")
			if err != nil {
				return nil
			}
			for i := range list.Runs {
				if r := &list.Runs[i]; strings.HasPrefix(r.Ref, prefix) {
					names = append(names, cobra.CompletionWithDesc(r.Ref, string(r.State)))
				}
			}
			return names
		})
	}
}

// completeWorkers returns the names of the workers as completions.
func (c *cli) completeWorkers(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.complete(cmd, nil, func(ctx context.Context, cl *client.Client) []cobra.Completion {
		workers, _ := cl.Workers(ctx)
		return namesOf(workers, args, prefix, func(w *api.WorkerView) string { return w.Name })
	})
}

// completeLimits returns the names of the limits as completions.
func (c *cli) completeLimits(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.complete(cmd, nil, func(ctx context.Context, cl *client.Client) []cobra.Completion {
		limits, _ := cl.Limits(ctx)
		return namesOf(limits, args, prefix, func(l *api.LimitView) string { return l.Name })
	})
}

// namesOf returns the names with a prefix that are not given yet.
func namesOf[T any](list []T, given []string, prefix string, name func(*T) string) (names []cobra.Completion) {
	for i := range list {
		if n := name(&list[i]); strings.HasPrefix(n, prefix) && !slices.Contains(given, n) {
			names = append(names, n)
		}
	}
	return names
}

// completeFlag completes the values of a flag of cmd.
func completeFlag(cmd *cobra.Command, name string, values []string) {
	// This cannot fail: the flag exists.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// texts returns named values, such as states, as texts.
func texts[T ~string](values []T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

func (c *cli) complete(
	cmd *cobra.Command, args []string, names func(context.Context, *client.Client) []cobra.Completion,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cl, err := c.client(completionTime)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	return names(ctx, cl), cobra.ShellCompDirectiveNoFileComp
}
