package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
	"github.com/spf13/cobra"
)

func newExportCommand(c *cli) *cobra.Command {
	var selector string
	cmd := &cobra.Command{
		Use:   "export [JOB]... | -l SELECTOR",
		Short: "Print jobs as a job file",
		Long: `Print the definitions of jobs as a job file, which rota apply accepts. The file also has the other jobs of their workflows,
and the limits that they name. Without a name and a selector, print all jobs and all limits.`,
		Example: "  rota export nightly-backup > nightly-backup.yaml\n  rota export -l team=ops | rota diff -",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && selector != "" {
				return usagef("%s: give either names or a selector", cmd.Name())
			}
			return takes("[JOB]...")(cmd, args)
		},
		ValidArgsFunction: c.completeJobs,
		RunE: c.reading(func(ctx context.Context, cl *client.Client, args []string) error {
			if !c.forPeople() && c.format != formatYAML {
				return usageError{"export prints a job file, which is YAML", "leave -o " + string(c.format) + " out"}
			}
			specs, err := selectSpecs(ctx, cl, args, selector)
			if err != nil {
				return err
			}
			limits, err := selectLimits(ctx, cl, specs, len(args) == 0 && selector == "")
			if err != nil {
				return err
			}
			text, err := config.MarshalSet(specs, limits)
			if err != nil {
				return err
			}
			_, err = c.out.Write(text)
			return err
		}),
	}
	addSelector(cmd, &selector)
	return cmd
}

// selectSpecs returns the definitions of the jobs that names or a selector select, or of all jobs. It adds the other jobs of their
// workflows: a job file with a step has the parents of the step.
func selectSpecs(ctx context.Context, cl *client.Client, names []string, selector string) (map[string]job.Spec, error) {
	jobs, err := cl.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	all := make(map[string]*job.Spec, len(jobs))
	for i := range jobs {
		all[jobs[i].Job.Name] = jobs[i].Spec
	}
	if selector != "" {
		if jobs, err = cl.SelectJobs(ctx, selector); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		for i := range jobs {
			names = append(names, jobs[i].Job.Name)
		}
	}
	graph, specs := workflow.Of(all), map[string]job.Spec{}
	for _, name := range names {
		if all[name] == nil {
			if _, err := cl.Job(ctx, name); err != nil { // it suggests another name
				return nil, err
			}
		}
		for _, member := range graph.Workflow(name) {
			if spec := all[member]; spec != nil {
				specs[member] = *spec
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		if spec := specs[name]; hasMask(&spec) {
			return nil, &codedError{
				code: exitFailed, hint: "`rota job " + name + "` shows the rest",
				err: fmt.Errorf("job %s has values that only a role which may define it sees", name),
			}
		}
	}
	return specs, nil
}

// hasMask reports whether the API replaced the values of a definition. It replaces all of them or none, so a mask beside another
// value is the value itself. A job file with masks would destroy the values.
func hasMask(s *job.Spec) bool {
	values := slices.Collect(maps.Values(s.Env))
	if s.HTTP != nil {
		values = slices.AppendSeq(values, maps.Values(s.HTTP.Headers))
	}
	for _, n := range s.Notify {
		values = append(values, n.URL)
	}
	if s.Ping != nil {
		values = append(values, s.Ping.URL)
	}
	return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return v != api.Mask })
}

// selectLimits returns the limits that jobs name, or all of them.
func selectLimits(ctx context.Context, cl *client.Client, specs map[string]job.Spec, all bool) (map[string]job.LimitSpec, error) {
	named := map[string]bool{}
	for _, spec := range specs {
		for _, name := range spec.Limits {
			named[name] = true
		}
	}
	known, err := cl.Limits(ctx)
	limits := map[string]job.LimitSpec{}
	for i := range known {
		if all || named[known[i].Name] {
			limits[known[i].Name] = known[i].Spec
		}
	}
	return limits, err
}
