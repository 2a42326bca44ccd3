package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/time/rate"

	"github.com/rota-scheduler/rota/cmd/rota/internal/activity"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/doctor"
	"github.com/rota-scheduler/rota/store"
)

// Config holds the parameters of a Backend that are known at its start.
type Config struct {
	Node       string // the name of this process
	Addr       string // address at which other processes reach its API
	Prefix     string // prefix of the keys in etcd
	Version    api.VersionView
	TLS        config.ServerTLS
	WorkerOnly bool             // the process is no replica
	Works      bool             // the process has a worker
	Now        func() time.Time // the process's clock
	Metrics    http.Handler
	Space      Space
	Admission  Admission
	Activity   *activity.Activity // nil in a worker
	Bounds     config.Bounds
	// Refused is called for each request that a bound refuses: "job", "waiting", "jobs" or "space".
	Refused func(bound string)
	// Secret returns the value of the reference to a hook's secret; nil in a worker. Its errors do not contain the value.
	Secret func(ref string) (string, error)
	// Delivered is called for each delivery to a hook, with its result; nil in a worker.
	Delivered func(result string)
	// StoredLog opens the output of an attempt in output.store. The error is fs.ErrNotExist if it is not there. nil: there is none.
	StoredLog func(ctx context.Context, run string, attempt int) (io.ReadCloser, error)
	// AuthMistake returns why the auth.file on the disk is not in force; nil if it is. The field may be nil.
	AuthMistake func() *Trouble
	// Examine examines the cluster from this process; nil in a worker.
	Examine func(ctx context.Context) (doctor.Report, error)
	// ProviderTrouble returns why the OpenID provider cannot be used; nil if it can. The field may be nil.
	ProviderTrouble func() *Trouble
	Issuer          string // of the OpenID provider
}

// Trouble says why a part of the authentication does not work as the settings want it.
type Trouble struct {
	Text  string
	Since time.Time
}

// Sources holds the parts from which a Backend answers. They exist only once there is a store. A worker has no Mirror, Scheduler
// and Elector.
type Sources struct {
	Client    *clientv3.Client
	Endpoints []string // endpoints of etcd's members
	Store     *store.Store
	Mirror    *store.Mirror
	Clocks    Clocks
	Scheduler Scheduler
	Elector   Elector
	Worker    Worker // nil if the process executes nothing
	Tokens    *store.Tokens
	Calls     Calls
	Log       Log
	Members   func() []string // the names of the embedded etcd's members; nil without an embedded etcd
	Voters    func() int      // the number of its voting members, with those that have never started
}

// Space reports how full etcd is.
type Space interface {
	Used() (used, quota int64) // bytes of records; 0: unknown
	Fill() (size, quota int64, full bool)
	NearlyFull() bool      // it is time to make room
	Unavailable() []string // endpoints of members that do not answer
	Check(ctx context.Context) error
}

// Admission reports whether a restored store waits to be accepted, and accepts it.
type Admission interface {
	Restored() *store.RestoredError // nil: no restored store waits
	Accept(ctx context.Context, now time.Time, by string) (store.Observation, error)
}

// Clocks compares this process's clock with the clocks of the replicas.
type Clocks interface {
	Now(ctx context.Context) (time.Time, error) // the time to record for a change that is made now
	Corrected(now time.Time) time.Time          // the leader's time when this process's clock shows now
	Trusted() error
	Tolerance() time.Duration // see election.Offset.Beyond
	Views() []api.ClockView
}

// Scheduler dispatches while this process leads.
type Scheduler interface {
	Status() scheduler.Status
	InvalidSchedules() map[string]error // by name of the job
}

// Elector is a candidate in the election of the leader.
type Elector interface {
	Status() election.Status
}

// Worker executes attempts.
type Worker interface {
	Refuses() error // why the worker takes no new runs; nil: it takes them
	Log(run string, attempt int) (io.ReadCloser, error)
	Follow(ctx context.Context, run string, attempt int, w io.Writer, over func() (bool, error)) error
}

// Backend answers requests to the API. Until Open is called, it answers that there is no store.
type Backend struct {
	cfg Config

	ready atomic.Bool // true after Open; the fields below must not be read before

	client    *clientv3.Client
	endpoints []string
	store     *store.Store
	mirror    *store.Mirror
	intake    *store.Intake
	clocks    Clocks
	scheduler Scheduler
	elector   Elector
	worker    Worker
	tokens    *store.Tokens
	calls     Calls
	log       Log

	memberNames func() []string
	voters      func() int
	found       findings
	load        load
	naming      chan struct{} // has room for the one request that checks names in definitions; see lockNames

	streams sync.WaitGroup // counts the streams of events, which end with their requests
	hub     *hub           // their source
	past    *rate.Limiter  // of the bytes that they read of the past
}

