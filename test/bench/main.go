package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/node"
)

// options are the options of every benchmark.
type options struct {
	dir     string        // parent of the data directory, which is created and removed
	members int           // nodes, each with an etcd member
	limit   time.Duration // length of the measurement of etcd's own limit; 0: none
	profile string        // file for a CPU profile of the measured time; "": none
	heap    string        // file for a heap profile; "": none
	verbose bool

	stopSpare func() // see spareMemory
}

// benchmark is one of the commands.
type benchmark struct {
	name, usage string
	flags       func(*flag.FlagSet)
	run         func(context.Context, *options) error
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	list := []benchmark{throughput(), herd(), workflow(), scale(), idle(), pages(), open(), delayed(), alone(), floor(), requests(), coreCost()}
	if len(args) > 0 {
		if i := slices.IndexFunc(list, func(b benchmark) bool { return b.name == args[0] }); i >= 0 {
			return list[i].start(ctx, args[1:])
		}
	}
	for _, b := range list {
		fmt.Fprintf(os.Stderr, "bench %-12s %s (-h for its flags)\n", b.name, b.usage)
	}
	return flag.ErrHelp
}

func (b benchmark) start(ctx context.Context, args []string) (err error) {
	var o options
	flags := flag.NewFlagSet("bench "+b.name, flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", os.TempDir(), "where the data goes: it decides what a sync of the disk costs")
	flags.IntVar(&o.members, "members", 1, "nodes, each with an etcd member of one cluster")
	flags.DurationVar(&o.limit, "limit", 2*time.Second, "how long etcd's own limit is measured; 0: not at all")
	flags.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the measured time to this file")
	flags.StringVar(&o.heap, "heapprofile", "", "write a heap profile to this file")
	flags.BoolVar(&o.verbose, "v", false, "show the nodes' log")
	b.flags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.dir, err = os.MkdirTemp(o.dir, "rota-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	o.spareMemory(ctx)
	defer func() { o.stopSpare() }()
	return b.run(ctx, &o)
}

// spareMemory adapts the garbage collector as command rota does, until stopSpare is called.
func (o *options) spareMemory(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { node.SpareMemory(ctx, true) })
	o.stopSpare = func() { cancel(); wg.Wait() }
}

// profiled writes a CPU profile until the returned function is called, if the option is set.
func (o *options) profiled() (func(), error) {
	if o.profile == "" {
		return func() {}, nil
	}
	f, err := os.Create(o.profile)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { pprof.StopCPUProfile(); _ = f.Close() }, nil
}

// heapProfile writes a heap profile, if the option is set.
func (o *options) heapProfile() error {
	if o.heap == "" {
		return nil
	}
	f, err := os.Create(o.heap)
	if err != nil {
		return err
	}
	runtime.GC()
	return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
}
