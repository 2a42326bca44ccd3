package main

import "github.com/spf13/cobra"

// newAcceptCommand lets a cluster go on whose store was restored from a backup.
func newAcceptCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "accept-restored-store",
		Short: "Go on with a store that was restored from a backup",
		Long: `Replicas and workers that find their store older than they have seen it, or another one in its place, wait: runs since the
backup are forgotten, and fencing tokens may be given out a second time. When you have looked at what the store holds
now, accept it at any one process that waits; all of them go on. The manual says under Backup what to look at.`,
		Example: "  rota accept-restored-store --server http://q1:8470",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.changer()
			if err != nil {
				return err
			}
			defer cl.Close()
			v, err := cl.AcceptRestored(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(v, func(p *page) {
				p.line("accepted: etcd cluster %s at revision %d", v.Cluster, v.Revision)
				if v.Lost > 0 {
					p.line("it is %d revisions behind what was seen: until it has passed them, targets that check fencing tokens may refuse new ones", v.Lost)
				}
			})
		},
	}
}
