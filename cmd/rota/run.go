package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newRunCommand(c *cli) *cobra.Command {
	var (
		key, payload string
		workflow     bool
		wait         waitFlags
	)
	cmd := &cobra.Command{
		Use:   "run JOB",
		Short: "Run a job now",
		Long: `Create a run of a job now and print its name. With --wait, wait for the end and exit with the job's code: the exit code
of a command, 124 after a timeout, 1 for every other failure.`,
		Example:           "  rota run nightly-backup --wait --logs",
		Args:              takes("JOB"),
		ValidArgsFunction: c.completeJobs,
		RunE: c.changing(func(ctx context.Context, cl *client.Client, args []string) error {
			body, err := c.payload(payload)
			if err != nil {
				return err
			}
			r, created, err := cl.Submit(ctx, args[0], api.RunRequest{Key: key, Payload: body, Workflow: workflow})
			if err != nil {
				return err
			}
			c.printRepeated(created, &r)
			return c.submitted(ctx, cl, r, wait)
		}),
	}
	addSubmitFlags(cmd, &key, &payload)
	cmd.Flags().BoolVar(&workflow, "workflow", false, "also start the steps behind the job, with the same id")
	wait.add(cmd)
	return cmd
}

func addSubmitFlags(cmd *cobra.Command, key, payload *string) {
	cmd.Flags().Var(&givenFlag{key, "a key"}, "key", "idempotency key: a second request with the same key returns the first run")
	cmd.Flags().StringVar(payload, "payload", "", "JSON for the run, @FILE to read it from a file, @- from stdin")
}

// givenFlag is a flag that refuses an empty value, which usually comes from an unset variable in a script. With an empty key,
// each submission would create another run. With an empty time, the run would start at once.
type givenFlag struct {
	text *string
	want string // the kind of value that is expected
}

// Set implements pflag.Value.
func (f *givenFlag) Set(s string) error {
	if s == "" {
		return fmt.Errorf("it is empty: give %s, or leave the flag out", f.want)
	}
	*f.text = s
	return nil
}

// String implements pflag.Value. pflag also calls it on the zero value.
func (f *givenFlag) String() string {
	if f.text == nil {
		return ""
	}
	return *f.text
}

// Type implements pflag.Value.
func (f *givenFlag) Type() string { return "string" }

// printRepeated reports that the run existed already: an earlier request with the same key created it.
func (c *cli) printRepeated(created bool, r *api.RunView) {
	if !created {
		c.printErr("an earlier request with the key %q created run %s", r.Key, r.Ref)
	}
}

// payload returns the JSON in the value of a flag, or in the file that the value names. It returns nil if the flag is empty.
func (c *cli) payload(flag string) (json.RawMessage, error) {
	text := []byte(flag)
	if name, ok := strings.CutPrefix(flag, "@"); ok {
		var err error
		if name == "-" {
			text, err = io.ReadAll(io.LimitReader(c.in, api.MaxPayload+1))
		} else {
			text, err = os.ReadFile(name)
		}
		if err != nil {
			return nil, usageError{fmt.Sprintf("--payload %s: %v", flag, err), "name a readable file"}
		}
	}
	switch {
	case len(text) == 0:
		return nil, nil
	case len(text) > api.MaxPayload:
		return nil, usagef("--payload has more than %d bytes", api.MaxPayload)
	case !json.Valid(text):
		hint := `write it like --payload '{"month":"2026-01"}'; a text needs its own quotes`
		return nil, usageError{"--payload is not valid JSON", hint}
	}
	return text, nil
}
