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
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
	"github.com/rota-scheduler/rota/scheduler/executor/procs"
	"github.com/rota-scheduler/rota/store"
)

// newServeCommand runs one replica.
func newServeCommand(c *cli) *cobra.Command {
	return newNodeCommand(c, node.Replica, &cobra.Command{
		Use:   "serve",
		Short: "Run one replica: it campaigns, serves the API, and works",
		Long: `Run one replica of a cluster. It campaigns for leadership, serves the API, and executes runs unless worker.enabled is
false. Without etcd.endpoints it is a member of an embedded etcd cluster.

Settings come from flags, ROTA_… variables, --config (ROTA_CONFIG) and defaults, in this order; ` + "`rota config show`" + ` prints them.
SIGTERM resigns and drains; SIGHUP reads the job files again.`,
		Example: "  rota serve --config /etc/rota/q1.yaml",
	})
}

// newWorkerCommand runs a worker only.
func newWorkerCommand(c *cli) *cobra.Command {
	return newNodeCommand(c, node.WorkerOnly, &cobra.Command{
		Use:     "worker",
		Short:   "Run a worker only: it executes runs and never leads",
		Example: "  rota worker --config /etc/rota/worker.yaml",
	})
}

func newNodeCommand(c *cli, role node.Role, cmd *cobra.Command) *cobra.Command {
	file := cmd.Flags().String("config", "", "settings file (ROTA_CONFIG)")
	leash := cmd.Flags().Bool("leash", false, "be a child of rota dev: stop when stdin ends, and leave etcd not before")
	_ = cmd.Flags().MarkHidden("leash")
	config.AddFlags(cmd.Flags())
	cmd.Args = takes()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		outliveReaders()
		c.queueErr()
		set, err := config.LoadSettings(c.settingsFile(*file), cmd.Flags(), c.environ)
		if err != nil {
			return err
		}
		if role == node.WorkerOnly && len(set.Etcd.Endpoints) == 0 {
			return &codedError{exitBadConfig, "set etcd.endpoints to the cluster's etcd", errors.New("a worker needs etcd.endpoints")}
		}
		ctx, cfg := cmd.Context(), node.Config{Role: role, Settings: set}
		if *leash {
			var parentLetGo <-chan struct{}
			ctx, parentLetGo = leashed(ctx, c.in)
			cfg.Drained = func() {
				fmt.Fprint(c.out, drainedLine)
				<-parentLetGo
			}
		}
		reload := make(chan os.Signal, 1)
		signal.Notify(reload, syscall.SIGHUP)
		defer signal.Stop(reload)
		cfg.Reload = reload
		return c.runNode(ctx, cfg)
	}
	return cmd
}

// drainedLine is what a child of `rota dev` says when it needs etcd no more.
const drainedLine = "drained\n"

// leashed returns a context that ends with ctx or when in does, and a channel that is closed when in ends: a parent that
// dies, however it does, takes its children with it.
func leashed(ctx context.Context, in io.Reader) (context.Context, <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { // nobody waits for it: nothing but our parent ends a read of stdin, and the process ends without
		_, _ = io.Copy(io.Discard, in)
		close(ended)
		cancel()
	}()
	return ctx, ended
}

// goThreads is how many threads Go lets a process have: it ends one that has more.
const goThreads = 10_000

// runNode runs a node until ctx ends.
func (c *cli) runNode(ctx context.Context, cfg node.Config) error {
	if err := harden(); err != nil {
		return err
	}
	log := newLogger(c.lines, cfg.Settings)
	for _, w := range cfg.Settings.Warnings {
		log.Warn(w)
	}
	if nanny, err := os.Executable(); err == nil {
		cfg.Nanny = []string{nanny, "nanny"}
	}
	cfg.Version = buildVersion()
	cfg.Now = wallClock
	cfg.Dying = c.lines.flush
	debug.SetMaxThreads(goThreads + cfg.Settings.Worker.Capacity) // each command that is at work takes one
	sparing, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { node.SpareMemory(sparing) })
	err := node.Run(ctx, cfg, log)
	stop()
	wg.Wait()
	var taken *node.NameTakenError
	var restored *store.RestoredError
	switch {
	case errors.As(err, &restored):
		return &codedError{exitFailed, "start it again: it waits until the store is accepted with `rota accept-restored-store`", err}
	case errors.As(err, &taken):
		return &codedError{exitBadConfig, "give each process a node.name of its own", err}
	}
	return err
}

// newLogger returns a logger that waits for nobody, and that tells of lines that were dropped as it does of everything else.
func newLogger(l *lineQueue, set config.Settings) hclog.Logger {
	opts := hclog.LoggerOptions{
		Name:       "rota",
		Level:      hclog.LevelFromString(string(set.Log.Level)),
		JSONFormat: set.Log.Format == "json",
		Output:     l,
		TimeFormat: "2006-01-02T15:04:05.000Z07:00",
	}
	straight := opts
	straight.Level, straight.Output = hclog.Warn, l.to
	teller := hclog.New(&straight)
	l.setTell(func(lines int) { teller.Warn("log lines were dropped: nobody took them in time", "lines", lines) })
	return hclog.New(&opts)
}

// newNannyCommand is the process that kills what a killed worker leaves behind.
func newNannyCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:    "nanny SESSION",
		Short:  "Kill what a worker leaves behind (started by the worker itself)",
		Hidden: true,
		Args:   takes("SESSION"),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "" {
				return fmt.Errorf("no session")
			}
			procs.Nanny(c.in, args[0])
			return cgroups.Sweep()
		},
	}
}
