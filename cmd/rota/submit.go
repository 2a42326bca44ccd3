package main

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/spf13/cobra"
)

func newSubmitCommand(c *cli) *cobra.Command {
	var (
		in, at, key, payload string
		wait                 waitFlags
	)
	cmd := &cobra.Command{
		Use:   "submit JOB | -- ARGV...",
		Short: "Run a job or a command once, later",
		Long: `Submit makes one run of a job, or of a command that is no job, and prints its name. It is kept in the store until its
time has come. With --key it is idempotent: submitting again returns the first run.`,
		Example: `  rota submit --in 10m nightly-backup
  rota submit --in 10m --key greeting -- echo hello`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case dash > 0:
				return usagef("%s: give either a job or, after --, a command", cmd.Name())
			case len(args) == 0:
				return usagef("%s: JOB is missing, or -- and a command", cmd.Name())
			case dash < 0 && len(args) > 1:
				return usageError{"one job at a time", "a command goes after --, as in: rota submit --in 10m -- echo hello"}
			}
			return nil
		},
		ValidArgsFunction: c.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := c.request(in, at, key, payload)
			if err != nil {
				return err
			}
			cl, err := c.changer()
			if err != nil {
				return err
			}
			defer cl.Close()
			var r api.RunView
			var created bool
			if cmd.ArgsLenAtDash() == 0 {
				r, created, err = cl.SubmitCommand(cmd.Context(), api.AdHocRequest{Command: args, RunRequest: request})
			} else {
				r, created, err = cl.Submit(cmd.Context(), args[0], request)
			}
			if err != nil {
				return err
			}
			c.noteRepeated(created, &r)
			return c.submitted(cmd.Context(), cl, r, wait)
		},
	}
	cmd.Flags().Var(&givenFlag{&in, "a time span"}, "in", "not before so long from now: 90s, 2h, 7d")
	cmd.Flags().Var(&givenFlag{&at, "a time"}, "at", "not before this time")
	cmd.MarkFlagsMutuallyExclusive("in", "at")
	addSubmitFlags(cmd, &key, &payload)
	wait.add(cmd)
	return cmd
}

func (c *cli) request(in, at, key, payload string) (api.RunRequest, error) {
	r := api.RunRequest{In: in, Key: key}
	if in != "" {
		if _, err := parseSpan(in); err != nil {
			return r, err
		}
	}
	if at != "" {
		t, err := parseInstant(at, c.now(), time.Local)
		if err != nil {
			return r, err
		}
		t = t.UTC()
		r.At = &t
	}
	var err error
	r.Payload, err = c.payload(payload)
	return r, err
}
