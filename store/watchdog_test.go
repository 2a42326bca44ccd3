package store

import (
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestWatchdog checks that a watch lives as long as the revision that it reports rises.
func TestWatchdog(t *testing.T) {
	progressAt := func(rev int64) *clientv3.WatchResponse {
		return &clientv3.WatchResponse{Header: &pb.ResponseHeader{Revision: rev}}
	}
	event := func(rev int64) *clientv3.WatchResponse {
		return &clientv3.WatchResponse{
			Header: &pb.ResponseHeader{Revision: 100}, Events: []*clientv3.Event{{Kv: &mvccpb.KeyValue{ModRevision: rev}}},
		}
	}
	for name, c := range map[string]struct {
		response func(step int) *clientv3.WatchResponse
		dead     bool
	}{
		"a member that hangs repeats its revision": {func(int) *clientv3.WatchResponse { return progressAt(10) }, true},
		"a member that lags delivers events":       {func(step int) *clientv3.WatchResponse { return event(int64(11 + step)) }, false},
		"a member that lags reports progress":      {func(step int) *clientv3.WatchResponse { return progressAt(int64(11 + step)) }, false},
	} {
		now := epoch
		dog := watchdog{prefix: prefix, reached: 10, progress: now}
		now = now.Add(time.Hour) // in which nothing happened
		dead := false
		for step := 0; step < 20 && !dead; step++ {
			dead = dog.expect(probed{rev: 100 + int64(step), at: now, silence: maxSilence}, now) != nil
			dog.observe(c.response(step), now)
			if dead && step <= int(maxSilence/probeEvery) {
				t.Errorf("%s: given up after %v", name, time.Duration(step)*probeEvery)
			}
			now = now.Add(probeEvery)
		}
		if dead != c.dead {
			t.Errorf("%s: given up: %t, want %t", name, dead, c.dead)
		}
	}
}
