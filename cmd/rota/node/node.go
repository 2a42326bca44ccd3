package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/command"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	httpexec "github.com/rota-scheduler/rota/scheduler/executor/http"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify/send"
	"github.com/rota-scheduler/rota/scheduler/planner"
	"github.com/rota-scheduler/rota/scheduler/worker"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/store/embedded"
)

// Role says what a node takes part in.
type Role int

// The roles.
const (
	Replica    Role = iota // campaigns, serves the API, and works unless the settings say otherwise
	WorkerOnly             // executes attempts, and nothing else
)

// Config is what a node is made from.
type Config struct {
	Role     Role
	Settings config.Settings
	Version  api.VersionView
	Handlers map[string]handler.Func // Go functions that jobs may name
	Nanny    []string                // argv of the process that cleans up after this one; empty: none
	// StopMargin and StopPatience are how long the leader waits for attempts that go on after their timeout, as
	// planner.Config says; its defaults if zero.
	StopMargin, StopPatience time.Duration
	// Reload tells that the job files are to be read again, besides when they change. May be nil.
	Reload <-chan os.Signal
	// Now is the wall clock that this node decides by; time.Now if nil. Leases and deadlines keep to the monotonic clock,
	// and what Now returns carries the reading of it.
	Now func() time.Time
	// Drained is called when the node stops and has nothing left to write, before it leaves the store. May be nil.
	Drained func()
	// Dying is called when an embedded etcd is about to end the process, after it has logged why. May be nil.
	Dying func()
	// Ready is called once the node answers. May be nil.
	Ready func(*Node)
}

// Node is a running process.
type Node struct {
	cfg     Config
	set     config.Settings
	log     hclog.Logger
	now     func() time.Time
	started time.Time
	// stopping is since when it stops because it was told to; zero: it was not.
	stopping time.Time

	client    *clientv3.Client
	password  string           // with which client was made
	member    *embedded.Server // nil with an etcd of its own
	choice    *endpoints       // nil if there is none
	store     *store.Store
	mirror    *store.Mirror
	elector   *election.Elector    // nil for a worker
	scheduler *scheduler.Scheduler // nil for a worker
	worker    *worker.Worker       // nil if it does not work
	files     *files               // nil without job files
	services  *send.Services       // nil for a worker
	memory    *memory
	space     *space
	metrics   *metrics
	backend   *backend
	server    *api.Server
	replica   *presence // nil for a worker
	clocks    *clocks
}

// presenceTTL is how long the presence of a process that died lasts. Workers that are gone for so long are lost.
const presenceTTL = 5 * time.Second

// workerTTL is the longest time for which a worker that died is still present. When etcd's leader dies with it, the next one
// gives every lease its full time again, after an election of up to two seconds: 8.4 s have been measured. It has room for
// a second election.
const workerTTL = 3 * presenceTTL

