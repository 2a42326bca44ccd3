package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Observation identifies a store and how far its history has come. For one store, later observations follow earlier
// ones: see After.
type Observation struct {
	Cluster  string `json:"cluster"`          // etcd's id of itself, in hexadecimal as etcdctl prints it
	Era      int64  `json:"era"`              // how often a restored store has been accepted; -1: the record is unreadable
	Revision int64  `json:"revision"`         // of etcd's majority
	Job      string `json:"job,omitempty"`    // whose cursor was read; "": none
	Cursor   int64  `json:"cursor,omitempty"` // the revision at which that cursor was written; zero: it has none
	Restored bool   `json:"held,omitempty"`   // the store was restored after Revision; only an acceptance clears it
	Origin   string `json:"origin,omitempty"` // the cluster that the store's own record names; "": the record names none
}

// RestoredError reports that a store is not a later state of the one observed before. It was restored from a backup, or
// another store, perhaps an empty one, took its place.
type RestoredError struct{ Now, Before Observation }

func (e *RestoredError) Error() string {
	what := fmt.Sprintf("the store was restored: it is at revision %d, and was at revision %d before",
		e.Now.Revision, e.Before.Revision)
	if e.Now.Revision >= e.Before.Revision {
		what = fmt.Sprintf("the store was restored to a revision below %d, and has reached revision %d since",
			e.Before.Revision, e.Now.Revision)
	}
	switch {
	case e.Before.Revision == 0:
		what = fmt.Sprintf("the data of etcd cluster %s was restored into etcd cluster %s, and is at revision %d",
			e.Before.Cluster, e.Now.Cluster, e.Now.Revision)
	case e.Now.Era < 0:
		what = "the era record of the store is unreadable"
	case e.Now.Era < e.Before.Era:
		what = fmt.Sprintf("the store is in era %d, and was in era %d before", e.Now.Era, e.Before.Era)
	case e.Now.Cluster != e.Before.Cluster:
		what = fmt.Sprintf("the store is a different one: etcd cluster %s at revision %d instead of cluster %s at revision %d",
			e.Now.Cluster, e.Now.Revision, e.Before.Cluster, e.Before.Revision)
	}
	return what
}

// After returns nil if s can be a later state of the store observed before, or if s has been accepted in its place
// since; otherwise a *RestoredError. If before is the zero Observation, it returns nil, unless the data of s came from another
// cluster and nobody has accepted it. Then Before of the error has only that cluster.
func (s Observation) After(before Observation) error {
	switch era := max(s.Era, 0); {
	case s.Origin != "" && s.Origin != s.Cluster && (before.Revision == 0 || era > before.Era):
		return &RestoredError{Now: s, Before: Observation{Cluster: s.Origin, Era: era}}
	case before.Revision == 0, era > before.Era:
		return nil
	case era < before.Era, s.Cluster != before.Cluster, s.Revision < before.Revision, s.rewound(before), before.Restored:
		return &RestoredError{Now: s, Before: before}
	}
	return nil
}

// rewound reports whether the cursor of the same job was written at a lower revision than before. The revision of a
// restored store soon grows past its earlier value, because clients write to it. The revision of one key falls only
// when a store is restored.
func (s Observation) rewound(before Observation) bool {
	return s.Job == before.Job && s.Cursor > 0 && s.Cursor < before.Cursor
}

// Remember returns the observation to compare with from now on. It marks a restored store, because later observations may look
// normal. Two cases need no mark: the id of another cluster never changes, and an unreadable record does not prove a restore.
func (e *RestoredError) Remember() Observation {
	now, before := e.Now, e.Before
	older := now.Revision < before.Revision || now.rewound(before) || now.Era >= 0 && now.Era < before.Era
	if now.Cluster == before.Cluster && older {
		before.Restored = true
	}
	return before
}

// era is the record that counts how often a restored store was accepted. It names the etcd cluster of the store. So a process
// without a memory detects a backup that was restored into another cluster.
type era struct {
	Era     int64     `json:"era"` // zero: never
	Cluster string    `json:"cluster,omitempty"`
	At      time.Time `json:"at"`
	By      string    `json:"by,omitempty"`
}

