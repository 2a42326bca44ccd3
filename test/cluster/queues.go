package cluster

import (
	"context"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// checkQueues checks that no order is left when all runs have ended. Each worker closes its own orders and those of its earlier
// sessions. Orders of absent workers stay until the leader removes them, within a minute.
func (c *Cluster) checkQueues() {
	if c.t.Failed() || len(c.Recorder.Open()) > 0 {
		return // orders may be left in this case
	}
	client := Dial(c.t, c.Endpoints(), c.certificates) // the client of a replaced recorder is closed by now
	var left []string
	var err error
	if !Within(10*time.Second, func() bool {
		left, err = openOrders(client)
		return err == nil && len(left) == 0
	}) {
		if err != nil {
			c.t.Logf("the remaining orders cannot be read: %v", err)
			return
		}
		c.t.Errorf("all runs have ended, and orders of workers that are there are left: %q", left)
	}
}

// openOrders lists the orders of the present workers.
func openOrders(client *clientv3.Client) (left []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // the context of the test has ended
	defer cancel()
	workers, err := client.Get(ctx, Prefix+"/workers/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	there := make(map[string]bool)
	for _, kv := range workers.Kvs {
		there[strings.TrimPrefix(string(kv.Key), Prefix+"/workers/")] = true
	}
	orders, err := client.Get(ctx, Prefix+"/queues/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	for _, kv := range orders.Kvs {
		worker, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), Prefix+"/queues/"), "/")
		if there[worker] {
			left = append(left, string(kv.Key))
		}
	}
	return left, nil
}
