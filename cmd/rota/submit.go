package main

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newSubmitCommand(c *cli) *cobra.Command {
	var (
		in, at string
		flags  submitFlags
		wait   waitFlags
	)
	cmd := &cobra.Command{
		Use:   "submit JOB | -- ARGV...",
		Short: "Run a job or a command once, now or later",
		Long: `Create one run of a job, or of a command that belongs to no job, and print its name. The store keeps the run until its
time. With --key the request is idempotent: a second one returns the first run.`,
		Example: `  rota submit --in 10m nightly-backup
  rota submit --in 10m --key greeting -- echo hello`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case dash > 0:
				return usagef("%s: give either a job or, after --, a command", cmd.Name())
			case len(args) == 0:
				return usagef("%s: JOB is missing, or -- and a command", cmd.Name())
			case dash < 0 && len(args) > 1:
				return usageError{"submit takes one job", "put a command after --, as in: rota submit --in 10m -- echo hello"}
			case dash < 0:
				return takes("JOB")(cmd, args)
			}
			return nil
		},
		ValidArgsFunction: c.completeJobs,
	}
	cmd.RunE = c.changing(func(ctx context.Context, cl *client.Client, args []string) error {
		request, err := c.request(in, at, &flags)
		if err != nil {
			return err
		}
		var r api.RunView
		var created bool
		if cmd.ArgsLenAtDash() == 0 {
			if err := checkText(args); err != nil {
				return err
			}
			r, created, err = cl.SubmitCommand(ctx, api.AdHocRequest{Command: args, RunRequest: request})
		} else {
			r, created, err = cl.Submit(ctx, args[0], request)
		}
		if err != nil {
			return err
		}
		c.printRepeated(created, &r)
		return c.submitted(ctx, cl, r, wait)
	})
	cmd.Flags().Var(&givenFlag{&in, "a time span"}, "in", "earliest start, from now: 90s, 2h, 7d")
	cmd.Flags().Var(&givenFlag{&at, "a time"}, "at", "earliest start, as a time")
	cmd.MarkFlagsMutuallyExclusive("in", "at")
	flags.add(c, cmd)
	wait.add(cmd)
	return cmd
}

// checkText returns an error if a word of a command is not UTF-8. JSON cannot hold it, and another command would run.
func checkText(words []string) error {
	for _, word := range words {
		if !utf8.ValidString(word) {
			return usageError{fmt.Sprintf("%q is not UTF-8 text", word), "put the command into a script, and submit that"}
		}
	}
	return nil
}

// pastTolerance is how far in the past --at may be: a time that has just passed means now.
const pastTolerance = time.Minute

// understood formats a typed time in UTC and in the zone of this machine.
func understood(t time.Time) string {
	text := stamp(t)
	if local := t.In(time.Local); local.Format("-0700") != "+0000" {
		text += ", which is " + local.Format("2006-01-02 15:04:05 MST") + " here"
	}
	return text
}

// request returns the request that the flags describe. A time without a zone is in the zone of this machine.
func (c *cli) request(in, at string, flags *submitFlags) (api.RunRequest, error) {
	r, err := c.requestOf(flags)
	if err != nil {
		return r, err
	}
	if r.In = in; in != "" {
		if _, err := parseSpan(in); err != nil {
			return r, err
		}
	}
	if at != "" {
		t, err := parseInstant(at, c.now(), time.Local)
		if err != nil {
			return r, err
		}
		if late := c.now().Sub(t); late > pastTolerance {
			return r, usageError{
				"--at " + at + " is in the past: it means " + understood(t),
				"give a later time, or leave --at out to run now",
			}
		}
		c.printErr("starts at %s", understood(t))
		r.At = new(t.UTC())
	}
	return r, nil
}
