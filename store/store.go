package store

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
)

// Config says where the records are, and identifies the writer.
type Config struct {
	Prefix  string // of every key, such as "/rota"
	Process string // unique among all processes that ever write: ids of writes begin with it
	// Clock times the leases of presences. nil: the system's clock. A simulation sets its own.
	Clock election.Clock
}

// Store reads and writes rota's records through one etcd client, which it does not close.
type Store struct {
	client  *clientv3.Client
	kv      pb.KVClient // the key-value service that client uses
	keys    Keys
	gateKey string // of the gate's record
	log     hclog.Logger
	clock   election.Clock
	contact election.QuorumContact
	ids     writeIDs
	count   counters
	free    *group          // writes without a term: each has its own guards
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc

	running running // all requests and watches under way
	tries   tries   // of requests that must be answered
	suspect signal  // fired when a member of etcd does not answer
	probes  prober  // for the watches

	mu     sync.Mutex
	leader *group // guarded by mu: writes of leader.term
}

// New returns a Store on client. Close it before the client.
func New(cfg Config, client *clientv3.Client, log hclog.Logger) *Store {
	s := &Store{client: client, kv: service(client), keys: NewKeys(cfg.Prefix), log: log, clock: cfg.Clock}
	s.gateKey = s.keys.record(KindGate, "")
	if s.clock == nil {
		s.clock = election.SystemClock
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.ids.process = cfg.Process
	s.probes = prober{read: s.Revision, began: time.Now()}
	s.free = s.newGroup(s.ctx, nil)
	return s
}

// Process derives Config.Process from a node's name and the start time of its process.
func Process(node string, started time.Time) string {
	return node + "." + strconv.FormatInt(started.UnixMicro(), 36)
}

// Keys returns the keys of this store.
func (s *Store) Keys() Keys { return s.keys }

// QuorumContact returns when etcd's majority last answered this store. A store with an open watch asks every few
// seconds.
func (s *Store) QuorumContact() *election.QuorumContact { return &s.contact }

// recordContact records an answer of etcd's majority.
func (s *Store) recordContact() { s.contact.Record(s.clock().Mono) }

// Close abandons unanswered requests and waits until no request is under way. Terms, mirrors and presences must have ended by
// then. Nothing is written afterwards.
func (s *Store) Close() {
	s.cancel()
	s.running.close()
}

// Resend sends every unanswered write again. Call it when etcd has a new leader, because requests to the last one may be lost.
// A write that is sent twice still takes place once.
func (s *Store) Resend() { s.tries.resend.notify() }

// Suspect sends every unanswered write again, as Resend does. It also makes every read and every watch restart that makes no
// progress within seconds. Call it when a member of etcd stops answering, because reads and watches may be waiting for it.
func (s *Store) Suspect() {
	s.tries.resend.notify()
	s.suspect.notify()
}

// led returns the group of term. Its requests end with ctx, which must be the term's context.
func (s *Store) led(ctx context.Context, term election.Term) *group {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leader == nil || *s.leader.term != term {
		s.leader = s.newGroup(ctx, &term)
	}
	return s.leader
}

// writeIDs numbers the writes of one process. An id begins with Config.Process, so no other process has it.
type writeIDs struct {
	process string
	n       atomic.Int64
}

func (w *writeIDs) next() string {
	b := append(append(make([]byte, 0, 96), w.process...), '-')
	return string(strconv.AppendInt(b, w.n.Add(1), 36))
}

// running is the goroutines of a store.
type running struct {
	wg sync.WaitGroup

	mu     sync.Mutex
	closed bool // nothing may start any more
}

// start runs f in the background and returns true; after close it returns false and does not run f.
func (r *running) start(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.wg.Go(f)
	}
	return !r.closed
}

// close waits for everything that was started.
func (r *running) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.wg.Wait()
}
