package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
)

// Where the replicas of `rota dev` are: the first at these ports of loopback, the next at the following ones.
const (
	devPort        = 8470
	devClientPort  = 23790
	devPeerPort    = 23890
	devMaxReplicas = 9
)

// devHistory is how many runs of each job are kept: on one machine, to look at, more than a cluster would.
const devHistory = 1000

// devGrace is how long running attempts get when `rota dev` ends.
const devGrace = 3 * time.Second

// dev is everything on one machine.
type dev struct {
	cli      *cli
	replicas int
	jobs     string
	dataDir  string
	level    string
}

// newDevCommand runs everything on one machine.
func newDevCommand(c *cli) *cobra.Command {
	d := &dev{cli: c}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Everything on one machine, with embedded etcd: the quickest start",
		Long: `Run everything on this machine, with embedded etcd: one replica in this process, or several real replica processes on
loopback, of which any may be killed. It shows who leads, which jobs there are, and a line for each run. Ctrl-C ends it, and
so does the end of its terminal; the next start goes on where it stopped. Its settings are its own: ROTA_… variables are left out.`,
		Example: `  rota dev --jobs jobs.yaml
  rota dev --replicas 3 --jobs jobs.d`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&d.replicas, "replicas", 1, "real replica processes to run")
	cmd.Flags().StringVar(&d.jobs, "jobs", "", "job `file` or directory; it is followed while rota dev runs")
	cmd.Flags().StringVar(&d.dataDir, "data-dir", "", "directory for the data (default $XDG_STATE_HOME/rota/dev)")
	cmd.Flags().StringVar(&d.level, "log-level", "warn", "trace, debug, info, warn or error")
	return cmd
}

func (d *dev) run(ctx context.Context) error {
	if d.replicas < 1 || d.replicas > devMaxReplicas {
		return usagef("--replicas %d: use 1 to %d", d.replicas, devMaxReplicas)
	}
	if unused := config.Variables(d.cli.environ); len(unused) > 0 {
		d.cli.note("rota dev makes its own settings, and leaves out %s", strings.Join(unused, ", "))
	}
	if d.dataDir == "" {
		state := d.cli.getenv("XDG_STATE_HOME")
		if home := d.cli.getenv("HOME"); state == "" && home != "" {
			state = filepath.Join(home, ".local", "state")
		}
		if state == "" {
			return usageError{"there is no place for the data: neither XDG_STATE_HOME nor HOME is set", "name a directory with --data-dir"}
		}
		d.dataDir = filepath.Join(state, "rota", "dev")
	}
	var err error
	if d.dataDir, err = filepath.Abs(d.dataDir); err != nil {
		return err
	}
	files := ""
	if d.jobs != "" {
		set, err := config.LoadJobs([]string{d.jobs})
		if err != nil {
			return err
		}
		files = set.Hash
		if d.jobs, err = filepath.Abs(d.jobs); err != nil {
			return err
		}
	}
	if err := d.checkPorts(); err != nil {
		return err
	}
	d.cli.queueErr()
	ctx, reload, end := d.cli.untilHangup(ctx)
	defer end()
	defer context.AfterFunc(ctx, func() { d.cli.note("stopping; runs get %s to end", devGrace) })()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	console := newConsole(d.cli, d.servers(), files)
	var wg sync.WaitGroup
	wg.Go(func() { console.run(ctx) })
	defer wg.Wait()
	defer stop()
	if d.replicas == 1 {
		return d.runHere(ctx, reload)
	}
	return d.runApart(ctx, reload)
}

// checkPorts makes sure that nobody listens where the replicas will: otherwise the console would show another cluster.
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
		return &codedError{exitFailed, "stop it, if it is another `rota dev`; `rota serve` can be given other ports",
			fmt.Errorf("another process listens on %s", addr)}
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l.Close()
}

// servers are the URLs of all replicas.
func (d *dev) servers() string {
	var urls []string
	for i := range d.replicas {
		urls = append(urls, fmt.Sprintf("http://127.0.0.1:%d", devPort+i))
	}
	return strings.Join(urls, ",")
}

// flags are the settings of replica i, from 0, as the flags of `rota serve`.
func (d *dev) flags(i int) []string {
	name := fmt.Sprintf("q%d", i+1)
	flags := []string{
		"--node-name=" + name,
		// The members of an etcd cluster are fixed when it begins, so each number of replicas has data of its own.
		fmt.Sprintf("--node-data-dir=%s", filepath.Join(d.dataDir, fmt.Sprintf("of-%d", d.replicas), name)),
		fmt.Sprintf("--http-listen=127.0.0.1:%d", devPort+i),
		fmt.Sprintf("--etcd-embedded-client=http://127.0.0.1:%d", devClientPort+i),
		"--worker-shutdown-grace=" + devGrace.String(),
		fmt.Sprintf("--history-success=%d", devHistory),
		"--log-format=text", "--log-level=" + d.level,
	}
	if d.jobs != "" {
		flags = append(flags, "--jobs="+d.jobs)
	}
	if d.replicas > 1 {
		var members []string
		for k := range d.replicas {
			members = append(members, fmt.Sprintf("q%d=http://127.0.0.1:%d", k+1, devPeerPort+k))
		}
		flags = append(flags,
			fmt.Sprintf("--etcd-embedded-peer=http://127.0.0.1:%d", devPeerPort+i),
			"--etcd-embedded-cluster="+strings.Join(members, ","))
	}
	return flags
}

// runHere is one replica in this process.
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
	return d.cli.runNode(ctx, node.Config{Role: node.Replica, Settings: set, Reload: reload})
}

// environ is our environment without settings, which `rota dev` makes itself.
func (d *dev) environ() (kept []string) {
	for _, kv := range d.cli.environ {
		if !strings.HasPrefix(kv, "ROTA_") {
			kept = append(kept, kv)
		}
	}
	return kept
}

// runApart runs every replica as a process of its own, and starts it again when it dies.
func (d *dev) runApart(ctx context.Context, reload <-chan os.Signal) error {
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
			self: self, args: append([]string{"serve", "--leash"}, d.flags(i)...), env: d.environ(),
		}
		wg.Go(func() {
			if err := replicas[i].run(ctx); err != nil {
				fail(err)
			}
		})
	}
	wg.Go(func() { // each counts itself off when it ends, at the latest
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
	var failed *codedError
	if errors.As(context.Cause(ctx), &failed) {
		return failed
	}
	return nil
}
