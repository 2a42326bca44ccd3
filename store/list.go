package store

import (
	"context"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// How many keys one request of a list returns. The size of earlier pages predicts how many keys fill pageBytes. Few
// large pages are cheaper than many small ones, because etcd counts to the end of the range for each request.
//
// The prediction may fail: after runs of a few hundred bytes may come runs that keep their output. A page must fit into
// the memory of etcd, and two pages into that of this process. Therefore:
//   - Each kind of records is listed on its own and begins with firstPage keys.
//   - A page has at most growth times as many keys as the page before it.
//   - A page longer than steadyPage stays within mostBytes even if all its records are as large as the largest so far.
//   - A page of runs, which differ most in size, has at most maxRuns keys.
const (
	firstPage  = 1_000
	minPage    = 16
	steadyPage = 4_000
	maxPage    = 50_000
	maxRuns    = 10_000
	pageBytes  = 32 << 20
	runsBytes  = 16 << 20 // of a page of runs
	mostBytes  = 128 << 20
	growth     = 8
)

// list reads everything under prefix as of one revision.
func (s *Store) list(ctx context.Context, prefix string) (kvs []*mvccpb.KeyValue, rev int64, err error) {
	rev, err = s.pages(ctx, prefix, func(page []*mvccpb.KeyValue) { kvs = append(kvs, page...) })
	return kvs, rev, err
}

// pages is list, page by page. It reads the next page while take handles one.
func (s *Store) pages(ctx context.Context, prefix string, take func(kvs []*mvccpb.KeyValue)) (rev int64, err error) {
	l, sent := newListing(prefix), s.count.reached.mark()
	for next := s.readPage(ctx, l); ; {
		p := <-next
		if p.err != nil {
			return 0, fmt.Errorf("list %s: %w", prefix, p.err)
		}
		s.recordContact()
		if !s.count.reached.answered(p.resp.Header, sent) {
			return 0, fmt.Errorf("list %s: %w", prefix, errWentBack)
		}
		more := l.advance(p.resp)
		if more {
			next = s.readPage(ctx, l)
		}
		if take(p.resp.Kvs); !more {
			return l.rev, nil
		}
	}
}

// page is the answer to one request of a list.
type page struct {
	resp *clientv3.GetResponse
	err  error
}

// readPage reads the next page of a list. The caller must receive it.
func (s *Store) readPage(ctx context.Context, l listing) <-chan page {
	answer := make(chan page, 1)
	go func() {
		resp, err := s.ask(ctx, 10*tryTimeout, l.from,
			clientv3.WithRange(l.end), clientv3.WithLimit(int64(l.size.keys)), clientv3.WithRev(l.rev))
		answer <- page{resp, err}
	}()
	return answer
}

// listing is the progress of a list. The next page begins at from and stays before end.
type listing struct {
	prefix, all string // all is the end of the whole list
	from, end   string
	size        pageSize
	rev         int64 // at which all pages are read; zero before the first page
}

func newListing(prefix string) listing {
	all := clientv3.GetPrefixRangeEnd(prefix)
	return listing{prefix: prefix, all: all, from: prefix, end: all, size: pageSizeOf("")}
}

// advance moves behind a page, and reports whether more follows.
func (l *listing) advance(page *clientv3.GetResponse) bool {
	if l.rev == 0 {
		l.rev = page.Header.Revision
	}
	if !page.More || len(page.Kvs) == 0 {
		if l.end == l.all {
			return false
		}
		l.from, l.end, l.size = l.end, l.all, pageSizeOf("") // the first page of the rest shows its kind
		return true
	}
	last := string(page.Kvs[len(page.Kvs)-1].Key)
	l.from = last + "\x00"
	if kind, _, ok := strings.Cut(last[len(l.prefix):], "/"); ok && l.end == l.all {
		l.end, l.size = clientv3.GetPrefixRangeEnd(l.prefix+kind+"/"), pageSizeOf(Kind(kind))
	} else {
		l.size.after(page.Kvs)
	}
	return true
}

// sweepPage is the number of keys that the method each reads with one request.
const sweepPage = 2_000

// each reads all records of a kind, page by page, each page as of its own revision. do may change the records that it gets.
func (s *Store) each(ctx context.Context, kind Kind, do func(kvs []*mvccpb.KeyValue) error, opts ...clientv3.OpOption) error {
	prefix := s.keys.family(kind)
	opts = append(opts, clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithLimit(sweepPage))
	for from := prefix; ; {
		resp, err := s.ask(ctx, tryTimeout, from, opts...)
		if err != nil {
			return fmt.Errorf("list %s: %w", kind, err)
		}
		if err := do(resp.Kvs); err != nil {
			return err
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}

// pageSize computes how many keys the next page of a list may hold.
type pageSize struct {
	keys    int
	most    int // limit of keys
	bytes   int // wanted size of a page
	largest int // bytes of one key with its value, so far
}

// pageSizeOf returns the size of the first page of a kind of records.
func pageSizeOf(kind Kind) pageSize {
	if kind == KindRuns {
		return pageSize{keys: firstPage, most: maxRuns, bytes: runsBytes}
	}
	return pageSize{keys: firstPage, most: maxPage, bytes: pageBytes}
}

// after adapts to a page that was read.
func (p *pageSize) after(kvs []*mvccpb.KeyValue) {
	bytes := 1
	for _, kv := range kvs {
		n := len(kv.Key) + len(kv.Value)
		bytes += n
		p.largest = max(p.largest, n)
	}
	p.keys = min(len(kvs)*p.bytes/bytes, growth*len(kvs), max(mostBytes/max(p.largest, 1), steadyPage), p.most)
	p.keys = max(p.keys, minPage)
}

// Revision asks etcd's majority for the present revision.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	sent := s.count.reached.mark()
	resp, err := s.ask(ctx, tryTimeout, s.keys.record(KindGate, ""), clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("ask for the revision: %w", err)
	}
	s.recordContact()
	s.count.reached.answered(resp.Header, sent)
	return resp.Header.Revision, nil
}
