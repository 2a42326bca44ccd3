package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/verify"
	"github.com/rota-scheduler/rota/store"
)

// verifyTimeout bounds the reading of the store.
const verifyTimeout = 2 * time.Minute

// newVerifyCommand proves the invariants on live data.
func newVerifyCommand(c *cli) *cobra.Command {
	var file string
	var endpoints []string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read the store and prove the invariants on live data",
		Long: `Read the store itself, all records and the log of changes as far as etcd still knows it, and prove the invariants: no slot
has two runs, tokens only rise, no cursor went back or passed a slot without a reason, no ended run was changed, runs ended
as their attempts did, and nothing was repeated that must not be.
Exit code 1 and a list if any is broken.

The store is that of --server, of --config or at --endpoints, and without any of them that of ROTA_CONFIG, ROTA_SERVER, a
local ` + "`rota dev`" + ` or a replica at ` + client.DefaultServer + `. With --server and one of the others, it is not read
unless it is the store of that server.`,
		Example: `  rota verify --endpoints http://127.0.0.1:2379
  rota verify --server http://q1:8470`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.verify(cmd.Context(), file, endpoints)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "settings file that names the store (ROTA_CONFIG)")
	cmd.Flags().StringSliceVar(&endpoints, "endpoints", nil, "URLs of etcd")
	return cmd
}

func (c *cli) verify(ctx context.Context, file string, endpoints []string) error {
	etcd, err := c.findStore(ctx, file, endpoints)
	if err != nil {
		return err
	}
	reached, err := reachStore(ctx, etcd)
	if node.IsConfig(err) {
		return err
	}
	if err != nil {
		return &codedError{exitUnavailable, nameStore, fmt.Errorf("etcd at %s does not answer: %w", strings.Join(etcd.Endpoints, ", "), err)}
	}
	defer reached.Close()
	s := store.New(store.Config{Prefix: etcd.Prefix, Process: "verify"}, reached, hclog.NewNullLogger())
	defer s.Close()

	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	records, rev, err := s.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("%w: %v", api.ErrUnavailable, err)
	}
	from, log, err := s.Log(ctx, rev)
	if err != nil {
		return fmt.Errorf("%w: %v", api.ErrUnavailable, err)
	}
	report := verify.Check(verify.Input{Records: records, Log: log, Now: c.now()})
	return c.showReport(report, from, rev)
}

// showReport prints what was found.
func (c *cli) showReport(r verify.Report, from, rev int64) error {
	err := c.print(struct {
		verify.Report
		From     int64 `json:"from_revision"`
		Revision int64 `json:"revision"`
	}{r, from, rev}, func(p *page) {
		for _, v := range r.Violations {
			fmt.Fprintf(p.out, "BROKEN %d  %s at revision %d: %s\n", v.Invariant, v.Subject, v.Revision, v.Text)
		}
		for _, n := range r.Notes {
			fmt.Fprintf(p.out, "note: %s\n", n)
		}
		fmt.Fprintf(p.out, "%d jobs, %d runs, %d slots and %d changes (revisions %d to %d) looked at: %d invariants broken\n",
			r.Jobs, r.Runs, r.Slots, r.Changes, from, rev, len(r.Violations))
	})
	if err == nil && len(r.Violations) > 0 {
		return fmt.Errorf("%d invariants are broken", len(r.Violations))
	}
	return err
}
