package store

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// How many keys one request of a list returns. As many as make pageBytes, going by those before: etcd counts to the end of
// the range with each request, so few large pages are cheaper than many small ones.
const (
	firstPage = 1_000
	minPage   = 16
	maxPage   = 50_000
	pageBytes = 16 << 20
)

// list reads everything under prefix as it was at one revision.
func (s *Store) list(ctx context.Context, prefix string) (kvs []*mvccpb.KeyValue, rev int64, err error) {
	rev, err = s.pages(ctx, prefix, func(page []*mvccpb.KeyValue) { kvs = append(kvs, page...) })
	return kvs, rev, err
}

// pages is list for those who need not have everything at once.
func (s *Store) pages(ctx context.Context, prefix string, take func(kvs []*mvccpb.KeyValue)) (rev int64, err error) {
	end := clientv3.GetPrefixRangeEnd(prefix)
	page := firstPage
	for from := prefix; ; {
		try, cancel := context.WithTimeout(ctx, 10*tryTimeout)
		resp, err := s.client.Get(try, from, clientv3.WithRange(end), clientv3.WithLimit(int64(page)), clientv3.WithRev(rev))
		cancel()
		if err != nil {
			return 0, fmt.Errorf("list %s: %w", prefix, err)
		}
		if rev == 0 {
			rev = resp.Header.Revision
		}
		take(resp.Kvs)
		if !resp.More || len(resp.Kvs) == 0 {
			return rev, nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
		page = nextPage(resp.Kvs)
	}
}

func nextPage(kvs []*mvccpb.KeyValue) int {
	bytes := 1
	for _, kv := range kvs {
		bytes += len(kv.Key) + len(kv.Value)
	}
	return min(max(len(kvs)*pageBytes/bytes, minPage), maxPage)
}
