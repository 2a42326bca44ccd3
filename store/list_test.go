package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// weighed counts the reads and measures the largest answer, in bytes.
type weighed struct {
	clientv3.KV
	most, reads int
}

func (w *weighed) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	resp, err := w.KV.Get(ctx, key, opts...)
	if err != nil {
		return resp, err
	}
	w.reads++
	n := 0
	for _, kv := range resp.Kvs {
		n += len(kv.Value)
	}
	w.most = max(w.most, n)
	return resp, nil
}

// TestAPageIsBounded lists many small records and then large ones. After the small records, a page must not become too
// long for the large ones.
func TestAPageIsBounded(t *testing.T) {
	c := fake(t, nil).Client()
	own := clientv3.NewCtxClient(c.Ctx())
	w := &weighed{KV: c.KV}
	own.KV, own.Lease, own.Watcher = w, c.Lease, c.Watcher
	s := open(t, own)
	want := make(map[string]bool)
	fill := func(n int, key func(n int) string, size int) {
		for i := 0; i < n; i += 100 {
			var ops []clientv3.Op
			for j := i; j < i+100; j++ {
				ops = append(ops, clientv3.OpPut(key(j), strings.Repeat("x", size)))
				want[key(j)] = true
			}
			if _, err := c.Txn(within(t)).Then(ops...).Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	const large = 9 << 10
	fill(3000, func(n int) string { return s.keys.cursor(fmt.Sprintf("c%06d", n)) }, 100)
	fill(1500, func(n int) string { return s.keys.job(fmt.Sprintf("j%06d", n)) }, 500)
	fill(300, func(n int) string { return s.keys.run("a", fmt.Sprintf("%06d", n)) }, 300)
	fill(8000, func(n int) string { return s.keys.run("b", fmt.Sprintf("%06d", n)) }, large)
	for _, key := range []string{s.keys.record(KindGate, ""), s.keys.record(KindFiles, ""), prefix + "/runs", prefix + "/runs0", prefix + "/zzz"} { // keys between the kinds of records
		put(t, c, key, "{}")
		want[key] = true
	}
	got := 0
	if _, err := s.pages(within(t), s.keys.All(), func(kvs []*mvccpb.KeyValue) {
		for _, kv := range kvs {
			if !want[string(kv.Key)] {
				t.Errorf("%s came twice, or from nowhere", kv.Key)
			}
			delete(want, string(kv.Key))
			got++
		}
	}); err != nil || len(want) > 0 {
		t.Errorf("got %d keys (%v), and %d are missing", got, err, len(want))
	}
	t.Logf("%d reads, the largest of %d bytes", w.reads, w.most)
	if w.most > 2*pageBytes {
		t.Errorf("the largest page holds %d bytes, want about %d at most", w.most, pageBytes)
	}
	if w.reads > 30 {
		t.Errorf("%d reads, want fewer", w.reads)
	}
}

func TestPageSizes(t *testing.T) {
	page := func(n, size int) (kvs []*mvccpb.KeyValue) {
		kv := &mvccpb.KeyValue{Value: make([]byte, size)}
		for range n {
			kvs = append(kvs, kv)
		}
		return kvs
	}
	runs := pageSizeOf(KindRuns)
	if runs.after(page(8000, 100)); runs.keys != maxRuns {
		t.Errorf("%d keys of runs, want %d", runs.keys, maxRuns)
	}
	p := pageSizeOf(KindJobs)
	for i, step := range []struct {
		kvs  []*mvccpb.KeyValue
		want int
	}{
		{page(1000, 100), 8000},
		{page(8000, 100), maxPage},
		{page(4000, 9<<10), pageBytes / (9 << 10)},
		{page(10_000, 100), mostBytes / (9 << 10)}, // the next records may be as large as 9 KiB again
		{append(page(1000, 100), page(1, 400<<10)...), steadyPage},
		{page(100, 400<<10), pageBytes / (400 << 10)},
		{page(1, maxRecord), minPage / 2},
	} {
		want := step.want
		if p.after(step.kvs); want >= minPage && (p.keys > want || p.keys < want-want/100-1) || p.keys < minPage {
			t.Errorf("step %d: %d keys, want about %d", i, p.keys, want)
		}
	}
}
