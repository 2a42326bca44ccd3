package etcdconn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
)

// errStoreFull explains the effects of a full etcd, and how to make room.
var errStoreFull = errors.New("etcd is full and takes nothing new: outcomes wait and nothing is dispatched; " +
	"make room (compact, defrag), then `rota etcdctl alarm disarm`")

// Space reports how full etcd is. A full etcd accepts deletions only. Then nothing new is dispatched or submitted, outcomes wait
// in the journals, and an expired lease is not replaced. All of this continues by itself when etcd has room again.
type Space struct {
	log hclog.Logger

	mu          sync.Mutex
	size        int64    // guarded by mu: size of the largest member in bytes; 0: unknown
	used        int64    // guarded by mu: the same without its free pages
	quota       int64    // guarded by mu: bytes
	full        bool     // guarded by mu: etcd's alarm is on
	nearlyFull  bool     // guarded by mu: size is at least nearlyFull percent of the quota
	unavailable []string // guarded by mu: endpoints that did not answer the last poll
	warned      bool     // guarded by mu: the log has a warning that a member does not count rota's writes against its quota
}

const (
	spaceEvery   = 5 * time.Second
	spaceTimeout = 3 * time.Second
	nearlyFull   = 80 // percent of the quota
)

// NewSpace returns a Space without any measurement.
func NewSpace(log hclog.Logger) *Space { return &Space{log: log} }

// Watch polls the members of c until ctx ends.
func (s *Space) Watch(ctx context.Context, c *Conn) error {
	loop.Every(ctx, spaceEvery, func(ctx context.Context) { s.poll(ctx, c.client, c.Endpoints()) })
	return nil
}

// poll requests the status of the members at the endpoints. If none answers, the last known values stay.
func (s *Space) poll(ctx context.Context, client *clientv3.Client, endpoints []string) {
	answers := statuses(ctx, client, endpoints)
	if ctx.Err() != nil {
		return
	}
	var unavailable []string
	var uncounted string // version of a member that does not count rota's writes against its quota
	var size, used, quota int64
	full := false
	for i, st := range answers {
		if st == nil {
			unavailable = append(unavailable, endpoints[i])
			continue
		}
		size, used, quota = max(size, st.DbSize), max(used, st.DbSizeInUse), st.DbSizeQuota
		if !CountsNested(st.Version) {
			uncounted = st.Version
		}
		for _, alarm := range st.Errors {
			full = full || strings.Contains(alarm, etcdserverpb.AlarmType_NOSPACE.String())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unavailable = unavailable
	if uncounted != "" && !s.warned {
		s.warned = true
		s.log.Warn("this etcd does not count what rota writes against its quota and may grow beyond it without an alarm: "+
			"use 3.5.33, 3.6.14, 3.7.1 or later", "version", uncounted)
	}
	if size == 0 {
		return
	}
	nearly := quota > 0 && 100*size >= nearlyFull*quota
	switch {
	case full && !s.full:
		s.log.Error(errStoreFull.Error(), "size", size, "quota", quota)
	case !full && s.full:
		s.log.Info("etcd takes writes again", "size", size, "quota", quota)
	case nearly && !s.nearlyFull && !full:
		s.log.Warn("etcd is almost full: make room (compact, defrag) before it takes nothing new", "size", size, "quota", quota)
	}
	s.size, s.used, s.quota, s.full, s.nearlyFull = size, used, quota, full, nearly
}

// Fill returns how many bytes etcd uses and its quota, and reports whether etcd is full. size and quota are zero if unknown.
func (s *Space) Fill() (size, quota int64, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size, s.quota, s.full
}

// NearlyFull reports whether it is time to make room in etcd.
func (s *Space) NearlyFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nearlyFull
}

// Used returns how many bytes etcd's records use and the quota. Pages of deleted records do not count, because etcd writes to them
// again. Both are zero if unknown.
func (s *Space) Used() (used, quota int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.quota
}

// Unavailable returns the endpoints of members that did not answer the last poll, or were cut off from the others.
func (s *Space) Unavailable() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unavailable
}

// Check returns an error while etcd is full.
func (s *Space) Check(context.Context) error {
	if _, _, full := s.Fill(); full {
		return errStoreFull
	}
	return nil
}

// Endpoints returns the endpoints of all members, including those that the client does not use at present. For an embedded etcd,
// it returns only the endpoint of this process's member, because the in-process client has no endpoints.
func (c *Conn) Endpoints() []string {
	if c.member != nil {
		return []string{c.member.Endpoint()}
	}
	return slices.Clone(c.cfg.Etcd.Endpoints)
}

// statuses requests the status of each endpoint. A status is nil if the member does not answer within spaceTimeout. It is also
// nil if the member knows no leader, because its data may be old.
func statuses(ctx context.Context, client *clientv3.Client, endpoints []string) []*clientv3.StatusResponse {
	ctx, cancel := context.WithTimeout(ctx, spaceTimeout)
	defer cancel()
	answers := make([]*clientv3.StatusResponse, len(endpoints))
	var wg sync.WaitGroup
	for i, endpoint := range endpoints {
		wg.Go(func() {
			if st, err := client.Status(ctx, endpoint); err == nil && st.Leader != 0 {
				answers[i] = st
			}
		})
	}
	wg.Wait()
	return answers
}
