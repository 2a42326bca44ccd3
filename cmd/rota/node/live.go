package node

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/backend"
	"github.com/rota-scheduler/rota/cmd/rota/internal/clocks"
	"github.com/rota-scheduler/rota/cmd/rota/internal/etcdconn"
	"github.com/rota-scheduler/rota/cmd/rota/internal/presence"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify/send"
	"github.com/rota-scheduler/rota/scheduler/planner"
	"github.com/rota-scheduler/rota/store"
)

// live runs all parts that need the store, until ctx ends or a part fails.
func (n *Node) live(ctx context.Context, stops *closers) (err error) {
	background := stops.background(ctx)
	n.mirror = store.NewMirror(n.store)
	if n.cfg.Role == Replica {
		n.admission.Cursor = n.mirror.NewestCursor
	}
	background("follow etcd's members", func(ctx context.Context) error { return n.conn.Notify(ctx, n.store) })
	background("watch the store's age", func(ctx context.Context) error { return n.admission.Watch(ctx, n.fatal) })
	background("look where the cluster listens", n.listeners.Run)
	background("watch the space", func(ctx context.Context) error { return n.space.Watch(ctx, n.conn) })
	if n.cfg.Role == Replica {
		n.startReplica(background, stops)
	}
	if err := n.startClocks(background); err != nil {
		return err
	}
	if n.cfg.Role == Replica {
		n.startRollcall(background)
	}
	if n.files != nil { // before the worker, so that the worker drains even if the files hang
		background("follow the job files", n.followFiles)
	} else if n.cfg.Reloaded != nil {
		background("answer reloads", n.answerReloads)
	}
	if err := n.startWorker(background, stops); err != nil {
		return err
	}
	n.openBackend()
	if n.elector != nil { // started last, so that it resigns first
		n.startCampaign(ctx, background)
	}
	stops.add("turn requests away", func() error { n.server.Drain(); return nil })
	if err := n.awaitFiles(ctx, stops.failed()); err != nil {
		return err
	}
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

// filesPatience bounds how long a start waits for the job files: etcd may fail meanwhile.
const filesPatience = 5 * time.Second

// awaitFiles waits until the job files are in force, or until the first attempt has failed. So what is started together with a
// new job file finds its jobs. It returns the error of a part that failed meanwhile.
func (n *Node) awaitFiles(ctx context.Context, failed <-chan error) error {
	if n.files == nil {
		return nil
	}
	select {
	case <-n.files.Tried():
	case <-time.After(filesPatience):
		n.log.Warn("the start goes on without the job files: they cannot be put in force yet", "path", n.set.Jobs)
	case <-ctx.Done():
	case err := <-failed:
		return err
	}
	return nil
}

// answerReloads answers the signals of Reload on a node without job files, which has nothing to read.
func (n *Node) answerReloads(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.cfg.Reload:
			n.cfg.Reloaded()
		}
	}
}

// Alive returns nil if the main loops of this node make progress, whether or not etcd answers. It may hang if they do not.
// Config.Ready passes the node to the caller.
func (n *Node) Alive(ctx context.Context) error {
	if n.worker != nil {
		_ = n.worker.Refuses() // takes the worker's lock
	}
	if n.scheduler == nil {
		return nil
	}
	return n.scheduler.Ping(ctx)
}

// fatal returns an error if this process must restart because of err, an error of etcd. It returns nil if the process may
// continue.
func (n *Node) fatal(err error) error {
	if n.conn.PasswordChanged(err) {
		return etcdconn.ErrPassword
	}
	return nil
}

// startReplica starts the mirror, the scheduler and the presence of a replica. It makes the elector, which startCampaign starts
// later.
func (n *Node) startReplica(background starter, stops *closers) {
	background("follow the store", n.mirror.Follow)
	feed := n.mirror.Feed()
	background("summarize the runs", func(ctx context.Context) error { return n.activity.Run(ctx, feed, n.mirror) })
	if n.cfg.Drained == nil {
		stops.add("leave the others the majority", func() error {
			if n.conn.Members() > 1 { // read now, because members may have joined
				stay(n.mirror, n.set.Node.Name, n.stopping.Add(n.set.Worker.ShutdownGrace+stayBeyond), n.now)
			}
			return nil
		})
	}
	n.services = send.NewServices(send.ServicesConfig{
		Refs: n.references("notify.refs", n.set.Notify.Refs), Reach: n.reach("notify.http", n.set.Notify.HTTP),
	})
	stops.add("wait for notifications", func() error { n.services.Close(); return nil })
	n.scheduler = scheduler.New(planner.Config{
		WorkerTTL: presence.WorkerTTL, ArmAhead: n.set.Dispatch.Lead(),
		StopMargin: n.cfg.StopMargin, StopPatience: n.cfg.StopPatience,
		Retention: planner.Retention{Success: n.set.History.Success, Failed: n.set.History.Failed, MaxAge: n.set.History.MaxAge},
	}, n.store, n.mirror.Feed(), n.observer(), n.now, n.log.Named("scheduler"))
	background("run the scheduler", n.scheduler.Run)
	n.elector = election.New(election.Config{
		Prefix: n.store.Keys().Election(), Name: n.set.Node.Name, Addr: n.set.HTTP.Advertise, TTL: n.set.Election.TTL,
		Clock: func() election.Reading { return clocks.Read(n.now) }, Contact: n.store.QuorumContact(),
	}, n.client, n.log.Named("election"))
	n.replica = presence.NewReplica(job.Replica{
		Name: n.set.Node.Name, Addr: n.set.HTTP.Advertise, Version: n.cfg.Version.Version, Started: n.started, PID: os.Getpid(),
		TLSOptional: n.optionalTLS(),
	}, n.store, n.now, n.log)
	background("show presence", n.replica.Run)
	if n.set.Etcd.Embedded.Cluster != "" && n.conn.Members() > 0 {
		background("compare the lists of members", n.compareLists)
	}
}

