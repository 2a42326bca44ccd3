package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
)

// The loopback ports of the first replica of `rota dev`. Each further replica has the next port.
const (
	devPort        = 8470
	devClientPort  = 23790
	devPeerPort    = 23890
	devMaxReplicas = 9
)

// devHistory is the number of successful runs that are kept per job. It is larger than in a cluster, for people who try rota.
const devHistory = 1000

// devReach lists the networks that jobs of `rota dev` may reach in addition to the default ones.
const devReach = "127.0.0.0/8,::1"

// devGrace is how long running attempts may continue when `rota dev` ends.
const devGrace = 3 * time.Second

// dev runs a whole cluster on one machine.
type dev struct {
	cli      *cli
	replicas int
	jobs     string
	dataDir  string
	level    string
	guard    devGuard
}

// newDevCommand returns the command that runs a whole cluster on one machine.
func newDevCommand(c *cli) *cobra.Command {
	d := &dev{cli: c}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a whole cluster on this machine: the quickest start",
		Long: `Run a whole cluster on this machine, with embedded etcd: one replica in this process, or several replica processes on
loopback, any of which you may kill. It prints the leader, the jobs, and a line for each run.

Ctrl-C or closing the terminal stops it; the next start continues with the same data. It makes its own settings and
ignores ROTA_… variables.

Only the user that starts it has access. It makes a token and certificates in its data directory, where this user's
commands find them. It prints a link that signs a browser in once; ` + "`rota open`" + ` makes another.`,
		Example: `  rota dev --jobs jobs.yaml
  rota dev --replicas 3 --jobs jobs.d`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&d.replicas, "replicas", 1, "number of replica processes")
	cmd.Flags().StringVar(&d.jobs, "jobs", "", "job `file` or directory; changes take effect at once")
	cmd.Flags().StringVar(&d.dataDir, "data-dir", "", "directory for the data (default $XDG_STATE_HOME/rota/dev)")
	cmd.Flags().StringVar(&d.level, "log-level", "warn", "trace, debug, info, warn or error")
	return cmd
}

func (d *dev) run(ctx context.Context) error {
	if d.replicas < 1 || d.replicas > devMaxReplicas {
		return usagef("--replicas %d: use 1 to %d", d.replicas, devMaxReplicas)
	}
	if unused := config.Variables(d.cli.environ); len(unused) > 0 {
		d.cli.printErr("rota dev makes its own settings and ignores %s", strings.Join(unused, ", "))
	}
	files, err := d.resolvePaths()
	if err != nil {
		return err
	}
	if err := d.checkPorts(); err != nil {
		return err
	}
	if err := d.protect(); err != nil {
		return err
	}
	defer d.guard.withdraw()
	d.cli.queueErr()
	ctx, reload, end := d.cli.untilHangup(ctx)
	defer end()
	defer context.AfterFunc(ctx, func() { d.cli.printErr("stopping; runs have %s to end", devGrace) })()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	console := newConsole(d.cli, strings.Join(d.servers(), ","), d.guard.token(), files)
	var wg sync.WaitGroup
	wg.Go(func() { console.run(ctx) })
	defer wg.Wait()
	defer stop()
	if d.replicas == 1 {
		return d.runHere(ctx, reload)
	}
	return d.runProcesses(ctx, reload)
}

// resolvePaths makes the paths of the data and the job files absolute. It returns the hash of the job files, "" for none.
func (d *dev) resolvePaths() (hash string, err error) {
	if d.dataDir == "" {
		state := d.cli.stateDir()
		if state == "" {
			const msg = "no directory for the data: neither XDG_STATE_HOME nor HOME is set"
			return "", usageError{msg, "name a directory with --data-dir"}
		}
		d.dataDir = filepath.Join(state, "dev")
	}
	if d.dataDir, err = filepath.Abs(d.dataDir); err != nil || d.jobs == "" {
		return "", err
	}
	set, err := config.LoadJobs([]string{d.jobs})
	if err != nil {
		return "", err
	}
	d.jobs, err = filepath.Abs(d.jobs)
	return set.Hash, err
}

