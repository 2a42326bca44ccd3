package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
	"github.com/rota-scheduler/rota/scheduler/executor/procs"
	"github.com/rota-scheduler/rota/store"
)

// newServeCommand returns the command that runs one replica.
func newServeCommand(c *cli) *cobra.Command {
	return newNodeCommand(c, node.Replica, &cobra.Command{
		Use:   "serve",
		Short: "Run a replica: it can lead, serves the API and executes runs",
		Long: `Run one replica of a cluster. It can become the leader, serves the API, and executes runs unless worker.enabled is
false. Without etcd.endpoints it is a member of an embedded etcd cluster.

Settings come from flags, ROTA_… variables, --config (ROTA_CONFIG) and defaults; the first of them wins.
` + "`rota config show`" + ` prints them. On SIGTERM the replica resigns and drains. On SIGHUP it reads the job files again.`,
		Example: "  rota serve --config /etc/rota/q1.yaml",
	})
}

// newWorkerCommand returns the command that runs a worker only.
func newWorkerCommand(c *cli) *cobra.Command {
	return newNodeCommand(c, node.WorkerOnly, &cobra.Command{
		Use:     "worker",
		Short:   "Run a worker: it executes runs and never leads",
		Long:    `Run a worker that executes runs and never leads. It needs etcd.endpoints: the etcd of the cluster.`,
		Example: "  rota worker --config /etc/rota/worker.yaml",
	})
}

func newNodeCommand(c *cli, role node.Role, cmd *cobra.Command) *cobra.Command {
	var file string
	addSettingsFlag(cmd, &file, "settings file (ROTA_CONFIG)")
	leash := cmd.Flags().Bool("leash", false, "run as a child of rota dev: drain when stdin ends, then leave etcd")
	_ = cmd.Flags().MarkHidden("leash")
	config.AddFlags(cmd.Flags())
	cmd.Args = takes()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		surviveBrokenPipes()
		c.queueErr()
		if role == node.WorkerOnly && cmd.Flags().Changed("jobs") { // a settings file may be that of a replica
			return usageError{"worker: --jobs has no effect: replicas read the job files", "give it to `rota serve`"}
		}
		set, err := config.LoadSettings(c.settingsFile(file), cmd.Flags(), c.environ)
		if err != nil {
			return err
		}
		if role == node.WorkerOnly && len(set.Etcd.Endpoints) == 0 {
			hint := "set etcd.endpoints to the cluster's etcd"
			return &codedError{exitBadConfig, hint, errors.New("a worker needs etcd.endpoints")}
		}
		ctx, cfg := cmd.Context(), node.Config{Role: role, Settings: set, Members: c.members(set, file)}
		if *leash {
			var released <-chan struct{}
			ctx, released = leashed(ctx, c.in)
			cfg.Drained = func() {
				fmt.Fprint(c.out, drainedLine)
				<-released
			}
		}
		reload := make(chan os.Signal, 1)
		signal.Notify(reload, syscall.SIGHUP)
		defer signal.Stop(reload)
		return c.runSupervised(ctx, cfg, reload)
	}
	return cmd
}

// members returns a function that reads etcd.embedded.cluster from the settings file again. While the file has no readable value,
// the function returns the one that it read last, and "" if there is none. members returns nil if the value does not come from a
// file.
func (c *cli) members(set config.Settings, file string) func() string {
	if set.Origins()["etcd.embedded.cluster"] != config.OriginFile {
		return nil
	}
	path := c.settingsFile(file)
	var last atomic.Value
	last.Store("")
	return func() string {
		if now, err := config.LoadEtcd(path, c.environ); err == nil && now.Embedded.Cluster != "" {
			last.Store(now.Embedded.Cluster)
		}
		return last.Load().(string)
	}
}

// drainedLine is the line that a child of `rota dev` prints when it has drained. From then on the child does not need etcd.
const drainedLine = "drained\n"

// leashed returns a context that ends with ctx or at the end of in, and a channel that is closed at the end of in. The parent
// process holds the other end of in. So a child ends even if its parent is killed.
func leashed(ctx context.Context, in io.Reader) (context.Context, <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { // lives until the process ends, if not earlier: only the parent can end a read of stdin
		_, _ = io.Copy(io.Discard, in)
		close(ended)
		cancel()
	}()
	return ctx, ended
}

// goThreads is the default limit of threads in a Go process. The Go runtime ends a process that exceeds the limit.
const goThreads = 10_000

// runNode runs a process of the cluster until ctx ends.
func (c *cli) runNode(ctx context.Context, cfg node.Config, log hclog.Logger) error {
	if err := harden(); err != nil {
		return err
	}
	for _, w := range cfg.Settings.Warnings {
		log.Warn(w)
	}
	if nanny, err := os.Executable(); err == nil {
		cfg.Nanny = []string{nanny, "nanny"}
	}
	cfg.Now = wallClock
	cfg.Dying = c.lines.flush
	debug.SetMaxThreads(goThreads + cfg.Settings.Worker.Capacity) // each executing command needs one
	memoryCtx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { node.SpareMemory(memoryCtx, len(cfg.Settings.Etcd.Endpoints) == 0) })
	err := node.Run(ctx, cfg, log)
	stop()
	wg.Wait()
	var taken *node.NameTakenError
	var restored *store.RestoredError
	switch {
	case errors.As(err, &restored):
		hint := "start it again: it waits until `rota accept-restored-store` accepts the store"
		return &codedError{exitFailed, hint, err}
	case errors.As(err, &taken):
		return &codedError{exitBadConfig, "give each process its own node.name", err}
	}
	return err
}

// newLogger returns a logger that never waits for its reader. It logs the number of lines that it dropped.
func newLogger(l *lineQueue, set config.Settings) hclog.Logger {
	opts := hclog.LoggerOptions{
		Name:       "rota",
		Level:      hclog.LevelFromString(string(set.Log.Level)),
		JSONFormat: set.Log.Format == "json",
		Output:     l,
		TimeFormat: "2006-01-02T15:04:05.000Z07:00",
	}
	direct := opts
	direct.Level, direct.Output = hclog.Warn, l.to
	directLog := hclog.New(&direct)
	l.setReport(func(lines int) { directLog.Warn("log lines were dropped: their reader was too slow", "lines", lines) })
	return hclog.New(&opts)
}

// newNannyCommand returns the command of the nanny process. If a worker is killed, its nanny kills the commands that the worker
// had started.
func newNannyCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:    "nanny SESSION",
		Short:  "Kill the commands of a killed worker (a worker starts it)",
		Hidden: true,
		Args:   takes("SESSION"),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "" {
				return errors.New("no session")
			}
			procs.Nanny(c.in, args[0])
			return cgroups.Sweep()
		},
	}
}
