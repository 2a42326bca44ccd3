package checkup

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/cmd/rota/internal/etcdconn"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/doctor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

const (
	memberTimeout = 3 * time.Second // of all requests to one member
	reads         = 5               // how many reads the latency is the median of
)

// askMembers asks all etcd members at the same time.
func askMembers(ctx context.Context, etcd config.Etcd) []doctor.Member {
	list := make([]doctor.Member, len(etcd.Endpoints))
	var wg sync.WaitGroup
	for i, endpoint := range etcd.Endpoints {
		wg.Go(func() {
			one := etcd
			one.Endpoints = []string{endpoint}
			list[i] = askMember(ctx, one)
		})
	}
	wg.Wait()
	return list
}

// askMember asks the only member that etcd has.
func askMember(ctx context.Context, etcd config.Etcd) (m doctor.Member) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	m.Endpoint = etcd.Endpoints[0]
	c, err := etcdconn.Dial(etcd)
	if err != nil {
		m.Err = err
		return m
	}
	defer func() { _ = c.Close() }()
	st, err := c.Status(ctx, m.Endpoint)
	if err != nil {
		m.Err = err
		return m
	}
	m.Version, m.ID, m.Leader, m.Alarms = st.Version, st.Header.MemberId, st.Leader, st.Errors
	m.Cluster = strconv.FormatUint(st.Header.ClusterId, 16)
	m.Size, m.Used, m.Quota, m.OldQuota = st.DbSize, st.DbSizeInUse, st.DbSizeQuota, !etcdconn.CountsNested(st.Version)
	if st.Leader == 0 {
		return m // it cannot answer a linearizable read
	}
	var took []time.Duration
	for range reads {
		began := time.Now()
		if _, err := c.Get(ctx, etcd.Prefix+"/", clientv3.WithKeysOnly(), clientv3.WithLimit(1)); err != nil {
			m.Err = fmt.Errorf("read: %w", err)
			return m
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	m.Latency = took[len(took)/2]
	if all, err := c.MemberList(ctx); err == nil { // a user of etcd without rights may not list them
		m.Configured = len(all.Members)
	}
	return m
}

// Records reads what the store holds of jobs, workers and replicas into f.
func Records(ctx context.Context, s *store.Store, f *doctor.Facts) error {
	_, err := s.Walk(ctx, func(c job.Change) {
		switch v := c.Value.(type) {
		case *job.Job:
			f.Jobs = append(f.Jobs, v)
		case *job.Worker:
			f.Workers = append(f.Workers, v)
		case *job.Replica:
			f.Replicas = append(f.Replicas, v)
		}
		if c.Bad != nil {
			f.Unreadable = append(f.Unreadable, doctor.Unreadable{Key: c.Key, Err: c.Bad})
		}
	})
	if err != nil {
		return fmt.Errorf("read the store: %w", err)
	}
	if seen, err := s.Observe(ctx, ""); err == nil {
		f.Restored = seen.After(store.Observation{})
	}
	return nil
}