// Observe asks etcd's majority for an observation of the store, with the cursor of a job unless jobName is "".
// Observations of the same store never go back, whichever member answers.
func (s *Store) Observe(ctx context.Context, jobName string) (Observation, error) {
	seen, _, err := s.observe(ctx, jobName)
	return seen, err
}

func (s *Store) observe(ctx context.Context, jobName string) (seen Observation, rev int64, err error) {
	gets := []clientv3.Op{clientv3.OpGet(s.keys.record(KindEra, ""))}
	if jobName != "" {
		gets = append(gets, clientv3.OpGet(s.keys.cursor(jobName), clientv3.WithKeysOnly()))
	}
	try, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	resp, err := s.client.Txn(try).Then(gets...).Commit()
	if err != nil {
		return Observation{}, 0, fmt.Errorf("observe the store: %w", err)
	}
	s.recordContact()
	s.count.reached.raise(resp.Header.ClusterId, resp.Header.Revision)
	seen = Observation{Cluster: strconv.FormatUint(resp.Header.ClusterId, 16), Revision: resp.Header.Revision, Job: jobName}
	if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		rev = kvs[0].ModRevision
		seen.Era = -1
		if e := job.ValueOf[era](decode(KindEra, "", kvs[0].Value, rev)); e != nil {
			seen.Era, seen.Origin = e.Era, e.Cluster
		}
	}
	if jobName != "" {
		if kvs := resp.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
			seen.Cursor = kvs[0].ModRevision
		}
	}
	return seen, rev, nil
}

// Accept begins a new era. Every process that observed the store earlier, up to known, then accepts its present state.
func (s *Store) Accept(ctx context.Context, known Observation, at time.Time, by string) (Observation, error) {
	seen, rev, err := s.observe(ctx, "")
	if err != nil {
		return seen, err
	}
	return s.putEra(ctx, seen, rev, era{Era: max(seen.Era, known.Era) + 1, At: at.UTC(), By: by})
}

// Settle records the etcd cluster of the store in the store, unless the record names one or is unreadable. A store of version
// 0.1.0 has no such record. Somebody may also have removed it by hand. Then the new one has known, the era in which this process
// uses the store: with a lower era, no process would work after its next start.
func (s *Store) Settle(ctx context.Context, known int64, at time.Time) error {
	seen, rev, err := s.observe(ctx, "")
	if err == nil && seen.Origin == "" && seen.Era >= 0 {
		_, err = s.putEra(ctx, seen, rev, era{Era: max(seen.Era, known), At: at.UTC()})
	}
	return err
}

// putEra writes e, with the cluster of seen, in place of the record of revision rev.
func (s *Store) putEra(ctx context.Context, seen Observation, rev int64, e era) (Observation, error) {
	e.Cluster = seen.Cluster
	value, err := json.Marshal(e)
	if err != nil {
		return seen, fmt.Errorf("write the era record: %w", err)
	}
	key := s.keys.record(KindEra, "")
	w := &write{lane: key, guards: []*pb.Compare{unchanged(key, rev)}}
	w.putAnyway(key, value, clientv3.NoLease)
	out, err := s.free.do(ctx, w)
	if err != nil {
		return seen, fmt.Errorf("write the era record: %w", err)
	}
	seen.Era, seen.Origin, seen.Revision = e.Era, e.Cluster, out.rev
	return seen, nil
}

// Reached returns the highest revision that etcd has answered with. Later observations of the same store are not below it.
func (s *Store) Reached() int64 { return s.count.reached.get() }

// WentBack returns the revision at which etcd was found to be restored since this process uses it; 0 if it was not.
func (s *Store) WentBack() int64 { return s.count.reached.wentBack() }

// ResetReached makes Reached count from seen, after this store has been accepted in place of another.
func (s *Store) ResetReached(seen Observation) {
	cluster, _ := strconv.ParseUint(seen.Cluster, 16, 64) // observe wrote it
	s.count.reached.reset(cluster, seen.Revision)
}
