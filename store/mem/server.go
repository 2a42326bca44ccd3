package mem

import (
	"context"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// The ids in the headers of responses.
const (
	clusterID = 0x6d656d
	memberID  = 1
	firstTerm = 2
)

// Server is one etcd in memory. Its methods are safe for concurrent use.
type Server struct {
	cfg   Config
	began time.Time // the checks for expired leases count from here

	mu      sync.Mutex // never held while waiting
	closed  bool
	data    *data
	term    uint64  // in the headers of responses; Elect raises it
	links   []*link // in the order of their creation
	ops     int64   // number of operations so far
	held    []*held
	noSpace bool
	expiry  *time.Timer // revokes leases; nil while there is none to revoke
	wakes   time.Time   // the time at which expiry fires
}

// New returns an empty server at revision 1.
func New(cfg Config) *Server {
	return &Server{
		cfg:   cfg.withDefaults(),
		began: time.Now(),
		data:  newData(),
		term:  firstTerm,
	}
}

// Client returns a new client. Each client has its own link, so a fault of one
// client does not affect the others. Close it, or the server, to end it. Its
// calls then fail like those of a closed connection.
func (s *Server) Client() *clientv3.Client {
	c := clientv3.NewCtxClient(context.Background())
	l := &link{srv: s, client: c, closing: make(chan struct{})}
	service := kvClient{pb.NewKVClient(noConn{}), l}
	c.KV = kv{clientv3.NewKVFromKVClient(service, c), service}
	c.Lease = lessor{clientv3.NewLeaseFromLeaseClient(leaseClient{l}, c, time.Second), leaseClient{l}}
	c.Watcher = watcher{l}
	c.Maintenance = clientv3.NewMaintenanceFromMaintenanceClient(maintenanceClient{pb.NewMaintenanceClient(noConn{}), l}, c)
	c.Cluster = clientv3.NewClusterFromClusterClient(clusterClient{pb.NewClusterClient(noConn{}), l}, c)
	c.Auth = clientv3.NewAuthFromAuthClient(pb.NewAuthClient(noConn{}), c)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.links = append(s.links, l)
	return c
}

// Close ends all clients and waits for the goroutines of their watches. It
// drops the operations that Late delayed.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	if s.expiry != nil {
		s.expiry.Stop()
	}
	for _, h := range s.held {
		if h.timer != nil {
			h.timer.Stop()
		}
	}
	s.held = nil
	links := slices.Clone(s.links)
	s.mu.Unlock()
	for _, l := range links {
		_ = l.client.Close() // the error is always context.Canceled
	}
	return nil
}

// Rev returns the present revision of the store.
func (s *Server) Rev() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data.rev
}

// Elect simulates the election of another leader: answers carry a new term.
func (s *Server) Elect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term++
}

// header fills the header of a response. If it has no revision, header sets the
// present one. The caller holds mu.
func (s *Server) header(h *pb.ResponseHeader) *pb.ResponseHeader {
	if h == nil {
		h = &pb.ResponseHeader{}
	}
	h.ClusterId, h.MemberId, h.RaftTerm = clusterID, memberID, s.term
	if h.Revision == 0 {
		h.Revision = s.data.rev
	}
	return h
}

// lock locks mu for an operation. It returns an error if the server is closed.
func (s *Server) lock() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return rpctypes.ErrGRPCStopped
	}
	return nil
}

// commit commits a write and notifies the watches. The caller holds mu.
func (s *Server) commit(w *write) {
	if changes := w.commit(); len(changes) > 0 {
		s.notify(changes)
	}
}