// startClocks starts the comparison of the clocks. On a replica, it first waits until the mirror knows the other replicas.
func (n *Node) startClocks(background starter) (err error) {
	cfg := clocks.Config{
		Name: n.set.Node.Name, TLS: n.set.HTTP.TLS, MaxOffset: n.set.Dispatch.MaxClockOffset, Now: n.now, Replicas: n.store.Replicas,
	}
	if n.cfg.Role == Replica {
		cfg.Replicas = func(context.Context) ([]*job.Replica, error) { return n.mirror.Replicas(), nil }
		cfg.Term, cfg.Members = func() int64 { return n.scheduler.Status().Term }, n.conn.MemberNames
	}
	if n.clocks, err = clocks.New(cfg, n.log); err != nil {
		return err
	}
	if n.authn != nil {
		n.authn.UseClock(n.clocks.Corrected)
	}
	background("measure clocks", func(ctx context.Context) error {
		if n.cfg.Role == Replica {
			if err := n.mirror.WaitFor(ctx, 1); err != nil {
				return err
			}
		}
		return n.clocks.Run(ctx)
	})
	return nil
}

// openBackend lets the API answer from the store.
func (n *Node) openBackend() {
	from := backend.Sources{Client: n.client, Endpoints: n.conn.Endpoints(), Store: n.store, Tokens: n.tokens, Clocks: n.clocks}
	if n.worker != nil {
		from.Worker = n.worker
	}
	if n.cfg.Role == Replica {
		from.Mirror, from.Scheduler, from.Elector = n.mirror, n.scheduler, n.elector
		from.Calls, from.Log, from.Members = n.calls, n.events, n.conn.MemberNames
		from.Voters = n.conn.Voters
	}
	n.backend.Open(from)
}

// startCampaign starts the election. If the settings allow a fast takeover, it also starts the watch of the leader's process.
func (n *Node) startCampaign(ctx context.Context, background starter) {
	if n.set.Election.FastTakeover {
		witness := election.NewWitness(election.WitnessConfig{
			Prefix: n.store.Keys().Election(), Name: n.set.Node.Name, Limit: n.store.Keys().Takeover(), Signs: n.store.Keys().Presences(),
			LastSign: n.store.Keys().LastSign, Await: n.awaitDeath,
		}, n.client, n.log.Named("election"))
		background("watch the leader", witness.Run)
		n.removeStale(ctx)
	}
	background("campaign", n.campaign)
}

// fileReplica implements jobfiles.Replica for this node.
type fileReplica struct{ node *Node }

func (r fileReplica) CatchUp(ctx context.Context) error          { return r.node.catchUp(ctx) }
func (r fileReplica) Now(ctx context.Context) (time.Time, error) { return r.node.clocks.Now(ctx) }
func (r fileReplica) ShowFiles(hash, note string)                { r.node.replica.ShowFiles(hash, note) }

// catchUpTimeout bounds how long catchUp waits for the mirror.
const catchUpTimeout = 10 * time.Second

// catchUp waits until the mirror has the present content of the store.
func (n *Node) catchUp(ctx context.Context) error {
	rev, err := n.store.Revision(ctx)
	if err != nil {
		return err
	}
	return n.awaitMirror(ctx, rev)
}

// awaitMirror waits until the mirror has reached rev.
func (n *Node) awaitMirror(ctx context.Context, rev int64) error {
	waiting, cancel := context.WithTimeoutCause(ctx, catchUpTimeout, errors.New("the watch of the store is behind"))
	defer cancel()
	return n.mirror.WaitFor(waiting, rev)
}

// publicURL returns the URL at which people reach the API of this replica; "" if only this machine can reach it.
func (n *Node) publicURL() string {
	host, _, err := net.SplitHostPort(n.set.HTTP.Advertise)
	if ip := net.ParseIP(host); err != nil || host == "localhost" || ip != nil && ip.IsLoopback() {
		return ""
	}
	if n.set.HTTP.TLS.Cert != "" {
		return "https://" + n.set.HTTP.Advertise
	}
	return "http://" + n.set.HTTP.Advertise
}
