package store

import (
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestAWatchThatDoesNotGetOn: what a watch tells keeps it alive as long as it comes further.
func TestAWatchThatDoesNotGetOn(t *testing.T) {
	progress := func(rev int64) *clientv3.WatchResponse {
		return &clientv3.WatchResponse{Header: &pb.ResponseHeader{Revision: rev}}
	}
	event := func(rev int64) *clientv3.WatchResponse {
		return &clientv3.WatchResponse{
			Header: &pb.ResponseHeader{Revision: 100}, Events: []*clientv3.Event{{Kv: &mvccpb.KeyValue{ModRevision: rev}}},
		}
	}
	for name, c := range map[string]struct {
		tells func(step int) *clientv3.WatchResponse
		dead  bool
	}{
		"a member that hangs says how far it was":       {func(int) *clientv3.WatchResponse { return progress(10) }, true},
		"one that lags behind tells what has happened":  {func(step int) *clientv3.WatchResponse { return event(int64(11 + step)) }, false},
		"one that lags behind says how far it has come": {func(step int) *clientv3.WatchResponse { return progress(int64(11 + step)) }, false},
	} {
		now := epoch
		v := vigil{prefix: prefix, reached: 10, heard: now}
		now = now.Add(time.Hour) // in which nothing happened
		dead := false
		for step := 0; step < 20 && !dead; step++ {
			dead = v.marked(mark{rev: 100 + int64(step), at: now, patience: silence}, now) != nil
			v.told(c.tells(step), now)
			if dead && step <= int(silence/probeEvery) {
				t.Errorf("%s: given up after %v", name, time.Duration(step)*probeEvery)
			}
			now = now.Add(probeEvery)
		}
		if dead != c.dead {
			t.Errorf("%s: given up: %t, want %t", name, dead, c.dead)
		}
	}
}
