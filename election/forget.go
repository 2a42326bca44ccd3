package election

import (
	"context"
	"encoding/json"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// RemoveStale removes the candidacies that earlier processes called name left under prefix, so that nobody has to wait for their
// leases, and says how many. It is for a process that has made sure that nobody else has its name, before it campaigns.
// Should it be wrong, the other one's term ends early, and nothing worse: its writes are refused from then on.
func RemoveStale(ctx context.Context, client *clientv3.Client, prefix, name string) (removed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return 0, fmt.Errorf("read election %s: %w", prefix, err)
	}
	for _, kv := range resp.Kvs {
		var c Candidate
		if json.Unmarshal(kv.Value, &c) != nil || c.Node != name {
			continue
		}
		t := Term{Key: string(kv.Key), Rev: kv.CreateRevision}
		if _, err := client.Txn(ctx).If(t.Held()).Then(clientv3.OpDelete(t.Key)).Commit(); err != nil {
			return removed, fmt.Errorf("delete election key %s: %w", t.Key, err)
		}
		removed++
	}
	return removed, nil
}
