package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// storeOfDefault calls storeOf for the default server.
func (c *cli) storeOfDefault(ctx context.Context, etcd config.Etcd, server string) (config.Etcd, error) {
	c.server = server
	found, err := c.storeOf(ctx, etcd)
	if errors.Is(err, api.ErrUnavailable) {
		err = &codedError{exitUnavailable, nameStore,
			fmt.Errorf("neither the etcd of a local `rota dev` answers at 127.0.0.1:%d, nor rota at %s", devClientPort, server)}
	}
	return found, err
}

// storeOf gets the address of the store from the server. Then it checks that the store of this server answers at that address.
// The check is necessary: from this machine, a loopback address of the server may lead to another cluster.
func (c *cli) storeOf(ctx context.Context, etcd config.Etcd) (config.Etcd, error) {
	const hint = "name the address of its etcd, seen from this machine, with --endpoints, or its settings with --config"
	server := cmp.Or(c.server, c.getenv("ROTA_SERVER"))
	cl, err := c.client(readTimeout)
	if err != nil {
		return config.Etcd{}, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	cluster, err := cl.Cluster(ctx)
	switch {
	case errors.Is(err, api.ErrUnavailable):
		hint := "the store can be read without the server: name etcd with --endpoints or --config alone"
		return config.Etcd{}, &codedError{exitUnavailable, hint, err}
	case err != nil:
		return config.Etcd{}, err
	case cluster.Tolerated != nil && *cluster.Tolerated < 0:
		err := errors.New("the majority of the store's members is lost, so the store answers nobody")
		return config.Etcd{}, &codedError{exitUnavailable, "start the members that do not answer: `rota status` names them", err}
	}
	etcd.Prefix = cluster.Name
	if len(etcd.Endpoints) == 0 {
		etcd.Endpoints = cluster.Store.Members
		if dev, ok := c.devStore(); ok && etcd.TLS == (config.ClientTLS{}) && containsAll(dev.Endpoints, etcd.Endpoints) {
			etcd.TLS = dev.TLS
		}
	}
	where := strings.Join(etcd.Endpoints, ", ")
	switch {
	case where == "":
		return config.Etcd{}, &codedError{exitUnavailable, hint, fmt.Errorf("%s does not report where its store is", server)}
	case len(cluster.Replicas) == 0: // as after restarts with a full store, which grants no lease
		err := fmt.Errorf("no replica is present in the store of %s, so nothing proves that %s leads to that store", server, where)
		return config.Etcd{}, &codedError{exitUnavailable, "if it does, add --endpoints " + strings.Join(etcd.Endpoints, ","), err}
	}
	switch there, err := replicasAt(ctx, etcd); {
	case failure.IsConfig(err):
		return config.Etcd{}, err
	case err != nil:
		err = fmt.Errorf("the etcd of %s does not answer at %s from this machine: %w", server, where, err)
		return config.Etcd{}, &codedError{exitUnavailable, hint, err}
	case !shareReplica(cluster.Replicas, there):
		msg := fmt.Sprintf("the etcd at %s is not the one of %s: it has none of its replicas", where, server)
		return config.Etcd{}, usageError{msg, hint}
	}
	return etcd, nil
}

// replicasAt returns the replicas that have a presence in the store.
func replicasAt(ctx context.Context, etcd config.Etcd) ([]*job.Replica, error) {
	s, done, err := openStore(ctx, etcd, "find")
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.Replicas(ctx)
}

// shareReplica reports whether a replica of a cluster is also present in a store. It compares sessions, because many clusters use
// the same names. A session is a lease of one etcd, so it is unique.
func shareReplica(shown []api.ReplicaView, there []*job.Replica) bool {
	return slices.ContainsFunc(there, func(r *job.Replica) bool {
		return slices.ContainsFunc(shown, func(v api.ReplicaView) bool {
			return v.Name == r.Name && v.Session == r.Session && v.Started.Equal(r.Started)
		})
	})
}
