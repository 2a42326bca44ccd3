package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// storeTimeout is how long etcd may take to answer at first.
const storeTimeout = 5 * time.Second

// nameStore is what to do when there is no store where it was looked for.
const nameStore = "start `rota dev`, or name the store with --server, --endpoints or --config"

// findStore says how the store is reached. What names etcd itself, file or endpoints, comes before a server that knows where
// it is, and a flag before the environment; without any of them it is that of a local `rota dev`, or of the default server. If
// --server says as well whose store it is to be, it has to be that.
func (c *cli) findStore(ctx context.Context, file string, endpoints []string) (config.Etcd, error) {
	named := file != "" || len(endpoints) > 0
	file = c.settingsFile(file)
	etcd, err := config.LoadEtcd(file, c.environ)
	if err != nil {
		return config.Etcd{}, err
	}
	switch {
	case len(endpoints) > 0:
		etcd.Endpoints = endpoints
	case c.server != "" && !named: // the environment may say how to log in, but not where
		etcd.Endpoints = nil
	case len(etcd.Endpoints) == 0 && file != "":
		etcd.Endpoints = []string{etcd.Embedded.Client}
	}
	switch {
	case c.server != "", len(etcd.Endpoints) == 0 && c.getenv("ROTA_SERVER") != "":
		return c.storeOf(ctx, etcd)
	case len(etcd.Endpoints) > 0:
		return etcd, nil
	}
	if etcd.Endpoints = localStore(); len(etcd.Endpoints) > 0 {
		return etcd, nil
	}
	return c.storeOfDefault(ctx, etcd, client.DefaultServer)
}

// storeOfDefault is storeOf for a server that nobody has named.
func (c *cli) storeOfDefault(ctx context.Context, etcd config.Etcd, server string) (config.Etcd, error) {
	c.server = server
	found, err := c.storeOf(ctx, etcd)
	if errors.Is(err, api.ErrUnavailable) {
		err = &codedError{exitUnavailable, nameStore,
			fmt.Errorf("no etcd of a local `rota dev` answers at 127.0.0.1:%d, and no rota at %s", devClientPort, server)}
	}
	return found, err
}

// storeOf asks the server for its store, and proves that this is what answers: the addresses that a server has for its etcd,
// a loopback one above all, may be another cluster's here.
func (c *cli) storeOf(ctx context.Context, etcd config.Etcd) (config.Etcd, error) {
	const hint = "name its etcd as it is reached from here with --endpoints, or its settings with --config"
	server := cmp.Or(c.server, c.getenv("ROTA_SERVER"))
	cl, err := c.reader()
	if err != nil {
		return config.Etcd{}, err
	}
	defer cl.Close()
	cluster, err := cl.Cluster(ctx)
	switch {
	case errors.Is(err, api.ErrUnavailable):
		return config.Etcd{}, &codedError{exitUnavailable, "its store can be read without it: name etcd with --endpoints or --config alone", err}
	case err != nil:
		return config.Etcd{}, err
	}
	etcd.Prefix = cluster.Name
	if len(etcd.Endpoints) == 0 {
		etcd.Endpoints = cluster.Store.Members
	}
	if len(etcd.Endpoints) == 0 || len(cluster.Replicas) == 0 {
		return config.Etcd{}, &codedError{exitUnavailable, hint, fmt.Errorf("%s does not say enough to find its store", server)}
	}
	where := strings.Join(etcd.Endpoints, ", ")
	switch there, err := replicasAt(ctx, etcd); {
	case node.IsConfig(err):
		return config.Etcd{}, err
	case err != nil:
		return config.Etcd{}, &codedError{exitUnavailable, hint, fmt.Errorf("the etcd of %s does not answer here at %s: %w", server, where, err)}
	case !shareReplica(cluster.Replicas, there):
		return config.Etcd{}, usageError{fmt.Sprintf("what answers here at %s is not the etcd of %s: none of its replicas is there", where, server), hint}
	}
	return etcd, nil
}

// replicasAt reads which replicas are present in a store.
func replicasAt(ctx context.Context, etcd config.Etcd) ([]*job.Replica, error) {
	reached, err := reachStore(ctx, etcd)
	if err != nil {
		return nil, err
	}
	defer reached.Close()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	s := store.New(store.Config{Prefix: etcd.Prefix, Process: "look"}, reached, hclog.NewNullLogger())
	defer s.Close()
	return s.Replicas(ctx)
}

// reachStore returns a client of an etcd that answers and may be used. An error is one of configuration (node.IsConfig) if etcd
// is too old, or does not let us in.
func reachStore(ctx context.Context, etcd config.Etcd) (*clientv3.Client, error) {
	reached, err := node.Dial(etcd)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		if err = node.CheckVersion(ctx, reached); err != nil {
			reached.Close()
		}
	}
	where := strings.Join(etcd.Endpoints, ", ")
	switch {
	case errors.Is(err, rpctypes.ErrAuthFailed):
		return nil, &node.ConfigError{Err: fmt.Errorf("etcd at %s refuses the password of %s: %w", where, etcd.Username, err)}
	case errors.Is(err, rpctypes.ErrUserEmpty):
		return nil, &node.ConfigError{Err: fmt.Errorf("etcd at %s wants etcd.username and etcd.password_file: %w", where, err)}
	case err != nil:
		return nil, err
	}
	return reached, nil
}

// shareReplica says whether a replica that a cluster shows is there. Names alone are the same in many clusters; sessions are
// leases of one etcd.
func shareReplica(shown []api.ReplicaView, there []*job.Replica) bool {
	return slices.ContainsFunc(there, func(r *job.Replica) bool {
		return slices.ContainsFunc(shown, func(v api.ReplicaView) bool {
			return v.Name == r.Name && v.Session == r.Session && v.Started.Equal(r.Started)
		})
	})
}

// localStore returns the etcd members of a `rota dev` on this machine.
func localStore() (endpoints []string) {
	for i := range devMaxReplicas {
		addr := fmt.Sprintf("127.0.0.1:%d", devClientPort+i)
		conn, err := net.DialTimeout("tcp", addr, 300*time.Millisecond)
		if err != nil {
			continue
		}
		conn.Close()
		endpoints = append(endpoints, "http://"+addr)
	}
	return endpoints
}
