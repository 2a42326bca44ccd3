package checkup

import (
	"context"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/doctor"
	"github.com/rota-scheduler/rota/store/embedded"
)

// askPeers asks the members that the settings of an embedded etcd list for their clusters. It returns those that answer.
func askPeers(ctx context.Context, e config.Embedded) (list []doctor.Peer) {
	c := embedded.Config{Cluster: e.Cluster, Peer: e.Peer}
	c.PeerTLS = embedded.TLS{Cert: e.TLS.Cert, Key: e.TLS.Key, CA: e.TLS.CA}
	clusters, err := c.Clusters(ctx)
	if err != nil {
		return nil // a replica with such settings does not start, and says so
	}
	for name, id := range clusters {
		list = append(list, doctor.Peer{Name: name, Cluster: id})
	}
	return list
}