// Run is a node's whole life: until ctx ends, or something fails that waiting does not mend.
func Run(ctx context.Context, cfg Config, log hclog.Logger) (err error) {
	n := &Node{cfg: cfg, set: cfg.Settings, log: log, now: cfg.Now, started: time.Now().UTC()}
	if n.now == nil {
		n.now = time.Now
	}
	var stops closers
	defer func() { err = errors.Join(err, stops.close()) }()

	ln, err := api.Listen(n.set.HTTP.Listen)
	if err != nil {
		return err
	}
	stops.add("close listener", ln.Close)
	n.set.HTTP.Advertise = advertised(n.set.HTTP, ln.Addr())
	if n.cfg.Role == Replica && n.set.Jobs != "" {
		n.files = openFiles(n)
	}
	if err := os.MkdirAll(n.set.Node.DataDir, 0o700); err != nil {
		return badConfig(fmt.Errorf("make node.data_dir: %w", err))
	}
	lock, err := lockDataDir(n.set.Node.DataDir)
	if err != nil {
		return badConfig(err)
	}
	stops.add("unlock node.data_dir", lock.Close)
	if n.memory, err = openMemory(n.set.Node.DataDir); err != nil {
		n.log.Error("a restored store would not be recognised", "err", err)
	}
	n.space = &space{node: n}
	n.metrics = newMetrics(n)
	n.backend = &backend{node: n}
	closeAPI, err := n.serve(ctx, ln, &stops)
	if err != nil {
		return err
	}

	if err := n.connect(ctx, &stops); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	n.store = store.New(store.Config{
		Prefix:  n.set.Etcd.Prefix,
		Process: store.Process(n.set.Node.Name, n.started),
	}, n.client, log.Named("store"))
	stops.add("close store", func() error { n.store.Close(); return nil })
	if n.cfg.Drained != nil {
		stops.add("wait for the others", func() error { n.cfg.Drained(); return nil })
	}
	stops.add("remember the store", n.rememberLast)
	stops.add("end the streams of events", func() error { n.backend.streams.Wait(); return nil })
	stops.add("close the API", closeAPI) // before what it asks
	if err := n.admit(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if err := n.checkName(ctx); err != nil {
		return err
	}
	n.mirror = store.NewMirror(n.store)
	return n.live(ctx, &stops)
}

// live runs everything that needs the store.
func (n *Node) live(ctx context.Context, stops *closers) error {
	background := stops.background(ctx)
	if n.member != nil {
		background("send writes again", n.hurryWrites)
	}
	if n.choice != nil {
		background("doubt what is under way", func(ctx context.Context) error { return n.choice.heed(ctx, n.store.Suspect) })
	}
	background("remember the store", n.remember)
	background("watch the space", n.space.run)
	if n.cfg.Role == Replica {
		background("follow the store", n.mirror.Follow)
		if n.member != nil && n.member.MemberCount() > 1 && n.cfg.Drained == nil {
			stops.add("leave the others the majority", func() error {
				stay(n.mirror, n.set.Node.Name, n.stopping.Add(n.set.Worker.ShutdownGrace+stayBeyond), n.now)
				return nil
			})
		}
		n.services = send.NewServices(send.ServicesConfig{})
		stops.add("wait for notifications", func() error { n.services.Close(); return nil })
		n.scheduler = scheduler.New(planner.Config{
			WorkerTTL: workerTTL, ArmAhead: n.set.Dispatch.Lead(),
			StopMargin: n.cfg.StopMargin, StopPatience: n.cfg.StopPatience,
			Retention: planner.Retention{Success: n.set.History.Success, Failed: n.set.History.Failed, MaxAge: n.set.History.MaxAge},
		}, n.store, n.mirror.Feed(), n.metrics, n.now, n.log.Named("scheduler"))
		background("run the scheduler", n.scheduler.Run)
		n.elector = election.New(election.Config{
			Prefix: n.store.Keys().Election(), Name: n.set.Node.Name, Addr: n.set.HTTP.Advertise, TTL: n.set.Election.TTL,
			Clock: n.clock, Contact: n.store.Heard(),
		}, n.client, n.log.Named("election"))
		n.replica = newPresence(n)
		background("show presence", n.replica.run)
	}
	var err error
	if n.clocks, err = newClocks(n); err != nil {
		return err
	}
	background("measure clocks", n.clocks.run)
	if n.files != nil { // before the worker, which drains even if the files hang
		background("follow the job files", n.files.run)
	}
	if err := n.startWorker(background, stops); err != nil {
		return err
	}
	n.backend.ready.Store(true)
	if n.elector != nil { // last, so that it resigns first
		if n.set.Election.FastTakeover {
			witness := election.NewWitness(election.WitnessConfig{
				Prefix: n.store.Keys().Election(), Name: n.set.Node.Name, Limit: n.store.Keys().Takeover(), Signs: n.store.Keys().Signs(),
			}, n.client, n.log.Named("election"))
			background("watch the leader", witness.Run)
			n.forget(ctx)
		}
		background("campaign", n.campaign)
	}
	stops.add("turn requests away", func() error { n.server.Drain(); return nil })
	if n.cfg.Ready != nil {
		n.cfg.Ready(n)
	}
	select {
	case <-ctx.Done():
		n.stopping = n.now()
		n.log.Info("stopping", "node", n.set.Node.Name)
		return nil
	case err := <-stops.failed():
		return err
	}
}

// startWorker runs the worker, if this node has one.
func (n *Node) startWorker(background starter, stops *closers) error {
	if n.cfg.Role == Replica && !n.set.Worker.Enabled {
		return nil
	}
	funcs := handler.New(n.cfg.Handlers, n.now)
	requests := httpexec.New(httpexec.Config{Version: n.cfg.Version.Version}, n.now)
	groups := n.openGroups()
	stops.add("remove cgroups", groups.Close)
	commands := command.New(command.Config{Environ: os.Environ(), Groups: groups}, n.now)
	exec := executor.NewSet(map[string]executor.Executor{
		"command": commands, "shell": commands, "http": requests, "handler": funcs,
	}, n.now)
	cfg := worker.Config{
		Name: n.set.Node.Name, Addr: n.set.HTTP.Advertise, Version: n.cfg.Version.Version,
		Capacity: n.set.Worker.Capacity, Labels: n.set.Worker.Labels, Handlers: funcs.Names(),
		Limits:  groups.Controllers(),
		DataDir: n.set.Node.DataDir, ShutdownGrace: n.set.Worker.ShutdownGrace,
		NannyCommand: n.cfg.Nanny, StartCheck: command.CheckStart, Observer: n.metrics, Now: n.now, LeaderNow: n.leaderNow,
	}.Defaults()
	if n.cfg.Role == Replica {
		cfg.Known = n.known
	}
	if err := cfg.Validate(); err != nil {
		return badConfig(err)
	}
	journal, err := worker.OpenJournal(filepath.Join(n.set.Node.DataDir, "journal.db"))
	if err != nil {
		return badPlace(err)
	}
	stops.add("close journal", journal.Close)
	stops.add("close http executor", func() error { requests.Close(); return nil })
	n.worker = worker.New(cfg, n.store, sessions{n.store}, exec, journal, n.log.Named("worker"))
	background("work", n.work)
	return nil
}

// work runs the worker.
func (n *Node) work(ctx context.Context) error {
	err := n.worker.Run(ctx)
	if errors.Is(err, worker.ErrNameTaken) {
		return &NameTakenError{Name: n.set.Node.Name}
	}
	return err
}

// known is a definition that the mirror has, if that is not older than rev.
func (n *Node) known(name string, rev int64) (*job.Job, bool) {
	j, ok := n.mirror.Job(name)
	return j, ok && j.Rev >= rev
}

// serve answers requests from now on, until end is called; what needs the store is answered with 503 until it is there.
func (n *Node) serve(ctx context.Context, ln net.Listener, stops *closers) (end func() error, err error) {
	cfg := api.DefaultConfig()
	cfg.Listen, cfg.Version = n.set.HTTP.Listen, n.cfg.Version
	cfg.Version.Node = n.set.Node.Name // by which others of that name find out: checkName
	if host, _, err := net.SplitHostPort(n.set.HTTP.Advertise); err == nil {
		cfg.Hosts = []string{host}
	}
	if cfg.TLS, err = serverTLS(n.set.HTTP.TLS); err != nil {
		return nil, err
	}
	n.server = api.New(cfg, n.backend.parts(), n.log.Named("api"))
	return stops.background(ctx)("serve the API", func(ctx context.Context) error { return n.server.Serve(ctx, ln) }), nil
}

// advertised is where others reach the API: as the settings say, with the port that was found if they leave it open.
func advertised(set config.HTTP, listening net.Addr) string {
	host, port, err := net.SplitHostPort(set.Advertise)
	if err != nil || host == "" {
		return listening.String()
	}
	if _, found, err := net.SplitHostPort(listening.String()); err == nil && port == "0" {
		port = found
	}
	return net.JoinHostPort(host, port)
}
