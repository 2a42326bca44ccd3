package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

func newCancelCommand(c *cli) *cobra.Command {
	var (
		wait    bool
		timeout time.Duration
		reason  string
	)
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run",
		Long: `Cancel asks for the end of a run. One that waits ends at once; one that runs, when its worker has stopped it.
With --wait it waits for that, and fails if the run ended otherwise before.`,
		Example:           "  rota cancel nightly-backup/2026-01-31T02:30:00Z --wait",
		Args:              takes("RUN"),
		ValidArgsFunction: c.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := runName(args[0])
			if err != nil {
				return err
			}
			cl, err := c.changer()
			if err != nil {
				return err
			}
			defer cl.Close()
			r, err := cl.Cancel(cmd.Context(), name, reason)
			if errors.Is(err, job.ErrConflict) {
				return alreadyEnded(cmd.Context(), cl, name, err)
			}
			if err != nil {
				return err
			}
			if wait {
				if r, err = c.await(cmd.Context(), cl, name, false, timeout); err != nil {
					return err
				}
			}
			err = c.print(r, func(p *page) {
				if r.State.Terminal() {
					p.line("run %s %s", r.Ref, outcomeWord(r.State))
				} else {
					p.line("run %s is being canceled", r.Ref)
				}
			})
			if err == nil && wait && r.State != job.Canceled {
				return fmt.Errorf("run %s ended before it was canceled: it is %s", r.Ref, r.State)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the run has ended")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "stop waiting after this time (default: wait as long as it takes)")
	cmd.Flags().StringVar(&reason, "reason", "", "why; shown to whoever asks")
	return cmd
}

// alreadyEnded says how a run has ended that cannot be canceled. If it has not, refusal is all there is to say.
func alreadyEnded(ctx context.Context, cl *client.Client, name string, refusal error) error {
	r, err := cl.Run(ctx, name)
	if err != nil || !r.State.Terminal() {
		return refusal
	}
	return &codedError{code: exitConflict, err: fmt.Errorf("run %s has ended already: it is %s", r.Ref, r.State)}
}
