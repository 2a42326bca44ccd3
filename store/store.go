package store

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
)

// Config says where the records are and who writes.
type Config struct {
	Prefix  string // of every key, such as "/rota"
	Process string // unique to this process among all that ever write: ids of writes begin with it
	// Clock is what presences keep their leases by; the system's if nil. Replaced where a simulation owns the clocks.
	Clock election.Clock
}

// Store reads and writes rota's records through one etcd client, which it does not close.
type Store struct {
	client *clientv3.Client
	kv     pb.KVClient // the client's own
	keys   Keys
	log    hclog.Logger
	clock  election.Clock
	heard  election.QuorumContact
	ops    ops
	count  counters
	free   *group          // writes that carry their own entitlement
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	running running // all requests and watches under way
	hurry   hurry   // of writes
	doubt   bell    // of watches

	mu     sync.Mutex
	leader *group // guarded by mu: writes of leader.term
}

// New returns a Store on client. Close it before the client.
func New(cfg Config, client *clientv3.Client, log hclog.Logger) *Store {
	s := &Store{client: client, kv: service(client), keys: NewKeys(cfg.Prefix), log: log, clock: cfg.Clock}
	if s.clock == nil {
		s.clock = election.SystemClock
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.ops.process = cfg.Process
	s.free = s.newGroup(s.ctx, nil)
	return s
}

// Process derives Config.Process from a node's name and the time at which its process began.
func Process(node string, began time.Time) string {
	return node + "." + strconv.FormatInt(began.UnixMicro(), 36)
}

// Keys returns the keys of this store.
func (s *Store) Keys() Keys { return s.keys }

// Heard is when etcd's majority answered this store last. While it follows anything, it asks every few seconds.
func (s *Store) Heard() *election.QuorumContact { return &s.heard }

// hear notes an answer of etcd's majority.
func (s *Store) hear() { s.heard.Record(s.clock().Mono) }

// Close gives up what is not answered yet and waits until no request is under way. Terms, mirrors and presences have to
// be over by then. Nothing is written afterwards.
func (s *Store) Close() {
	s.cancel()
	s.running.close()
}

// Hurry has every write that waits for its answer sent again, since what was on its way may be lost: another member leads
// etcd. Sent twice it takes place once, like every write.
func (s *Store) Resend() { s.hurry.bell.ring() }

// Doubt is Hurry, and has every watch prove that it gets on, or else begin anew, within seconds: a member of etcd does not answer
// any more, and what waits for an answer may wait for that one.
func (s *Store) Suspect() {
	s.hurry.bell.ring()
	s.doubt.ring()
}

// led returns the group of term. Its requests end with ctx, which is to be the context of the term.
func (s *Store) led(ctx context.Context, term election.Term) *group {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leader == nil || *s.leader.term != term {
		s.leader = s.newGroup(ctx, &term)
	}
	return s.leader
}
