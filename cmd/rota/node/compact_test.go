package node

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/store/embedded"
)

// TestManyWritesDoNotFillAnEmbeddedEtcd writes the same few keys until their past alone would fill the quota several times.
func TestManyWritesDoNotFillAnEmbeddedEtcd(t *testing.T) {
	t.Parallel()
	const quota = 64 << 20
	s, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), Client: "http://127.0.0.1:0", QuotaBytes: quota, NoSync: true}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	c := &compactor{
		client: s.Client(), endpoint: s.Endpoint(), log: hclog.NewNullLogger(),
		every: 20 * time.Millisecond, keep: 100 * time.Millisecond, share: compactShare,
	}
	wg.Go(func() { c.run(ctx) })
	value := strings.Repeat("x", 4<<10)
	for written := 0; written < 4*quota; {
		ops := make([]clientv3.Op, 32)
		for i := range ops {
			ops[i] = clientv3.OpPut(fmt.Sprint("k", i), value)
		}
		if _, err := s.Client().Txn(t.Context()).Then(ops...).Commit(); err != nil {
			t.Fatalf("after %d MiB: %v", written>>20, err)
		}
		written += len(ops) * len(value)
		time.Sleep(time.Millisecond) // some 100 MiB/s at most: the past of keep fits into the share
	}
}
