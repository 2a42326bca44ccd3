package sim

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
	"github.com/rota-scheduler/rota/scheduler/worker"
	"github.com/rota-scheduler/rota/store"
)

// The settings of a node that package node fixes, and those of the simulation.
const (
	presenceTTL   = 5 * time.Second
	workerTTL     = 3 * presenceTTL
	electionTTL   = 5 * time.Second
	maxOffset     = 500 * time.Millisecond
	shutdownGrace = 3 * time.Second
	prefix        = "/rota"
)

// process is `rota serve` or `rota worker` from start to end: everything that package node wires below the HTTP interface.
type process struct {
	machine *machine
	world   *world
	log     hclog.Logger
	disk    string
	started time.Time
	ctx     context.Context // ends when the process is asked to stop, or dies
	cancel  context.CancelFunc
	dead    atomic.Bool   // the process was killed: its goroutines may only end
	stalled atomic.Bool   // it was paused while it ended: its timers ran, but everything else stood still
	gone    chan struct{} // closed when it no longer listens at its address
	once    sync.Once     // closes gone
	done    chan struct{} // closed when everything of it has ended

	client    *clientv3.Client
	store     *store.Store
	mirror    *store.Mirror
	scheduler *scheduler.Scheduler
	elector   *election.Elector
	clocks    *clocks
}

func newProcess(m *machine) *process {
	p := &process{
		machine: m, world: m.world, disk: m.disk, started: time.Now().UTC(), gone: make(chan struct{}), done: make(chan struct{}),
		log: m.world.log.Named(m.name), client: m.world.net.connect(m.world.server, m.name),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.store = store.New(store.Config{
		Prefix: prefix, Process: store.Process(m.name, p.started), Clock: m.clock.reading,
	}, p.client, p.log.Named("store"))
	p.mirror = store.NewMirror(p.store)
	if m.replica {
		p.scheduler = scheduler.New(planner.Config{
			WorkerTTL: workerTTL, ArmAhead: config.Dispatch{ArmAhead: m.world.plan.ahead}.Lead(), Retention: m.world.plan.retention,
		}, p.store, p.mirror.Feed(), p, m.now, p.log.Named("scheduler"))
		p.elector = election.New(election.Config{
			Prefix: p.store.Keys().Election(), Name: m.name, Addr: m.addr(), TTL: electionTTL, Clock: m.clock.reading,
			Contact: p.store.QuorumContact(),
		}, p.client, p.log.Named("election"))
	}
	p.clocks = newClocks(p)
	m.world.listen(p)
	return p
}

// die ends the process at once.
func (p *process) die() {
	p.dead.Store(true)
	p.world.ledger.died(p)
	p.hangUp()
	p.cancel()
}

// hangUp makes the process unreachable at its address.
func (p *process) hangUp() { p.once.Do(func() { close(p.gone) }) }

// run is the whole life of the process.
func (p *process) run() {
	defer close(p.done)
	defer p.world.net.disconnect(p.client)
	defer p.close()
	defer p.hangUp()
	var stops stops
	defer stops.run()
	if p.machine.replica {
		p.serve(&stops)
	}
	p.begin(&stops, p.clocks.run)
	if p.machine.capacity > 0 {
		if err := p.work(&stops); err != nil {
			p.world.fail("%s cannot work: %v", p.machine.name, err)
		}
	}
	if p.machine.replica {
		p.stand(&stops)
	}
	<-p.ctx.Done()
}

func (p *process) close() {
	p.store.Close()
	p.world.tally.addStore(p.store.Counts())
}

// serve starts what every replica does, leader or not.
func (p *process) serve(stops *stops) {
	p.begin(stops, p.mirror.Follow)
	p.begin(stops, p.scheduler.Run)
	p.begin(stops, p.present)
}

// stand starts the campaign of the replica.
func (p *process) stand(stops *stops) {
	witness := election.NewWitness(election.WitnessConfig{
		Prefix: p.store.Keys().Election(), Name: p.machine.name, Limit: p.store.Keys().Takeover(), Signs: p.store.Keys().Presences(),
		LastSign: p.store.Keys().LastSign, Await: p.world.awaitDeath,
		Answers: func(_ context.Context, addr string) bool { return p.world.listener(addr) != nil },
	}, p.client, p.log.Named("election"))
	p.begin(stops, witness.Run)
	_, _ = election.RemoveStale(p.ctx, p.client, p.store.Keys().Election(), p.machine.name) // keys that it cannot remove expire
	p.begin(stops, p.campaign)
}

// work runs the worker.
func (p *process) work(stops *stops) error {
	cfg := worker.Config{
		Name: p.machine.name, Addr: p.machine.addr(), Capacity: p.machine.capacity, DataDir: p.disk + ".data",
		ShutdownGrace: shutdownGrace, Observer: watcher{p}, LeaderNow: p.clocks.leaderNow,
	}.Defaults()
	if p.machine.replica {
		cfg.Known = p.known
	}
	if err := cfg.Validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil { // a worker without a disk accepts no runs
		return err
	}
	journal, err := worker.OpenJournal(p.disk)
	if err != nil {
		return err
	}
	stops.add(func() { _ = journal.Close() })
	w := worker.New(cfg, skewed{p.store, p.machine.lies}, sessions{p.store}, executor{p}, journal, p.log.Named("worker"))
	p.begin(stops, func(ctx context.Context) error {
		err := w.Run(ctx)
		if p.dead.Load() || p.stalled.Load() {
			return nil
		}
		return err
	})
	return nil
}

// known returns a definition of the mirror, if it is not older than rev.
func (p *process) known(name string, rev int64) (*job.Job, bool) {
	j, ok := p.mirror.Job(name)
	return j, ok && j.Rev >= rev
}

// present keeps the presence of the replica.
func (p *process) present(ctx context.Context) error {
	for ctx.Err() == nil {
		record := job.Replica{Name: p.machine.name, Addr: p.machine.addr(), Started: p.started}
		opening, cancel := context.WithTimeout(ctx, 5*time.Second)
		held, err := p.store.PresentReplica(opening, record, presenceTTL)
		cancel()
		if err != nil {
			sleep(ctx, time.Second)
			continue
		}
		select {
		case <-ctx.Done():
		case <-held.Done():
		}
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		_ = held.Close(closing) // otherwise it expires
		cancel()
		sleep(ctx, time.Second)
	}
	return nil
}

// sessions opens the worker's sessions, as package node does.
type sessions struct{ store *store.Store }

func (s sessions) Open(ctx context.Context, w job.Worker) (worker.Session, error) {
	return s.store.PresentWorker(ctx, w, presenceTTL)
}

func (s sessions) Update(ctx context.Context, of worker.Session, w job.Worker) error {
	w.Session = of.ID()
	return of.(*store.Presence).Update(ctx, w)
}

// stops stops the parts of a process, the last first.
type stops struct{ steps []func() }

func (s *stops) add(end func()) { s.steps = append(s.steps, end) }

func (s *stops) run() {
	for _, step := range slices.Backward(s.steps) {
		step()
	}
}

// begin runs a function in the background until its turn to stop. If the function ends by itself, that is a failure.
func (p *process) begin(stops *stops, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { // the stop below waits for the goroutine
		defer close(done)
		if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			p.world.fail("%s: %v", p.machine.name, err)
		}
	}()
	stops.add(func() { cancel(); <-done })
}

// leads reports whether the process leads by its own status.
func (p *process) leads() bool {
	return p.elector != nil && p.elector.Status().State == election.StateLeader
}

// ended reports whether everything of the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
