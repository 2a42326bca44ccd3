package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// trail is the audit record of one request. The first change of the request writes it.
type trail struct {
	record job.Audit
	done   atomic.Bool // a change has written it, or none writes it
}

type trailKey struct{}

// WithAudit returns a context for one request of a client. The first change that the store makes with it also writes an audit
// record, in its transaction: both exist, or neither. The store fills in what changed. a has the time, the author and the verb.
// Further changes of the same request write no record, so one request leaves one record.
//
// The context carries the record so that no operation can forget it: each write of the store passes the same place.
func WithAudit(ctx context.Context, a job.Audit) context.Context {
	a.ID = auditID(a.At)
	return context.WithValue(ctx, trailKey{}, &trail{record: a})
}

// WithoutAudit returns a context for a request of a client whose changes write no audit record.
func WithoutAudit(ctx context.Context) context.Context {
	t := &trail{}
	t.done.Store(true)
	return context.WithValue(ctx, trailKey{}, t)
}

// auditID returns a new id for an audit record. Ids sort by time.
func auditID(at time.Time) string {
	return strings.ToLower(ulid.MustNew(ulid.Timestamp(at), rand.Reader).String())
}

// firstAuditID returns an id that sorts before the ids of all records from at on.
func firstAuditID(at time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(at)) // fails only after the year 10889
	return strings.ToLower(id.String())
}

// addAudit adds the audit record of ctx to w, if there is one. It reads the record that w replaces, to compare it. The guards of w
// refuse w if that record changes meanwhile.
func (s *Store) addAudit(ctx context.Context, w *write) error {
	t, _ := ctx.Value(trailKey{}).(*trail)
	if t == nil || t.done.Load() || w.audit != nil || len(w.probe) == 0 {
		return nil
	}
	a := t.record
	key := w.probe[0]
	a.Kind, a.Object, _ = s.keys.Parse(key)
	if len(w.guards) > 0 {
		a.Before = w.guards[0].GetModRevision()
	}
	if a.Kind != KindRuns && w.value != nil {
		var before []byte
		if a.Before != 0 {
			resp, err := s.ask(ctx, tryTimeout, key)
			if err != nil {
				return fmt.Errorf("read %s: %w", key, err)
			}
			if len(resp.Kvs) > 0 {
				before = resp.Kvs[0].Value
			}
		}
		a.Fields = job.ChangedFields(a.ID, before, w.value)
	}
	value, err := encode(a)
	if err != nil {
		return err
	}
	at := s.keys.record(KindAudit, a.ID)
	w.audit = putOp(at, value, clientv3.NoLease)
	w.bytes += len(at) + len(value)
	return nil
}

// ofClient reports whether ctx belongs to a request of a client.
func ofClient(ctx context.Context) bool {
	t, _ := ctx.Value(trailKey{}).(*trail)
	return t != nil
}

// auditDone records that a change has written the audit record of ctx.
func auditDone(ctx context.Context) {
	if t, _ := ctx.Value(trailKey{}).(*trail); t != nil {
		t.done.Store(true)
	}
}

// Audits returns the newest audit records, the latest first, at most limit. before is the id that they come before; empty: all.
func (s *Store) Audits(ctx context.Context, before string, limit int) ([]job.Audit, error) {
	from := s.keys.family(KindAudit)
	end := clientv3.GetPrefixRangeEnd(from)
	if before != "" {
		end = from + before
	}
	resp, err := s.ask(ctx, tryTimeout, from, clientv3.WithRange(end), clientv3.WithLimit(int64(limit)),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))
	if err != nil {
		return nil, fmt.Errorf("read audit records: %w", err)
	}
	records := make([]job.Audit, 0, len(resp.Kvs))
	for _, kv := range resp.Kvs {
		id := string(kv.Key[len(from):])
		a := job.ValueOf[job.Audit](decode(KindAudit, id, kv.Value, kv.ModRevision))
		if a == nil { // somebody wrote it by hand; the status reports it
			a = &job.Audit{ID: id, Verb: "unreadable", Rev: kv.ModRevision}
		}
		records = append(records, *a)
	}
	return records, nil
}

// SweepAudit removes the audit records from before an instant. If more than keep are left, it also removes the oldest records of
// single runs, and then the oldest of all. So many runs cannot displace the records of other changes. It returns how many it
// removed. Only the leader calls it, with the context of its term.
func (s *Store) SweepAudit(ctx context.Context, term election.Term, before time.Time, keep int) (removed int, err error) {
	prefix := s.keys.family(KindAudit)
	resp, err := s.ask(ctx, tryTimeout, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("count audit records: %w", err)
	}
	surplus := int(resp.Count) - keep
	oldest := []byte(prefix + firstAuditID(before))
	aged := func(kv *mvccpb.KeyValue) bool { return bytes.Compare(kv.Key, oldest) < 0 }
	ofRun := func(kv *mvccpb.KeyValue) bool {
		a := job.ValueOf[job.Audit](decode(KindAudit, string(kv.Key[len(prefix):]), kv.Value, kv.ModRevision))
		return a == nil || a.OfRun()
	}
	for _, first := range []func(*mvccpb.KeyValue) bool{ofRun, func(*mvccpb.KeyValue) bool { return true }} {
		n, err := s.sweep(ctx, term, KindAudit, func(kv *mvccpb.KeyValue) bool {
			old := aged(kv) || surplus > 0 && first(kv)
			if old {
				surplus--
			}
			return old
		})
		removed += n
		if err != nil {
			return removed, fmt.Errorf("remove audit records: %w", err)
		}
		if surplus <= 0 {
			break
		}
	}
	return removed, nil
}
