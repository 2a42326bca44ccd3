package main

import (
	"context"
	"os"
	"sync"

	"github.com/rota-scheduler/rota/cmd/rota/internal/supervisor"
	"github.com/rota-scheduler/rota/cmd/rota/node"
)

// runSupervised runs a process of the cluster until ctx ends, and reports its state to systemd. A signal on reload makes it read
// the job files again.
func (c *cli) runSupervised(ctx context.Context, cfg node.Config, reload <-chan os.Signal) error {
	log := newLogger(c.lines, cfg.Settings)
	systemd := supervisor.New(log.Named("systemd"))
	systemd.Waiting("etcd")
	defer context.AfterFunc(ctx, systemd.Stopping)()
	running, stop := context.WithCancel(context.WithoutCancel(ctx)) // systemd's watchdog also watches a process that drains
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()

	forward := make(chan os.Signal, 1)
	cfg.Reload, cfg.Reloaded = forward, systemd.Ready
	wg.Go(func() {
		for {
			select {
			case <-running.Done():
				return
			case sig := <-reload:
				systemd.Reloading()
				select {
				case forward <- sig:
				default: // a reload that has not begun yet also serves this signal
				}
			}
		}
	})
	cfg.Ready = func(n *node.Node) {
		systemd.Ready()
		wg.Go(func() { systemd.Watch(running, n.Alive) })
	}
	return c.runNode(ctx, cfg, log)
}
