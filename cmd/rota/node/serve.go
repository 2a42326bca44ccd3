package node

import (
	"context"
	"net"

	"github.com/rota-scheduler/rota/cmd/rota/internal/activity"
	"github.com/rota-scheduler/rota/cmd/rota/internal/admission"
	"github.com/rota-scheduler/rota/cmd/rota/internal/backend"
	"github.com/rota-scheduler/rota/cmd/rota/internal/etcdconn"
	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/metrics"
	"github.com/rota-scheduler/rota/scheduler/api"
)

// serve answers requests until end is called. Until there is a store, it answers 503 to requests that need the store.
func (n *Node) serve(ctx context.Context, ln, socket net.Listener, stops *closers) (end func() error, err error) {
	n.admission = admission.New(n.memory, n.log)
	n.space = etcdconn.NewSpace(n.log)
	n.metrics = metrics.New(metrics.Sources{
		Version: n.cfg.Version, Now: n.now, Space: n.space.Fill, Store: n.storeCounts, Status: n.status,
		Ready:    func() bool { return n.backend.ChecksPass(ctx) },
		Restored: func() bool { return n.admission.Restored() != nil },
		Known:    n.jobKnown(), Runs: n.countRuns, Jobs: n.jobResults(),
		AuthFile: func() bool { return n.authMistake() != nil },
		OpenID:   func() bool { return n.providerTrouble() != nil },
		Tokens:   n.storedTokens,
		Trace:    n.traceOf(),
	})
	n.activity = activity.New()
	parts := backend.Config{
		Node: n.set.Node.Name, Addr: n.set.HTTP.Advertise, Prefix: n.set.Etcd.Prefix, Version: n.cfg.Version, TLS: n.set.HTTP.TLS,
		WorkerOnly: n.cfg.Role == WorkerOnly, Works: n.works(), Now: n.now,
		Metrics: n.metrics.Handler(), Space: n.space, Admission: n.admission, Activity: n.activity,
		Bounds: n.set.Bounds, Refused: n.metrics.Refused, AuthMistake: n.authMistake,
		Secret: n.hookSecret, Delivered: n.metrics.Delivered, ProviderTrouble: n.providerTrouble, Issuer: n.set.Auth.OIDC.Issuer,
	}
	if n.cfg.Role == Replica {
		parts.Examine = n.examine
	}
	if n.outputs, err = n.outputStore(); err != nil {
		return nil, failure.Config(err)
	}
	if n.outputs != nil {
		parts.StoredLog = n.outputs.Open
	}
	n.backend = backend.New(parts)
	cfg := api.DefaultConfig()
	cfg.Listen, cfg.Version, cfg.Refused = n.set.HTTP.Listen, n.cfg.Version, n.metrics.Rejected
	cfg.Version.Node = n.set.Node.Name // checkName reads this name
	cfg.Reads = n.set.Bounds.Reads
	cfg.Hosts = append([]string{n.set.Node.Name}, n.set.HTTP.Hosts...)
	if host, _, err := net.SplitHostPort(n.set.HTTP.Advertise); err == nil {
		cfg.Hosts = append(cfg.Hosts, host)
	}
	if cfg.TLS, err = serverTLS(n.set.HTTP.TLS); err != nil {
		return nil, err
	}
	cfg.Plain = n.set.HTTP.TLS.Optional
	if err := n.openAuth(ctx, &cfg, stops); err != nil {
		return nil, err
	}
	if n.cfg.Role == Replica {
		cfg.Page = page
	}
	var sockets []net.Listener
	if socket != nil {
		sockets = append(sockets, socket)
	}
	n.server = api.New(cfg, n.backend.Parts(), n.log.Named("api"))
	return stops.background(ctx)("serve the API", func(ctx context.Context) error { return n.server.Serve(ctx, ln, sockets...) }), nil
}
