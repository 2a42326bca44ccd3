package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/verify"
	"github.com/rota-scheduler/rota/store"
)

// verifyTimeout is how long the reading of the store may take.
const verifyTimeout = 2 * time.Minute

// newVerifyCommand returns the command that checks the invariants on live data.
func newVerifyCommand(c *cli) *cobra.Command {
	var file string
	var endpoints []string
	var all bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the invariants on the data in the store",
		Long: `Read all records and the latest changes in the store, and check the invariants:

  - no slot has two runs
  - fencing tokens only rise
  - no cursor went back, or passed a slot without a reason
  - no ended run changed
  - each run ended like its last attempt
  - no run was repeated whose job forbids it

If one is broken, print a list and exit with code 1. The last line says which changes were checked. They are those of the latest
8 MiB or so, unless you ask for --all-changes.

` + whichStore,
		Example: `  rota verify --endpoints http://127.0.0.1:2379
  rota verify --server http://q1:8470`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.verify(cmd.Context(), file, endpoints, all)
		},
	}
	addStoreFlags(cmd, &file, &endpoints, "settings file with the address of the store (ROTA_CONFIG)")
	cmd.Flags().BoolVar(&all, "all-changes", false,
		"check all changes that etcd still keeps; with a long history, writes stop meanwhile, and processes can lose their leases")
	return cmd
}

func (c *cli) verify(ctx context.Context, file string, endpoints []string, all bool) error {
	etcd, err := c.findStore(ctx, file, endpoints)
	if err != nil {
		return err
	}
	s, done, err := openStore(ctx, etcd, "verify")
	if failure.IsConfig(err) {
		return err
	}
	if err != nil {
		err = fmt.Errorf("etcd at %s does not answer: %w", strings.Join(etcd.Endpoints, ", "), err)
		return &codedError{exitUnavailable, nameStore, err}
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	records, rev, err := s.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	enough := store.BriefLog
	if all {
		enough = math.MaxInt
	}
	from, log, err := s.Log(ctx, rev, enough)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	report := verify.Check(verify.Input{Records: records, Log: log, Now: c.now()})
	return c.showReport(api.VerifyView{Report: report, From: from, Revision: rev})
}

// showReport prints a report.
func (c *cli) showReport(r api.VerifyView) error {
	err := c.print(r, func(p *page) {
		for _, v := range r.Violations {
			fmt.Fprintf(p.out, "BROKEN %d  %s at revision %d: %s\n", v.Invariant, v.Subject, v.Revision, v.Text)
		}
		for _, n := range r.Notes {
			fmt.Fprintf(p.out, "note: %s\n", n)
		}
		fmt.Fprintf(p.out, "checked %d jobs, %d runs, %d slots and %d changes (revisions %d to %d): %d invariants broken\n",
			r.Jobs, r.Runs, r.Slots, r.Changes, r.From, r.Revision, len(r.Violations))
	})
	if err == nil && len(r.Violations) > 0 {
		return fmt.Errorf("%d invariants are broken", len(r.Violations))
	}
	return err
}
