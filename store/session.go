package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// StoredSession is a session with the state of its record.
type StoredSession struct {
	auth.Session
	rev   int64
	lease clientv3.LeaseID
}

// PutSession creates a session. id is the hash of its key, so no other session has it. etcd removes the record when the session
// expires.
func (s *Store) PutSession(ctx context.Context, id string, v auth.Session) error {
	return s.putLeased(ctx, KindSessions, id, v, v.Expires.Sub(v.Created))
}

// PutCode creates a one-time code. id is its hash. etcd removes the record when the code expires.
func (s *Store) PutCode(ctx context.Context, id string, v auth.Session) error {
	return s.putLeased(ctx, KindCodes, id, v, v.Expires.Sub(v.Created))
}

// putLeased creates a record on a lease of its own. The name is random, so a second sending may safely replace the first.
func (s *Store) putLeased(ctx context.Context, kind Kind, name string, v any, life time.Duration) error {
	lease, err := s.grant(ctx, life)
	if err != nil {
		return fmt.Errorf("write %s: %w", title(kind, name), err)
	}
	value, err := encode(v)
	if err != nil {
		return err
	}
	w := s.writeOf(kind, name)
	w.putAnyway(s.keys.record(kind, name), value, lease)
	if _, err := s.free.do(WithoutAudit(ctx), w); err != nil { // the record itself names its principal
		return fmt.Errorf("write %s: %w", title(kind, name), err)
	}
	return nil
}

// grant returns a lease that nobody renews. If its record is never written, etcd removes the lease when it expires.
func (s *Store) grant(ctx context.Context, life time.Duration) (clientv3.LeaseID, error) {
	try, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	resp, err := s.client.Grant(try, int64(math.Ceil(life.Seconds())))
	if isCode(err, rpctypes.ErrNoSpace) {
		err = job.ErrFull
	}
	if err != nil {
		return 0, fmt.Errorf("grant lease: %w", err)
	}
	return resp.ID, nil
}

// Session reads a session from etcd's majority. The error is job.ErrNotFound if there is none.
func (s *Store) Session(ctx context.Context, id string) (StoredSession, error) {
	return s.leased(ctx, KindSessions, id)
}

func (s *Store) leased(ctx context.Context, kind Kind, name string) (StoredSession, error) {
	resp, err := s.ask(ctx, tryTimeout, s.keys.record(kind, name))
	switch {
	case err != nil:
		return StoredSession{}, fmt.Errorf("read %s: %w", title(kind, name), err)
	case len(resp.Kvs) == 0:
		return StoredSession{}, fmt.Errorf("%s: %w", title(kind, name), job.ErrNotFound)
	}
	kv := resp.Kvs[0]
	v := job.ValueOf[auth.Session](decodeKV(kind, name, kv))
	if v == nil {
		return StoredSession{}, fmt.Errorf("%s: %w", title(kind, name), job.ErrNotFound) // an unreadable record proves nobody
	}
	return StoredSession{*v, kv.ModRevision, clientv3.LeaseID(kv.Lease)}, nil
}

// TouchSession records the last use of a session. It changes nothing if the session has ended or another replica was faster.
func (s *Store) TouchSession(ctx context.Context, id string, v StoredSession, used time.Time) error {
	v.Used = used.UTC().Truncate(time.Second)
	value, err := encode(v.Session)
	if err != nil {
		return err
	}
	key, w := s.keys.record(KindSessions, id), s.writeOf(KindSessions, id)
	w.guards = []*pb.Compare{unchanged(key, v.rev)}
	w.putAnyway(key, value, v.lease)
	if _, err := s.free.do(ctx, w); err != nil && !errors.Is(err, job.ErrConflict) {
		return fmt.Errorf("write %s: %w", title(KindSessions, id), err)
	}
	return nil
}

// DeleteSession ends a session. It need not exist.
func (s *Store) DeleteSession(ctx context.Context, id string) error {
	key, w := s.keys.record(KindSessions, id), s.writeOf(KindSessions, id)
	there, err := s.ask(ctx, tryTimeout, key) // a read of keys only omits the lease
	if err == nil {
		w.dropAnyway(key)
		_, err = s.free.do(ctx, w)
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", title(KindSessions, id), err)
	}
	for _, kv := range there.Kvs {
		s.revoke(ctx, clientv3.LeaseID(kv.Lease))
	}
	return nil
}

// revoke ends the lease of a record that was removed. A late sending of the write that created the record is refused from then on,
// and cannot bring it back. If the revocation fails, the lease expires.
func (s *Store) revoke(ctx context.Context, lease clientv3.LeaseID) {
	if lease == clientv3.NoLease {
		return
	}
	try, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	if _, err := s.client.Revoke(try, lease); err != nil && !isCode(err, rpctypes.ErrLeaseNotFound) {
		s.log.Warn("lease was not revoked, it expires", "err", err)
	}
}

// RedeemCode replaces a code with a session, in one transaction. So only one client can use a code. begin returns the session
// from the record of the code. The error is job.ErrNotFound if there is no such code any more.
func (s *Store) RedeemCode(ctx context.Context, code, session string, begin func(auth.Session) auth.Session) error {
	found, err := s.leased(ctx, KindCodes, code)
	if err != nil {
		return err
	}
	v := begin(found.Session)
	lease, err := s.grant(ctx, v.Expires.Sub(v.Created))
	if err != nil {
		return err
	}
	value, err := encode(v)
	if err != nil {
		return err
	}
	key, w := s.keys.record(KindCodes, code), s.writeOf(KindCodes, code)
	w.guards = []*pb.Compare{unchanged(key, found.rev)}
	w.putAnyway(s.keys.record(KindSessions, session), value, lease)
	w.dropAnyway(key)
	switch _, err = s.free.do(ctx, w); {
	case errors.Is(err, job.ErrConflict):
		return fmt.Errorf("%s was used: %w", title(KindCodes, code), job.ErrNotFound)
	case err != nil:
		return fmt.Errorf("use %s: %w", title(KindCodes, code), err)
	}
	s.revoke(ctx, found.lease)
	return nil
}
