package node

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/checkup"
	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/peer"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/doctor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	recordsTimeout = time.Minute     // for all records of the store
	askTimeout     = 2 * time.Second // for the answer of one replica
)

// examine examines the cluster from this replica: the members of etcd, the records, the other replicas, this machine and its
// settings. It needs no token, because it asks the others only for their clocks and their readiness.
func (n *Node) examine(ctx context.Context) (doctor.Report, error) {
	etcd, unseen := n.etcdToExamine(ctx)
	f := checkup.Gather(ctx, n.now(), checkup.Source{
		Etcd: etcd, Own: ownCertificates(n.set.HTTP.TLS.Cert, n.set.HTTP.TLS.Key, etcd.TLS.Cert, etcd.TLS.Key), Settings: &n.set,
		Records: func(ctx context.Context, f *doctor.Facts) error {
			ctx, cancel := context.WithTimeout(ctx, recordsTimeout)
			defer cancel()
			return checkup.Records(ctx, n.store, f)
		},
		Ask: n.askReplica,
	})
	if err := ctx.Err(); err != nil {
		return doctor.Report{}, fmt.Errorf("examine the cluster: %w", err)
	}
	f.Unseen = append(f.Unseen, unseen...)
	if names := n.unmeasured(f.Answers); len(names) > 0 {
		f.Unseen = append(f.Unseen, doctor.AreaClocks+": "+strings.Join(names, ", ")+", not measured yet")
	}
	return doctor.Examine(f), nil
}

// unmeasured returns the other replicas that answer, and whose clocks this replica has not measured.
func (n *Node) unmeasured(answers []doctor.Answer) (names []string) {
	measured := n.clocks.Views()
	for _, a := range answers {
		isKnown := slices.ContainsFunc(measured, func(v api.ClockView) bool { return v.Node == a.Node })
		if a.Err == nil && a.Node != n.set.Node.Name && !isKnown {
			names = append(names, a.Node)
		}
	}
	return names
}

// etcdToExamine returns the settings of etcd with the endpoints of all members that this machine can reach. unseen names the other
// members.
func (n *Node) etcdToExamine(ctx context.Context) (etcd config.Etcd, unseen []string) {
	etcd = n.set.Etcd
	etcd.Endpoints = n.conn.Endpoints()
	if n.conn.Members() == 0 {
		return etcd, nil
	}
	if etcd.TLS == (config.ClientTLS{}) {
		etcd.TLS = etcd.Embedded.TLS // a member uses its certificate both as a server and as a client
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	all, err := n.client.MemberList(ctx)
	if err != nil {
		if n.conn.Members() > 1 {
			unseen = append(unseen, doctor.AreaEtcd+": the other members, because the list of members cannot be read: "+failure.Short(err))
		}
		return etcd, unseen
	}
	alone := config.IsLoopback(n.set.Etcd.Embedded.Peer) // then the whole cluster is on this machine
	for _, m := range all.Members {
		switch {
		case m.Name == n.set.Node.Name:
		case len(m.ClientURLs) == 0:
			name := cmp.Or(m.Name, fmt.Sprintf("%x", m.ID))
			unseen = append(unseen, fmt.Sprintf("%s: member %s, which has not started yet", doctor.AreaEtcd, name))
		case !alone && config.IsLoopback(m.ClientURLs[0]):
			unseen = append(unseen, fmt.Sprintf("%s: member %s, which listens only on its own machine at %s; its replica can examine it",
				doctor.AreaEtcd, m.Name, m.ClientURLs[0]))
		default:
			etcd.Endpoints = append(etcd.Endpoints, m.ClientURLs[0])
		}
	}
	return etcd, unseen
}

// ownCertificates reads certificates, given as pairs of files. It leaves out those that cannot be read: servers then only log a
// client without a certificate.
func ownCertificates(files ...string) (list []tls.Certificate) {
	for i := 0; i+1 < len(files); i += 2 {
		if pair, err := tls.LoadX509KeyPair(files[i], files[i+1]); err == nil {
			list = append(list, pair)
		}
	}
	return list
}

// askReplica asks a replica whether it is ready. The answer of this replica has the clocks that it measured.
func (n *Node) askReplica(ctx context.Context, r *job.Replica, _ string) doctor.Answer {
	a := doctor.Answer{Node: r.Name, Addr: r.Addr}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if r.Name == n.set.Node.Name {
		for _, v := range n.clocks.Views() {
			a.Clocks = append(a.Clocks, doctor.Clock{
				Node: v.Node, Offset: seconds(v.OffsetSeconds), Uncertainty: seconds(v.UncertaintySeconds),
			})
		}
	} else if _, a.Err = n.clocks.Term(ctx, r.Name, r.Addr); a.Err != nil {
		return a
	}
	c, err := peer.Dial(n.set.HTTP.TLS, r.Addr, r.Name, askTimeout)
	if err != nil {
		a.Err = err
		return a
	}
	defer c.Close()
	a.SetReady(c.Ready(ctx))
	return a
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
