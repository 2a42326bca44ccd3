package main

import (
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
)

// newEtcdutlCommand returns a command that runs etcd's own etcdutl, which reads and writes the files of a member.
func newEtcdutlCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "etcdutl ARGS...",
		Short: "Run etcd's own etcdutl on the files of a stopped member",
		Long: `Run etcd's own etcdutl, which is part of this binary. ` + "`rota etcdutl help`" + ` lists its commands.

It restores snapshots into a data directory, and reads the files of a member without a process. It calls no cluster. Stop
the replica first, if the files belong to its embedded etcd.`,
		Example: `  rota etcdutl snapshot status backup.db
  rota etcdutl snapshot restore backup.db --data-dir /var/lib/rota/etcd`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && isHelp(args[0]) {
				return cmd.Help()
			}
			// etcdutl does not know the context that a signal ends, so a signal ends the process again.
			signal.Reset(syscall.SIGINT, syscall.SIGTERM)
			utl := &cobra.Command{Use: "etcdutl", Short: "Work on the files of a member of etcd", SilenceErrors: true}
			flags := utl.PersistentFlags()
			flags.DurationVar(&etcdutl.FlockTimeout, "timeout", 10*time.Second,
				"time to wait for the lock of a file; 0 waits for ever")
			flags.StringVarP(&etcdutl.OutputFormat, "write-out", "w", "simple", "fields, json, protobuf, simple or table")
			utl.AddCommand(etcdutl.NewSnapshotCommand(), etcdutl.NewDefragCommand(), etcdutl.NewHashKVCommand(),
				etcdutl.NewMigrateCommand(), etcdutl.NewVersionCommand())
			utl.SetArgs(args)
			return utl.ExecuteContext(cmd.Context())
		},
	}
}
