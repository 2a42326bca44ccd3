package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/cmd/rota/internal/activity"
	"github.com/rota-scheduler/rota/cmd/rota/internal/admission"
	"github.com/rota-scheduler/rota/cmd/rota/internal/authn"
	"github.com/rota-scheduler/rota/cmd/rota/internal/backend"
	"github.com/rota-scheduler/rota/cmd/rota/internal/clocks"
	"github.com/rota-scheduler/rota/cmd/rota/internal/etcdconn"
	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/jobfiles"
	"github.com/rota-scheduler/rota/cmd/rota/internal/listeners"
	"github.com/rota-scheduler/rota/cmd/rota/internal/metrics"
	"github.com/rota-scheduler/rota/cmd/rota/internal/openid"
	"github.com/rota-scheduler/rota/cmd/rota/internal/presence"
	"github.com/rota-scheduler/rota/cmd/rota/internal/rollcall"
	"github.com/rota-scheduler/rota/cmd/rota/internal/tracing"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/executor/command"
	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/scheduler/notify/send"
	"github.com/rota-scheduler/rota/scheduler/worker"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/store/embedded"
)

// Role says which parts a node runs.
type Role int

// The roles.
const (
	Replica    Role = iota // takes part in elections, serves the API, and executes attempts unless the settings say otherwise
	WorkerOnly             // only executes attempts
)

// Config holds the parameters of a node.
type Config struct {
	Role     Role
	Settings config.Settings
	Version  api.VersionView // the zero value stands for BuiltVersion
	Handlers Handlers
	Nanny    []string // argv of the process that cleans up after this process dies; empty: none
	// StopMargin and StopPatience say how long the leader waits for attempts that continue after their timeout; see
	// planner.Config. Zero stands for the default.
	StopMargin, StopPatience time.Duration
	// A signal on Reload makes the node read the job files again. It also reads them when they change. May be nil.
	Reload <-chan os.Signal
	// Reloaded is called after each signal on Reload, once the job files are in force or the attempt has failed. May be nil.
	Reloaded func()
	// Now returns the wall clock by which this node makes decisions; nil stands for time.Now. The results must have a monotonic
	// reading, because leases and deadlines use the monotonic clock.
	Now func() time.Time
	// Drained is called when the node stops and has written everything, before it leaves the store. May be nil.
	Drained func()
	// Dying is called after an embedded etcd has logged a fatal error, and before etcd ends the process. May be nil.
	Dying func()
	// Members returns the present value of etcd.embedded.cluster, which may change while the node runs. Nil or "" stands for the
	// value in Settings. Only used with etcd.embedded.rejoin: auto.
	Members func() string
	// Ready is called once the node answers requests, and its job files are in force or the first attempt has failed. May be nil.
	Ready func(*Node)
}

// Node is a running process.
type Node struct {
	cfg      Config
	set      config.Settings
	log      hclog.Logger
	now      func() time.Time
	started  time.Time
	stopping time.Time // time at which ctx ended; zero: it has not ended

	user      *command.User // of commands; nil: that of this process
	memory    *admission.Memory
	admission *admission.Gatekeeper
	listeners *listeners.Listeners
	conn      *etcdconn.Conn
	client    *clientv3.Client
	store     *store.Store
	mirror    *store.Mirror
	space     *etcdconn.Space
	metrics   *metrics.Metrics
	tracer    *tracing.Tracer // nil without tracing
	backend   *backend.Backend
	activity  *activity.Activity
	server    *api.Server
	authn     *authn.Authenticator // nil while authentication is off
	provider  *openid.Provider     // nil without one
	tokens    *store.Tokens        // in the store
	clocks    *clocks.Clocks
	worker    *worker.Worker       // nil if the node executes no attempts
	outputs   output.Store         // nil if output stays on its worker
	uploads   *output.Uploader     // nil if output stays on this worker
	files     *jobfiles.Files      // nil without job files
	elector   *election.Elector    // nil for a worker
	scheduler *scheduler.Scheduler // nil for a worker
	services  *send.Services       // nil for a worker
	replica   *presence.Replica    // nil for a worker
	calls     *rollcall.Calls      // nil for a worker
	events    *rollcall.Log        // nil for a worker
	lists     memberLists          // of the other replicas

	secretReads chan struct{} // holds a token for each read of a hook's secret
}

// lockPatience is how long Run waits for the lock of the data directory. After a process was killed, a child that it was just
// starting may still hold the lock.
const lockPatience = 2 * time.Second

