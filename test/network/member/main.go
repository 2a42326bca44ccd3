package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/store/embedded"
)

func main() {
	cfg := embedded.Config{CompactionRetention: time.Hour} // longer than any test; tests compact by themselves
	flag.StringVar(&cfg.Name, "name", "", "of the member")
	flag.StringVar(&cfg.Dir, "dir", "", "for its data")
	flag.StringVar(&cfg.Client, "client", "", "URL for clients")
	flag.StringVar(&cfg.Peer, "peer", "", "URL for other members")
	flag.StringVar(&cfg.Cluster, "cluster", "", "name=URL of all members, by commas")
	flag.Parse()
	if err := run(cfg); err != nil {
		fmt.Fprintln(os.Stderr, "member:", err)
		os.Exit(1)
	}
}

func run(cfg embedded.Config) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	server, err := embedded.Start(ctx, cfg, hclog.New(&hclog.LoggerOptions{Output: os.Stdout}))
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-server.Done():
	}
	return server.Close()
}
