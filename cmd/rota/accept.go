package main

import (
	"context"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

// newAcceptCommand returns the command that accepts a store that was restored from a backup. The cluster then resumes its work.
func newAcceptCommand(c *cli) *cobra.Command {
	accept := func(ctx context.Context, cl *client.Client, _ []string) (api.RestoredView, error) {
		return cl.AcceptRestored(ctx)
	}
	return &cobra.Command{
		Use:   "accept-restored-store",
		Short: "Accept a store that was restored from a backup",
		Long: `Accept a store that was restored from a backup or replaced.

Replicas and workers stop when their store is older than before, or another one. Runs since the backup are forgotten
then, and the leader may issue a fencing token twice. Check the records of the store first: the documentation says how under
"Back up and restore the store". Then accept the store at any one waiting process. All processes resume.`,
		Example: "  rota accept-restored-store --server http://q1:8470",
		Args:    takes(),
		RunE: c.changing(show(c, accept, func(p *page, v *api.RestoredView) {
			p.line("accepted: etcd cluster %s at revision %d", v.Cluster, v.Revision)
			if v.Lost > 0 {
				p.line("the store is %d revisions behind the latest known one; "+
					"until it passes that, targets that check fencing tokens may reject new runs", v.Lost)
			}
		})),
	}
}