// findings are what attention last found about jobs.
type findings struct {
	mu    sync.Mutex
	at    time.Time        // guarded by mu
	took  time.Duration    // guarded by mu: to find them
	items []attention.Item // guarded by mu
}

var (
	_ api.Replica  = (*Backend)(nil)
	_ api.Logs     = (*Backend)(nil)
	_ api.Events   = (*Backend)(nil)
	_ api.Restorer = (*Backend)(nil)
	_ api.Trail    = (*Backend)(nil)
	_ api.Tokens   = (*Backend)(nil)
	_ api.Hooks    = (*Backend)(nil)
	_ api.Importer = (*Backend)(nil)
	_ api.Examiner = (*Backend)(nil)
)

// New returns a Backend without a store.
func New(cfg Config) *Backend {
	return &Backend{
		cfg: cfg, hub: newHub(), past: rate.NewLimiter(pastPerSecond, store.BriefLog), naming: make(chan struct{}, 1),
	}
}

// Open makes b answer from s. It is called once.
func (b *Backend) Open(s Sources) {
	b.client, b.endpoints, b.store, b.mirror = s.Client, s.Endpoints, s.Store, s.Mirror
	if s.Mirror != nil {
		b.intake = store.NewIntake(s.Store, s.Mirror, b.cfg.Bounds.Waiting)
	}
	b.clocks, b.scheduler, b.elector, b.worker = s.Clocks, s.Scheduler, s.Elector, s.Worker
	b.tokens = s.Tokens
	b.calls, b.log, b.memberNames = s.Calls, s.Log, s.Members
	b.voters = s.Voters
	b.ready.Store(true)
}

// Ready reports whether Open was called.
func (b *Backend) Ready() bool { return b.ready.Load() }

// Wait waits until all streams of events have ended. They end with their requests.
func (b *Backend) Wait() {
	b.streams.Wait()
	b.hub.tasks.Wait()
}

// Parts returns the parts of the API that this process serves.
func (b *Backend) Parts() api.Backend {
	parts := api.Backend{
		Labels: b.labels, Audited: b.audited, Logs: b, Restorer: b, Metrics: b.cfg.Metrics, Clock: b.cfg.Now, Health: b.health(),
	}
	if !b.cfg.WorkerOnly {
		parts.Term, parts.Now, parts.Present = b.term, b.now, b.present
		parts.Replica, parts.Events, parts.Trail, parts.Overview = b, b, b, b
		parts.Importer, parts.Examiner = b, b
		parts.Tokens, parts.Hooks, parts.Age, parts.Addresses = b, b, b.age, b.addresses
		parts.Schemas = map[string]json.RawMessage{
			"Spec": config.RequestSchema(api.KindJob), "LimitSpec": config.RequestSchema(api.KindLimit),
		}
	}
	return parts
}

// labels returns the labels of a job; none if the job is unknown.
func (b *Backend) labels(name string) map[string]string {
	if !b.ready.Load() {
		return nil
	}
	if b.mirror != nil {
		if j, ok := b.mirror.Job(name); ok {
			return j.Spec.Labels
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), labelsTimeout)
	defer cancel()
	j, err := b.store.Job(ctx, name)
	if err != nil {
		return nil
	}
	return j.Spec.Labels
}

// labelsTimeout bounds how long a worker, which has no mirror, reads the labels of a job.
const labelsTimeout = 2 * time.Second

// errNoStore is the answer to requests until there is a store.
var errNoStore = fmt.Errorf("etcd has not answered yet: %w", api.ErrUnavailable)

// term returns the term in which this process leads, 0 if it does not lead.
func (b *Backend) term() int64 {
	if !b.ready.Load() {
		return 0
	}
	return b.scheduler.Status().Term
}

// started returns an error if this process does not use the store yet.
func (b *Backend) started() error {
	if restored := b.cfg.Admission.Restored(); restored != nil {
		return fmt.Errorf("%w: %w", api.ErrHeld, errRestored(restored))
	}
	if !b.ready.Load() {
		return errNoStore
	}
	return nil
}

// up returns an error if there is no mirror yet from which to answer.
func (b *Backend) up() error {
	if err := b.started(); err != nil {
		return err
	}
	if rev, _ := b.mirror.Current(); rev == 0 {
		return fmt.Errorf("the store has not been read yet: %w", api.ErrUnavailable)
	}
	return nil
}
