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
		Use:   "logs RUN | JOB",
		Short: "Print the output of an attempt",
		Long: `Print the output of a run's latest attempt, or of another one with --attempt. A job stands for its latest run that
has begun. With -f, follow the output until the run has ended, through all later attempts.`,
		Example:           "  rota logs nightly-backup\n  rota logs -f nightly-backup/2026-01-31T02:30:00Z",
		Args:              takesRun,
		ValidArgsFunction: c.completeRuns(),
		RunE: c.reading(c.withRun(withOutput(), func(ctx context.Context, cl *client.Client, args []string) error {
			if !c.forPeople() {
				return usageError{"logs prints an attempt's output unchanged, without a format", "leave -o " + string(c.format) + " out"}
			}
			if attempt < 0 {
				return usagef("--attempt %d: attempts are numbered from 1", attempt)
			}
			if follow && attempt == 0 {
				_, err := cl.Run(ctx, args[0])
				if err == nil { // an outage after this answer is waited for
					_, err = c.await(ctx, cl, args[0], true)
				}
				return err
			}
			return copyLogs(ctx, cl, args[0], attempt, follow, c.jobOutput())
		})),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow the output until the run has ended")
	cmd.Flags().BoolVar(&c.rawOutput, "raw", false, "pass control sequences to the terminal, not only colors")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "number of the attempt (default: the latest)")
	return cmd
}

// showAttempts prints the output of each attempt after number shown, until that attempt ends. It returns the number of the last
// attempt that it printed. If an output is unavailable, it prints the tail that the run's record has.
func (c *cli) showAttempts(ctx context.Context, cl *client.Client, r *api.RunView, shown int) (int, error) {
	for n := shown + 1; n <= lastStarted(&r.Run); n++ {
		if n > 1 {
			c.printErr("attempt %d", n)
		}
		err := copyLogs(ctx, cl, r.Ref, n, true, c.jobOutput())
		switch {
		case err == nil:
		case ctx.Err() != nil, errors.As(err, new(*outputError)):
			return shown, err
		case r.State.Terminal() && n == r.Attempt && r.Output != "":
			c.printErr("the output of attempt %d is unavailable, this is the end of it: %v", n, err)
			if _, err := io.WriteString(c.jobOutput(), r.Output); err != nil {
				return shown, err
			}
		case errors.Is(err, job.ErrNotFound) && (r.State.Terminal() || n < r.Attempt):
			c.printErr("%v", err)
		case r.State.Terminal() || n < r.Attempt || !errors.Is(err, job.ErrNotFound) && !passes(err):
			c.printErr("the output of attempt %d is unavailable: %v", n, err)
		default:
			return shown, nil // the output may become available later
		}
		shown = n
	}
	return shown, nil
}

// lastStarted returns the number of the latest attempt that has started, 0 if none has.
func lastStarted(r *job.Run) int {
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

// outputError reports that this process cannot write its own output.
type outputError struct{ err error }

func (e *outputError) Error() string { return fmt.Sprintf("write output: %v", e.err) }
func (e *outputError) Unwrap() error { return e.err }

// copyLogs writes an attempt's output. It resumes a broken stream at the same byte. A proxy that gives up can end a stream as if it
// were complete. So with follow, the end of a stream counts only if the record shows at once that the attempt has ended.
func copyLogs(ctx context.Context, cl *client.Client, run string, attempt int, follow bool, to io.Writer) error {
	const tries = 10
	open := func() (io.ReadCloser, error) { return cl.Logs(ctx, run, attempt, follow) }
	l := logCopy{run: run, open: open, to: to}
	ended := !follow // the attempt had ended when the stream was opened
	for failures := 0; ; {
		before, streams := l.written, l.streams
		err := l.copy()
		switch {
		case err == nil && ended, ctx.Err() != nil, errors.As(err, new(*outputError)), l.streams == 0: // 0: there is no output
			return err
		case l.written > before:
			failures = 0
		}
		if err != nil {
			failures++
		}
		if failures > tries {
			return err
		}
		if ended {
			if err := sleep(ctx, time.Second); err != nil {
				return err
			}
			continue
		}
		over, looks, asked := attemptEnded(ctx, cl, run, attempt)
		switch {
		case asked != nil && !passes(asked):
			return asked
		case over && looks == 0 && err == nil:
			return nil
		case asked == nil && !over && l.streams > streams:
			failures = 0 // an attempt may be silent for long
		}
		ended = over
	}
}

// attemptEnded reports whether an attempt has ended, or ends within a second, and how many looks before showed it running. The
// record of an attempt follows the end of its output.
func attemptEnded(ctx context.Context, cl *client.Client, run string, attempt int) (ended bool, looks int, err error) {
	for pause := 20 * time.Millisecond; pause < time.Second; pause *= 2 {
		v, err := cl.Run(ctx, run)
		switch {
		case err == nil && (v.State != job.Running || v.Attempt != attempt):
			return true, looks, nil
		case err != nil && !passes(err):
			return false, looks, err
		}
		if err := sleep(ctx, pause); err != nil {
			return false, looks, err
		}
		looks++
	}
	return false, looks, nil
}

// logCopy copies an output. If a stream breaks, it opens another one.
type logCopy struct {
	run     string
	open    func() (io.ReadCloser, error) // opens a stream that begins at the first byte of the output
	to      io.Writer
	streams int   // that were opened
	written int64 // bytes
}

// copy copies one stream to the writer. It skips the bytes that were written before.
func (l *logCopy) copy() error {
	stream, err := l.open()
	if err != nil {
		return err
	}
	l.streams++
	defer stream.Close()
	if _, err := io.CopyN(io.Discard, stream, l.written); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read output of run %s: %w", l.run, err)
	}
	n, err := io.Copy(outputWriter{l.to}, stream)
	l.written += n
	if err != nil && !errors.As(err, new(*outputError)) {
		return fmt.Errorf("read output of run %s: %w", l.run, err)
	}
	return err
}

// outputWriter marks the errors of its writer as outputError.
type outputWriter struct{ to io.Writer }

func (o outputWriter) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if err != nil {
		return n, &outputError{err}
	}
	return n, nil
}
