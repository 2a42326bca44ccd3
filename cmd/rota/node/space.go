package node

import (
	"context"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// errStoreFull is what a full etcd means, and what to do.
var errStoreFull = errors.New("etcd is full and takes nothing new: outcomes wait and nothing is dispatched; " +
	"make room (compact, defrag), then `rota etcdctl alarm disarm`")

// spaceEvery is how often it is looked whether etcd is full.
const spaceEvery = 5 * time.Second

// watchSpace says in the log when etcd becomes full, and when it takes something again, until ctx ends.
func (n *Node) watchSpace(ctx context.Context) error {
	for was := false; ctx.Err() == nil; pause(ctx, spaceEvery) {
		full, err := n.full(ctx)
		switch {
		case err != nil: // that etcd does not answer, others say
		case full && !was:
			n.log.Error(errStoreFull.Error())
			was = true
		case !full && was:
			n.log.Info("etcd takes writes again")
			was = false
		}
	}
	return nil
}

// full says whether etcd has raised its alarm that space has run out.
func (n *Node) full(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	resp, err := n.client.AlarmList(ctx)
	if err != nil {
		return false, err
	}
	for _, a := range resp.Alarms {
		if a.Alarm == pb.AlarmType_NOSPACE {
			return true, nil
		}
	}
	return false, nil
}

func (b *backend) checkSpace(ctx context.Context) error {
	if !b.ready.Load() {
		return nil // the store's own check says so
	}
	if full, err := b.node.full(ctx); err == nil && full {
		return errStoreFull
	}
	return nil
}

// checkDisk is about this process's own disk: a worker that cannot write to it takes nothing.
func (b *backend) checkDisk(context.Context) error {
	if !b.ready.Load() || b.node.worker == nil {
		return nil
	}
	return b.node.worker.Refuses()
}
