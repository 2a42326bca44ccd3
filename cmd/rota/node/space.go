package node

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// errStoreFull is what a full etcd means, and what to do.
var errStoreFull = errors.New("etcd is full and takes nothing new: outcomes wait and nothing is dispatched; " +
	"make room (compact, defrag), then `rota etcdctl alarm disarm`")

// space watches how full etcd is. Out of space, it takes deletions only: nothing new is dispatched or submitted, outcomes
// wait in the journals, and who loses his lease gets no new one. All of that goes on by itself once there is space again.
type space struct {
	node *Node

	mu     sync.Mutex
	size   int64    // guarded by mu: bytes, of the largest member; 0: not known
	quota  int64    // guarded by mu: bytes
	full   bool     // guarded by mu: the alarm is on
	narrow bool     // guarded by mu: it soon will be
	silent []string // guarded by mu: endpoints of which nothing was heard at the last look
	warned bool     // guarded by mu: of a member that does not count what we write
}

// The pace of looking, and the share of the quota, in percent, from which on it is worth a warning.
const (
	spaceEvery   = 5 * time.Second
	spaceTimeout = 3 * time.Second
	spaceNarrow  = 80
)

// run looks until ctx ends.
func (s *space) run(ctx context.Context) error {
	for ctx.Err() == nil {
		s.look(ctx)
		pause(ctx, spaceEvery)
	}
	return nil
}

// look asks the members that answer. What nobody says stays as it was.
func (s *space) look(ctx context.Context) {
	endpoints := s.node.endpoints()
	answers := s.node.members(ctx, endpoints)
	if ctx.Err() != nil {
		return
	}
	var silent []string
	var blind string // the version of a member that does not count what we write
	var size, quota int64
	full := false
	for i, st := range answers {
		if st == nil {
			silent = append(silent, endpoints[i])
			continue
		}
		size, quota = max(size, st.DbSize), st.DbSizeQuota
		if !counts(st.Version) {
			blind = st.Version
		}
		for _, alarm := range st.Errors {
			full = full || strings.Contains(alarm, etcdserverpb.AlarmType_NOSPACE.String())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = silent
	if blind != "" && !s.warned {
		s.warned = true
		s.node.log.Warn("this etcd does not count what rota writes against its quota and may grow beyond it without an alarm: "+
			"use 3.5.33, 3.6.14, 3.7.1 or later", "version", blind)
	}
	if size == 0 {
		return
	}
	narrow := quota > 0 && 100*size >= spaceNarrow*quota
	switch {
	case full && !s.full:
		s.node.log.Error(errStoreFull.Error(), "size", size, "quota", quota)
	case !full && s.full:
		s.node.log.Info("etcd takes writes again", "size", size, "quota", quota)
	case narrow && !s.narrow && !full:
		s.node.log.Warn("etcd is almost full: make room (compact, defrag) before it takes nothing new", "size", size, "quota", quota)
	}
	s.size, s.quota, s.full, s.narrow = size, quota, full, narrow
}

// fill is how many bytes etcd has and may have, zero if it is not known, and whether it is out of space.
func (s *space) fill() (size, quota int64, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size, s.quota, s.full
}

// unavailable are the endpoints of members that did not answer at the last look, or are cut off from the others.
func (s *space) unavailable() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent
}

// check is for readiness.
func (s *space) check(context.Context) error {
	if _, _, full := s.fill(); full {
		return errStoreFull
	}
	return nil
}

// endpoints are where etcd's members are asked about themselves: all of them, also those that our client leaves out.
func (n *Node) endpoints() []string {
	if n.member != nil { // the in-process client has no endpoints, and asks this member alone
		return []string{n.member.Endpoint()}
	}
	return n.set.Etcd.Endpoints
}

// members asks each endpoint about itself. The answer is nil of one that takes longer than spaceTimeout, and of one that
// knows no leader: what it says about the cluster may be long past.
func (n *Node) members(ctx context.Context, endpoints []string) []*clientv3.StatusResponse {
	ctx, cancel := context.WithTimeout(ctx, spaceTimeout)
	defer cancel()
	answers := make([]*clientv3.StatusResponse, len(endpoints))
	var wg sync.WaitGroup
	for i, endpoint := range endpoints {
		wg.Go(func() {
			if st, err := n.client.Status(ctx, endpoint); err == nil && st.Leader != 0 {
				answers[i] = st
			}
		})
	}
	wg.Wait()
	return answers
}
