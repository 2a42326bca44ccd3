package embedded

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

// Clusters asks all members that c.Cluster lists for the IDs of their clusters, and returns them by name, in hexadecimal. It leaves
// out members that do not answer or have no data. A member that waits for its majority answers too.
func (c Config) Clusters(ctx context.Context) (map[string]string, error) {
	listed, err := c.peers()
	if err != nil {
		return nil, err
	}
	certificates, err := c.withDefaults().etcd().PeerTLSInfo.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the certificate for peers: %w", err)
	}
	rt := &http.Transport{TLSClientConfig: certificates}
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
