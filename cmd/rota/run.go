package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/spf13/cobra"
)

func newRunCommand(c *cli) *cobra.Command {
	var (
		key, payload string
		wait         waitFlags
	)
	cmd := &cobra.Command{
		Use:   "run JOB",
		Short: "Run a job now",
		Long: `Run makes a run of a job at once and prints its name. With --wait it waits for the end and exits with the job's
code: the command's own, 124 if it timed out, 1 for everything else that did not succeed.`,
		Example:           "  rota run nightly-backup --wait --logs",
		Args:              takes("JOB"),
		ValidArgsFunction: c.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := c.payload(payload)
			if err != nil {
				return err
			}
			cl, err := c.changer()
			if err != nil {
				return err
			}
			defer cl.Close()
			r, created, err := cl.Submit(cmd.Context(), args[0], api.RunRequest{Key: key, Payload: body})
			if err != nil {
				return err
			}
			c.noteRepeated(created, &r)
			return c.submitted(cmd.Context(), cl, r, wait)
		},
	}
	addSubmitFlags(cmd, &key, &payload)
	wait.add(cmd)
	return cmd
}

func addSubmitFlags(cmd *cobra.Command, key, payload *string) {
	cmd.Flags().Var(&givenFlag{key, "a key"}, "key", "idempotency key: asking again with it makes no second run")
	cmd.Flags().StringVar(payload, "payload", "", "JSON for the run, @FILE to read it from a file, @- from stdin")
}

// givenFlag is a text that is refused if it is given and empty: that is a variable which was not set. Without its key each
// submission would be another run, and without its time one would run at once.
type givenFlag struct {
	text *string
	what string // it is to be
}

func (f *givenFlag) Set(s string) error {
	if s == "" {
		return fmt.Errorf("it is empty: give %s, or leave the flag out", f.what)
	}
	*f.text = s
	return nil
}

func (f *givenFlag) String() string {
	if f.text == nil { // pflag compares with the zero value
		return ""
	}
	return *f.text
}

func (f *givenFlag) Type() string { return "string" }

func (c *cli) noteRepeated(created bool, r *api.RunView) {
	if !created {
		c.note("run %s was made earlier with the key %q", r.Ref, r.Key)
	}
}

// payload returns the JSON that a flag gives or names, nil for none.
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
			return nil, usageError{fmt.Sprintf("--payload %s: %v", flag, err), "name a file that can be read"}
		}
	}
	switch {
	case len(text) == 0:
		return nil, nil
	case len(text) > api.MaxPayload:
		return nil, usagef("--payload has more than %d bytes", api.MaxPayload)
	case !json.Valid(text):
		return nil, usageError{"--payload is no JSON", `such as --payload '{"month":"2026-01"}'; text needs its own quotes`}
	}
	return text, nil
}
