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

// Observation is which store somebody sees, and how far its history has come. Of one store, later observations follow earlier ones.
type Observation struct {
	Cluster  string `json:"cluster"`          // etcd's id of itself, in hexadecimal as etcdctl prints it
	Era      int64  `json:"era"`              // how often a restored store has been accepted; -1: nobody can read it
	Revision int64  `json:"revision"`         // that its majority had reached
	Job      string `json:"job,omitempty"`    // whose cursor was looked at; "": none
	Cursor   int64  `json:"cursor,omitempty"` // the revision at which that cursor was written; zero: there is none
	Restored bool   `json:"held,omitempty"`   // the store was seen to be put back since: only an acceptance ends that
}

// RestoredError says that a store is not the one that was seen before, or as it was before that: it was restored from a
// backup, or another one, maybe empty, is in its place.
type RestoredError struct{ Now, Before Observation }

func (e *RestoredError) Error() string {
	what := fmt.Sprintf("the store was put back to revision %d, and revision %d was seen in it", e.Now.Revision, e.Before.Revision)
	if e.Now.Revision >= e.Before.Revision {
		what = fmt.Sprintf("the store was put back to before revision %d, and has gone on to revision %d since", e.Before.Revision, e.Now.Revision)
	}
	switch {
	case e.Now.Era < 0:
		what = "nobody can read how often a restored store was accepted"
	case e.Now.Era < e.Before.Era:
		what = fmt.Sprintf("the store is from before a restored one was accepted for the %d. time", e.Before.Era)
	case e.Now.Cluster != e.Before.Cluster:
		what = fmt.Sprintf("the store is etcd cluster %s at revision %d, and cluster %s at revision %d was seen in its place",
			e.Now.Cluster, e.Now.Revision, e.Before.Cluster, e.Before.Revision)
	}
	return what
}

// After returns nil if a store that is seen like this can be the one that was seen before, or has been accepted since in
// its place, and else a *RestoredError. A store of which nothing is known may be any.
func (s Observation) After(before Observation) error {
	switch era := max(s.Era, 0); {
	case before.Revision == 0, era > before.Era:
		return nil
	case era < before.Era, s.Cluster != before.Cluster, s.Revision < before.Revision, s.rewound(before), before.Restored:
		return &RestoredError{Now: s, Before: before}
	}
	return nil
}

// rewound says whether the cursor that both look at was written earlier than it was before. The revision of a whole store
// that was put back grows past any other, if only by what others write in it; that of a key never falls, except so.
func (s Observation) rewound(before Observation) bool {
	return s.Job == before.Job && s.Cursor > 0 && s.Cursor < before.Cursor
}

// Keep is what to remember from now on in the place of what was seen before. A store that was put back will not show it for
// ever, so it is held against it; one of another cluster stays another, and a record that nobody can read proves nothing.
func (e *RestoredError) Remember() Observation {
	now, keep := e.Now, e.Before
	if now.Cluster == keep.Cluster && (now.Revision < keep.Revision || now.rewound(keep) || now.Era >= 0 && now.Era < keep.Era) {
		keep.Restored = true
	}
	return keep
}

// era is the record that counts the eras.
type era struct {
	Era int64     `json:"era"`
	At  time.Time `json:"at"`
	By  string    `json:"by,omitempty"`
}

// Observation asks the store's majority what it is, and looks at the cursor of job, unless that is "". No later Observation of the same
// store shows less, whichever member answers.
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
		return Observation{}, 0, fmt.Errorf("look what the store is: %w", err)
	}
	s.hear()
	s.count.reached.note(resp.Header.ClusterId, resp.Header.Revision)
	seen = Observation{Cluster: strconv.FormatUint(resp.Header.ClusterId, 16), Revision: resp.Header.Revision, Job: jobName}
	if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		rev = kvs[0].ModRevision
		seen.Era = -1
		if e := job.ValueOf[era](decode(KindEra, "", kvs[0].Value, rev)); e != nil {
			seen.Era = e.Era
		}
	}
	if jobName != "" {
		if kvs := resp.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
			seen.Cursor = kvs[0].ModRevision
		}
	}
	return seen, rev, nil
}

// Accept begins a new era: whoever saw the store before now, up to what known says, takes it as it is from now on.
func (s *Store) Accept(ctx context.Context, known Observation, at time.Time, by string) (Observation, error) {
	seen, rev, err := s.observe(ctx, "")
	if err != nil {
		return seen, err
	}
	next := max(seen.Era, known.Era) + 1
	value, err := json.Marshal(era{Era: next, At: at.UTC(), By: by})
	if err != nil {
		return seen, fmt.Errorf("accept the store: %w", err)
	}
	key := s.keys.record(KindEra, "")
	w := &write{lane: key, guards: []*pb.Compare{unchanged(key, rev)}}
	w.putAnyway(key, value, clientv3.NoLease)
	out, err := s.free.do(ctx, w)
	if err != nil {
		return seen, fmt.Errorf("accept the store: %w", err)
	}
	seen.Era, seen.Revision = next, out.rev
	return seen, nil
}

// Reached is the highest revision that etcd is known to have reached, by what it answered here: no Observation of the same store that
// is asked for afterwards shows less.
func (s *Store) Reached() int64 { return s.count.reached.last() }

// Begin has Reached count from what was seen: whatever was there before, this store has been accepted in its place.
func (s *Store) ResetReached(seen Observation) {
	cluster, _ := strconv.ParseUint(seen.Cluster, 16, 64) // as sight writes it
	s.count.reached.begin(cluster, seen.Revision)
}
