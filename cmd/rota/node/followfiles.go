package node

import (
	"context"
	"time"
)

// hungPatience is how long a stopping node waits for a read of the job files that has not returned.
const hungPatience = 3 * time.Second

// followFiles keeps the job files in force until ctx ends. A file server that does not answer can hold a read for ever, and
// nothing can interrupt it. Then followFiles returns without it: the node must still leave the cluster in an orderly way.
func (n *Node) followFiles(ctx context.Context) error {
	result := make(chan error, 1)
	go func() { result <- n.files.Run(ctx, n.store, n.mirror, fileReplica{n}) }() // waited for below, or left behind
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-result:
		return err
	case <-time.After(hungPatience):
		n.log.Error("a read of the job files hangs, and this node stops without it; check the disk or file server", "path", n.set.Jobs)
		return nil
	}
}
