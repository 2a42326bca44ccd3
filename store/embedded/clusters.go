package embedded

import (
	"context"
	"sync"

	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.uber.org/zap"
)

// Clusters asks all members that c.Cluster lists for the IDs of their clusters, and returns them by name, in hexadecimal. It leaves
// out members that do not answer or have no data. A member that waits for its majority answers too.
func (c Config) Clusters(ctx context.Context) (map[string]string, error) {
	listed, err := c.peers()
	if err != nil {
		return nil, err
	}
	rt, err := c.withDefaults().peerTransport()
	if err != nil {
		return nil, err
	}
	defer rt.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	ids := map[string]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, p := range listed {
		wg.Go(func() {
			if a := askMember(ctx, rt, p.url, ""); a.err == nil && a.cluster != "" {
				mu.Lock()
				defer mu.Unlock()
				ids[p.name] = a.cluster
			}
		})
	}
	wg.Wait()
	return ids, nil
}

// formedID returns the ID of the cluster that a valid config forms at the first start of its members, in hexadecimal. A cluster
// whose members were restored from a backup has another ID.
func (c Config) formedID() string {
	urls, token, err := c.etcd().PeerURLsMapAndToken("")
	if err != nil {
		return "" // etcd reports that
	}
	formed, err := membership.NewClusterFromURLsMap(zap.NewNop(), token, urls)
	if err != nil {
		return ""
	}
	return formed.ID().String()
}
