package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newLogsCommand(c *cli) *cobra.Command {
	var (
		follow  bool
		attempt int
	)
	cmd := &cobra.Command{
		Use:   "logs RUN",
		Short: "An attempt's output",
		Long: `Logs prints the output of a run's latest attempt, or of another with --attempt. With -f it goes on until the run has
ended, through all attempts that follow.`,
		Example:           "  rota logs -f nightly-backup/2026-01-31T02:30:00Z",
		Args:              takes("RUN"),
		ValidArgsFunction: c.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := runName(args[0])
			if err != nil {
				return err
			}
			if !c.forPeople() {
				return usageError{"logs prints what the attempt has printed, in no other format", "leave -o " + string(c.format) + " out"}
			}
			if attempt < 0 {
				return usagef("--attempt %d: attempts are numbered from 1", attempt)
			}
			cl, err := c.reader()
			if err != nil {
				return err
			}
			defer cl.Close()
			if follow && attempt == 0 {
				_, err := c.await(cmd.Context(), cl, name, true, 0)
				return err
			}
			return copyLogs(cmd.Context(), cl, name, attempt, follow, c.out)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run has ended")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "number of the attempt (default: the latest)")
	return cmd
}

// showAttempts prints the output of the attempts after the one numbered shown, each until it ends, and returns the
// number of the last. Output that cannot be had is made up for by the end of it that the run's record keeps.
func (c *cli) showAttempts(ctx context.Context, cl *client.Client, r *api.RunView, shown int) (int, error) {
	for n := shown + 1; n <= begun(&r.Run); n++ {
		if n > 1 {
			c.note("attempt %d", n)
		}
		err := copyLogs(ctx, cl, r.Ref, n, true, c.out)
		var broken *outputError
		switch {
		case err == nil:
		case ctx.Err() != nil, errors.As(err, &broken):
			return shown, err
		case r.State.Terminal() && n == r.Attempt && r.Output != "":
			c.note("the output of attempt %d is not to be had, this is the end of it: %v", n, err)
			if _, err := io.WriteString(c.out, r.Output); err != nil {
				return shown, err
			}
		case r.State.Terminal() || n < r.Attempt || !errors.Is(err, job.ErrNotFound) && !errors.Is(err, api.ErrUnavailable):
			c.note("the output of attempt %d is not to be had: %v", n, err)
		default:
			return shown, nil // it may come yet
		}
		shown = n
	}
	return shown, nil
}

// begun is the number of the latest attempt that has begun, 0 if none has.
func begun(r *job.Run) int {
	if r.State == job.Running {
		return r.Attempt
	}
	n := 0
	for _, a := range r.Attempts {
		if !a.Started.IsZero() {
			n = max(n, a.Number)
		}
	}
	return n
}

// outputError says that our own output cannot be written.
type outputError struct{ err error }

func (e *outputError) Error() string { return fmt.Sprintf("write output: %v", e.err) }
func (e *outputError) Unwrap() error { return e.err }

// copyLogs writes an attempt's output. A stream that breaks is taken up where it broke.
func copyLogs(ctx context.Context, cl *client.Client, run string, attempt int, follow bool, to io.Writer) error {
	const tries = 10
	var written int64
	opened := false
	for failures := 0; ; {
		before := written
		err := copyOnce(ctx, cl, run, attempt, follow, to, &opened, &written)
		var broken *outputError
		switch {
		case err == nil, ctx.Err() != nil, errors.As(err, &broken):
			return err
		case !opened: // nobody ever had it: there is nothing to take up
			return err
		case written > before:
			failures = 0
		}
		if failures++; failures > tries {
			return err
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// copyOnce copies one stream from where *written says, and sets *opened if there is one. The server sends all of it each time.
func copyOnce(ctx context.Context, cl *client.Client, run string, attempt int, follow bool, to io.Writer, opened *bool, written *int64) error {
	stream, err := cl.Logs(ctx, run, attempt, follow)
	if err != nil {
		return err
	}
	*opened = true
	defer stream.Close()
	if _, err := io.CopyN(io.Discard, stream, *written); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read output of run %s: %w", run, err)
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := stream.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return &outputError{err}
			}
			*written += int64(n)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read output of run %s: %w", run, err)
		}
	}
}
