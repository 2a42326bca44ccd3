// Command peers measures rota beside other programs that run jobs durably, on the same machine in the same minutes.
//
//	make peers
//
// River keeps its jobs in PostgreSQL, and asynq keeps its tasks in Redis. Both servers sync each change to disk before they answer,
// as etcd does. All jobs do nothing. Each round measures every program once, and the ratios compare figures of the same round.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	dir    string // parent of the data of all servers
	bench  string // the program of ../
	rate   int    // runs per second that are due in rota: more than it can do
	rounds int
	warm   time.Duration
	lasts  time.Duration
}

// figure is one measurement.
type figure struct {
	rate   float64 // jobs per second that ran
	micros float64 // processor time of each job, with the server's and with that of its creation, in microseconds
}

// peer is one of the measured programs. version names it and its server.
type peer struct {
	name    string
	measure func(ctx context.Context, o options, dir string) (f figure, version string, err error)
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", os.TempDir(), "where the data goes: it decides what a sync of the disk costs")
	flag.StringVar(&o.bench, "bench", "bin/bench", "the program that measures rota")
	flag.IntVar(&o.rate, "rate", 12_000, "runs per second that are due in rota")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each program is measured")
	flag.DurationVar(&o.warm, "warm", 5*time.Second, "how long each program works before it is measured")
	flag.DurationVar(&o.lasts, "for", 20*time.Second, "how long each program is measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	list := []peer{{"rota", measureRota}, {"River", measureRiver}, {"asynq", measureAsynq}}
	fmt.Println("| round | program | runs/s | processor of each " +
		"| runs/s of rota, as a share of this | processor of rota, as a share of this |")
	fmt.Println("|---|---|---|---|---|---|")
	versions := make([]string, len(list))
	for round := range o.rounds {
		var rota figure
		for i, p := range list {
			f, version, err := isolated(ctx, o, p)
			if err != nil {
				return fmt.Errorf("measure %s: %w", p.name, err)
			}
			if versions[i] = version; i == 0 {
				rota = f
			}
			fmt.Printf("| %d | %s | %.0f | %.0f us | %.2f | %.2f |\n", round+1,
				p.name, f.rate, f.micros, rota.rate/f.rate, rota.micros/f.micros)
		}
	}
	fmt.Println()
	for _, v := range versions {
		fmt.Println(v)
	}
	fmt.Println(time.Now().UTC().Format(time.DateOnly), machine())
	return nil
}

// isolated measures one program with a data directory of its own.
func isolated(ctx context.Context, o options, p peer) (f figure, version string, err error) {
	dir, err := os.MkdirTemp(o.dir, "rota-peers-")
	if err != nil {
		return f, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return p.measure(ctx, o, dir)
}