// Run runs a node until ctx ends, or until a permanent error. IsConfig reports whether a restart cannot resolve the error either.
func Run(ctx context.Context, cfg Config, log hclog.Logger) (err error) {
	n := &Node{
		cfg: cfg, set: cfg.Settings, log: log, now: cfg.Now, started: time.Now().UTC(),
		secretReads: make(chan struct{}, maxSecretReads),
	}
	if n.now == nil {
		n.now = time.Now
	}
	if n.cfg.Version == (api.VersionView{}) {
		n.cfg.Version = BuiltVersion()
	}
	var stops closers
	defer func() { err = errors.Join(err, stops.close()) }()

	if n.user, err = n.runAs(); err != nil {
		return err
	}
	if err := n.openTracer(ctx, &stops); err != nil {
		return err
	}
	ln, err := api.Listen(n.set.HTTP.Listen)
	if err != nil {
		return err
	}
	stops.add("close listener", ln.Close)
	n.set.HTTP.Advertise = advertised(n.set.HTTP, ln.Addr())
	if n.cfg.Role == Replica && n.set.Jobs != "" {
		n.files = jobfiles.New(jobfiles.Config{
			Path: n.set.Jobs, Node: n.set.Node.Name, DataDir: n.set.Node.DataDir, Reload: n.cfg.Reload, Reloaded: n.cfg.Reloaded,
		}, log)
	}
	n.openListeners()
	if err := checkDataDir(n.set.Node.DataDir); err != nil {
		return failure.Config(err)
	}
	lock, err := embedded.LockDir(n.set.Node.DataDir, lockPatience) // two processes must not write the same data directory
	if err != nil {
		return failure.Config(fmt.Errorf("open node.data_dir: %w", err))
	}
	stops.add("unlock node.data_dir", lock.Close)
	if n.memory, err = admission.OpenMemory(n.set.Node.DataDir); err != nil {
		n.log.Error("store.json was not read; a restored store stays undetected", "err", err)
	}
	socket, err := n.listenSocket()
	if err != nil {
		return err
	}
	if socket != nil {
		stops.add("close http.socket", socket.Close)
	}
	closeAPI, err := n.serve(ctx, ln, socket, &stops)
	if err != nil {
		return err
	}
	err = n.connect(ctx, &stops)
	if err == nil {
		n.store = store.New(store.Config{
			Prefix:  n.set.Etcd.Prefix,
			Process: store.Process(n.set.Node.Name, n.started),
		}, n.client, log.Named("store"))
		stops.add("close store", func() error { n.store.Close(); return nil })
		if n.cfg.Drained != nil {
			stops.add("wait for the others", func() error { n.cfg.Drained(); return nil })
		}
		stops.add("remember the store", func() error { n.admission.RememberLast(); return nil })
		stops.add("end the streams of events", func() error { n.backend.Wait(); return nil })
		stops.add("close the API", closeAPI) // close the API before the store, from which it reads
		err = n.admit(ctx, stops.failed())
	}
	if err == nil {
		n.followTokens(ctx, &stops)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	if err := n.checkName(ctx); err != nil {
		return err
	}
	return n.live(ctx, &stops)
}

// admit returns when this process may use the store. It returns the error of a part that fails meanwhile.
func (n *Node) admit(ctx context.Context, failed <-chan error) error {
	waiting, cancel := context.WithCancel(ctx)
	var failure error // of a part
	var wg sync.WaitGroup
	wg.Go(func() { // ends with admit
		select {
		case failure = <-failed:
			cancel()
		case <-waiting.Done():
		}
	})
	err := n.admission.Admit(waiting, n.store, n.fatal)
	cancel()
	wg.Wait()
	if failure != nil {
		return failure
	}
	return err
}

// connect opens the connection to etcd, and returns when etcd answers.
func (n *Node) connect(ctx context.Context, stops *closers) (err error) {
	cfg := etcdconn.Config{Etcd: n.set.Etcd, Cluster: func() string { return n.memory.Last().Cluster }}
	if len(n.set.Etcd.Endpoints) == 0 {
		// If the disk is full, an embedded etcd ends. At this point no worker has made room yet.
		if removed, err := worker.MakeRoom(ctx, n.set.Node.DataDir, n.now()); removed > 0 || err != nil {
			n.log.Warn("old output was removed, since there is little room on the disk",
				"dir", n.set.Node.DataDir, "files", removed, "err", err)
		}
		if cfg.Member, err = n.memberConfig(); err != nil {
			return err
		}
	}
	if n.conn, err = etcdconn.Open(ctx, cfg, n.log); err != nil {
		return err
	}
	n.client = n.conn.Client()
	stops.add("close etcd", func() error {
		n.conn.Leave(ctx) // after the worker has drained and its outcomes are in the store
		return n.conn.Close()
	})
	stops.background(ctx)("run etcd", n.conn.Run)
	return n.conn.Await(ctx)
}

// memberConfig returns the settings of this node's etcd member.
func (n *Node) memberConfig() (cfg embedded.Config, err error) {
	e := n.set.Etcd.Embedded
	if e.Cluster == "" && n.set.Origins()["etcd.embedded.peer"] == config.OriginDefault {
		e.Peer = "" // a single member has no peers, and needs no port for peers
	}
	cfg = embedded.Config{
		Name: n.set.Node.Name, Dir: filepath.Join(n.set.Node.DataDir, "etcd"),
		Client: e.Client, Peer: e.Peer, Cluster: e.Cluster, Dying: n.cfg.Dying, Optional: e.TLSOptional,
		Rejoin: e.Rejoin == config.RejoinAuto, Members: n.cfg.Members,
		OthersList: n.lists.others,
	}
	if e.TLS != (config.ClientTLS{}) {
		if cfg.ClientTLS, err = memberTLS(e.TLS, n.set.HTTP.TLS.ClientCA); err != nil {
			return cfg, err
		}
		if e.Cluster != "" || cfg.Peer == "" || strings.HasPrefix(cfg.Peer, "https:") {
			cfg.PeerTLS = cfg.ClientTLS
		}
	}
	if n.memory.Last().Revision > 0 {
		cfg.KnownBy = n.memory.Path()
	}
	return cfg, nil
}
