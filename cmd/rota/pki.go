package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// certificateLife is how long an issued certificate is valid by default.
const certificateLife = 90 * 24 * time.Hour

func newPKICommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pki",
		Short: "Make the certificates of a cluster",
		Long: `Make an authority, and certificates that it signs. A certificate names its owner as rota://CLUSTER/KIND/NAME. It is valid
for servers and for clients. The commands call no cluster.`,
		Example: `  rota pki init --cluster prod --dir pki
  rota pki issue q1 --role replica --host q1.internal --dir pki`,
	}
	return group(cmd, newPKIInitCommand(c), newPKIIssueCommand(c), newPKIKubernetesCommand(c))
}

func newPKIInitCommand(c *cli) *cobra.Command {
	var dir, cluster string
	cmd := &cobra.Command{
		Use:     "init",
		Short:   "Make an authority: ca.crt and ca.key",
		Long:    "Make an authority that is valid for ten years. Keep ca.key away from the machines of the cluster.",
		Example: "  rota pki init --cluster prod --dir pki",
		Args:    takes(),
		RunE: func(*cobra.Command, []string) error {
			if err := pki.CheckCluster(cluster); err != nil {
				return usageError{err.Error(), "choose another name: --cluster prod"}
			}
			if _, err := pki.Init(dir, cluster, c.now()); err != nil {
				return err
			}
			c.printErr("wrote %s and %s", filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "`directory` of the authority")
	cmd.Flags().StringVar(&cluster, "cluster", "rota", "`name` of the cluster")
	return cmd
}

func newPKIIssueCommand(c *cli) *cobra.Command {
	var (
		dir, kind string
		hosts     []string
		life      time.Duration
	)
	cmd := &cobra.Command{
		Use:   "issue NAME",
		Short: "Issue a certificate: NAME.crt and NAME.key",
		Long: `Issue a certificate of the authority in --dir. It replaces an earlier certificate of that name. Replicas and workers
read a renewed certificate by themselves.`,
		Example: `  rota pki issue q1 --role replica --host q1.internal --host 10.0.0.1 --dir pki
  rota pki issue alice --role user --dir pki`,
		Args: takes("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			if life <= 0 {
				return usagef("--life %v is not positive", life)
			}
			authority, err := pki.Load(dir)
			if err != nil {
				return err
			}
			before := pki.Names(dir, args[0])
			if err := authority.Issue(dir, pki.Request{Name: args[0], Kind: kind, Hosts: hosts, Life: life}, c.now()); err != nil {
				return usageError{err.Error(), "use --role replica, worker or user, and a name without slashes"}
			}
			c.printErr("wrote %s and %s", filepath.Join(dir, args[0]+".crt"), filepath.Join(dir, args[0]+".key"))
			after := pki.Names(dir, args[0])
			if gone := slices.DeleteFunc(before, func(n string) bool { return slices.Contains(after, n) }); len(gone) > 0 {
				c.printErr("warning: the earlier certificate was also for %s; repeat the command with the options of the first time, if %s "+
					"needs that", strings.Join(gone, ", "), args[0])
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "`directory` of the authority and of the certificate")
	cmd.Flags().StringVar(&kind, "role", "", "replica, worker or user")
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "`name` or address by which others reach the owner; may be given several times")
	addSpan(cmd.Flags(), &life, "life", certificateLife, "how long the certificate is valid")
	_ = cmd.MarkFlagRequired("role") // the flag exists
	completeFlag(cmd, "role", []string{auth.KindReplica, auth.KindWorker, auth.KindUser})
	return cmd
}