// checkPorts returns an error if another process uses a port of the replicas. Without this check, the console would show the
// cluster of that process.
func (d *dev) checkPorts() error {
	first := []int{devPort, devClientPort}
	if d.replicas > 1 {
		first = append(first, devPeerPort)
	}
	for _, port := range first {
		for i := range d.replicas {
			if err := checkFree(fmt.Sprintf("127.0.0.1:%d", port+i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkFree(addr string) error {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return &codedError{exitFailed, "stop the other `rota dev`, or use `rota serve` with other ports",
			fmt.Errorf("another process listens on %s", addr)}
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l.Close()
}

// servers returns the URLs of all replicas.
func (d *dev) servers() []string { return joined("http", devPort, d.replicas) }

// protect keeps the other users of the machine away.
func (d *dev) protect() error {
	d.guard = devGuard{dir: d.dataDir, state: d.cli.stateDir(), plain: madePlain(d.dataDir, d.replicas)}
	if d.guard.plain {
		d.cli.printErr("etcd answers every user of this machine, because an older version made the data in %s; "+
			"for protected replicas, start with another --data-dir", d.dataDir)
	} else if err := markEncrypted(d.dataDir, d.replicas); err != nil {
		return err
	}
	if err := d.guard.make(devPrincipal(), replicaNames(d.replicas), d.cli.now()); err != nil {
		return err
	}
	if err := d.guard.configure(joined(d.guard.scheme(), devClientPort, d.replicas)); err != nil {
		return err
	}
	if err := d.guard.publish(d.servers()); err != nil {
		d.cli.printErr("commands need --token-file %s here, since the home directory does not tell them: %v", d.guard.token(), err)
	}
	return nil
}

// flags returns the settings of replica i, from 0, as flags of `rota serve`.
func (d *dev) flags(i int) []string {
	name := fmt.Sprintf("q%d", i+1)
	flags := []string{
		"--node-name=" + name,
		// An etcd cluster has fixed members. So each number of replicas has a data directory of its own.
		fmt.Sprintf("--node-data-dir=%s", filepath.Join(d.dataDir, fmt.Sprintf("of-%d", d.replicas), name)),
		fmt.Sprintf("--http-listen=127.0.0.1:%d", devPort+i),
		fmt.Sprintf("--etcd-embedded-client=%s://127.0.0.1:%d", d.guard.scheme(), devClientPort+i),
		"--worker-shutdown-grace=" + devGrace.String(),
		"--worker-http-allow=" + devReach, "--notify-http-allow=" + devReach, // the targets are on this machine, too
		fmt.Sprintf("--history-success=%d", devHistory),
		"--log-format=text", "--log-level=" + d.level,
	}
	flags = append(flags, d.guard.flags(name)...)
	if d.jobs != "" {
		flags = append(flags, "--jobs="+d.jobs)
	}
	if d.replicas > 1 {
		var members []string
		for k := range d.replicas {
			members = append(members, fmt.Sprintf("q%d=%s://127.0.0.1:%d", k+1, d.guard.scheme(), devPeerPort+k))
		}
		flags = append(flags,
			fmt.Sprintf("--etcd-embedded-peer=%s://127.0.0.1:%d", d.guard.scheme(), devPeerPort+i),
			"--etcd-embedded-cluster="+strings.Join(members, ","))
	}
	return flags
}

// runHere runs one replica in this process.
func (d *dev) runHere(ctx context.Context, reload <-chan os.Signal) error {
	serve := &cobra.Command{}
	config.AddFlags(serve.Flags())
	if err := serve.ParseFlags(d.flags(0)); err != nil {
		return err
	}
	set, err := config.LoadSettings("", serve.Flags(), d.environ())
	if err != nil {
		return err
	}
	return d.cli.runNode(ctx, node.Config{Role: node.Replica, Settings: set, Reload: reload}, newLogger(d.cli.lines, set))
}

// environ returns the environment without the variables of settings, because `rota dev` chooses the settings itself. It is not nil:
// a process with a nil environment would inherit those variables.
func (d *dev) environ() []string {
	return slices.DeleteFunc(slices.Clone(d.cli.environ), func(kv string) bool { return strings.HasPrefix(kv, "ROTA_") })
}

// runProcesses runs each replica as a process of its own, and restarts it after its death.
func (d *dev) runProcesses(ctx context.Context, reload <-chan os.Signal) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own program: %w", err)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	replicas := make([]*replica, d.replicas)
	var wg, drained sync.WaitGroup
	drained.Add(len(replicas))
	all := make(chan struct{})
	for i := range replicas {
		replicas[i] = &replica{
			name: fmt.Sprintf("q%d", i+1), cli: d.cli, drained: &drained, all: all,
			self: self, args: append([]string{"serve", "--leash"}, d.flags(i)...), environ: d.environ(),
		}
		wg.Go(func() {
			if err := replicas[i].run(ctx); err != nil {
				fail(err)
			}
		})
	}
	wg.Go(func() { // this goroutine always ends: a replica that ends counts as drained
		drained.Wait()
		close(all)
	})
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-reload: // read the job files again
				for _, r := range replicas {
					r.signal(syscall.SIGHUP)
				}
			}
		}
	})
	wg.Wait()
	if failed, ok := errors.AsType[*codedError](context.Cause(ctx)); ok {
		return failed
	}
	return nil
}
