package election

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/rota-scheduler/rota/test/poll"
)

// patience is how long a test waits for an event. Tests that must distinguish a handover from an expiry use longTTL, which is
// longer than patience.
const (
	patience = 15 * time.Second
	longTTL  = 60 * time.Second
)

// server is the etcd of the whole test binary. Each test has its own prefix.
var server *embed.Etcd

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "election-etcd")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	server, err = startEtcd(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	server.Close()
	if code != 0 {
		return code
	}
	// The package must leave no goroutine behind. The embedded server leaves these two of its own.
	if err := goleak.Find(
		goleak.IgnoreAnyFunction("go.etcd.io/etcd/pkg/v3/schedule.(*fifo).run"),
		goleak.IgnoreAnyFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun"),
	); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func startEtcd(dir string) (*embed.Etcd, error) {
	loopback := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.ListenPeerUrls, cfg.ListenClientUrls = loopback, loopback
	cfg.AdvertisePeerUrls, cfg.AdvertiseClientUrls = loopback, loopback
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.TickMs, cfg.ElectionMs = 50, 500
	cfg.UnsafeNoFsync = true
	cfg.BcryptCost = 4 // the minimum: under the race detector the default costs a second
	cfg.EnableGRPCGateway = false
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case <-time.After(patience):
		etcd.Close()
		return nil, fmt.Errorf("etcd not ready after %v", patience)
	}
}

func serverAddr() string { return server.Clients[0].Addr().String() }

// dial returns a gRPC client for the endpoints, or for server if there are none.
func dial(t *testing.T, endpoints ...string) *clientv3.Client {
	t.Helper()
	if len(endpoints) == 0 {
		endpoints = []string{serverAddr()}
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            endpoints,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		Logger:               zap.NewNop(),
	})
	if err != nil {
		t.Fatalf("dial %v: %v", endpoints, err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// prefixOf returns the election prefix of the test.
func prefixOf(t *testing.T) string {
	return "/" + strings.ReplaceAll(t.Name(), "/", "-") + "/election/"
}

// call returns a context that bounds one request of a test.
func call(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

var eventually = poll.Until

// receive returns the next value of a channel.
func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("not within %v: %s", patience, what)
		panic("unreachable")
	}
}

// heldTerm is one call of the lead function of a node.
type heldTerm struct {
	Term
	ctx  context.Context
	done chan error // lead returns the value that is sent
}

// node is a running elector that delivers its terms one by one.
type node struct {
	*Elector
	terms  chan heldTerm
	stop   context.CancelFunc
	result chan error // the result of Run
}

// start runs an elector. Its lead returns when its context ends. With drain set, it returns only when the test sends on done.
func start(t *testing.T, client *clientv3.Client, cfg Config, drain bool) *node {
	t.Helper()
	return startLogged(t, client, cfg, drain, hclog.NewNullLogger())
}

func startLogged(t *testing.T, client *clientv3.Client, cfg Config, drain bool, log hclog.Logger) *node {
	t.Helper()
	if cfg.Prefix == "" {
		cfg.Prefix = prefixOf(t)
	}
	if cfg.Name == "" {
		cfg.Name = "n"
	}
	ctx, stop := context.WithCancel(context.Background())
	n := &node{Elector: New(cfg, client, log), terms: make(chan heldTerm, 100), stop: stop, result: make(chan error, 1)}
	over := make(chan struct{}) // closed at the end of the test, so that every lead returns
	var wg sync.WaitGroup
	wg.Go(func() {
		n.result <- n.Run(ctx, func(ctx context.Context, term Term) error {
			held := heldTerm{Term: term, ctx: ctx, done: make(chan error, 1)}
			n.terms <- held
			ended := ctx.Done()
			if drain {
				ended = nil
			}
			select {
			case err := <-held.done:
				return err
			case <-ended:
				return context.Cause(ctx)
			case <-over:
				return nil
			}
		})
	})
	t.Cleanup(func() {
		stop()
		close(over)
		wg.Wait()
	})
	return n
}

func (n *node) nextTerm(t *testing.T) heldTerm {
	t.Helper()
	return receive(t, "a term", n.terms)
}

// lost waits for the end of the term's context and returns its cause.
func (h heldTerm) lost(t *testing.T) error {
	t.Helper()
	receive(t, "the end of the term", h.ctx.Done())
	return context.Cause(h.ctx)
}

// foreign returns a candidate in the test's election that uses only package concurrency, as etcdctl elect does.
func foreign(t *testing.T, client *clientv3.Client) *concurrency.Election {
	t.Helper()
	session, err := concurrency.NewSession(client, concurrency.WithTTL(60))
	if err != nil {
		t.Fatalf("open session: %v", err)
	}
	t.Cleanup(func() { session.Close() })
	return concurrency.NewElection(session, strings.TrimSuffix(prefixOf(t), "/"))
}

// contender is a foreign candidate that leads.
func contender(t *testing.T, client *clientv3.Client) *concurrency.Election {
	t.Helper()
	election := foreign(t, client)
	if err := election.Campaign(call(t), "contender"); err != nil {
		t.Fatalf("campaign: %v", err)
	}
	return election
}

// queue lists the keys of the election, the first in the queue first.
func queue(t *testing.T, client *clientv3.Client) []Term {
	t.Helper()
	resp, err := client.Get(call(t), prefixOf(t), clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		t.Fatalf("list election: %v", err)
	}
	var terms []Term
	for _, kv := range resp.Kvs {
		terms = append(terms, Term{Key: string(kv.Key), Rev: kv.CreateRevision})
	}
	return terms
}

// leaseOf returns the lease of a key.
func leaseOf(t *testing.T, client *clientv3.Client, key string) clientv3.LeaseID {
	t.Helper()
	resp, err := client.Get(call(t), key)
	if err != nil || len(resp.Kvs) != 1 {
		t.Fatalf("get %s: got %v, %v, want one key", key, resp, err)
	}
	return clientv3.LeaseID(resp.Kvs[0].Lease)
}

func revoke(t *testing.T, client *clientv3.Client, id clientv3.LeaseID) {
	t.Helper()
	if _, err := client.Revoke(call(t), id); err != nil {
		t.Fatalf("revoke %x: %v", id, err)
	}
}

func remove(t *testing.T, client *clientv3.Client, key string) {
	t.Helper()
	if resp, err := client.Delete(call(t), key); err != nil || resp.Deleted != 1 {
		t.Fatalf("delete %s: got %v, %v, want one deletion", key, resp, err)
	}
}

// guarded reports whether a leader's write would take effect now. It may be called from any goroutine.
func guarded(t *testing.T, client *clientv3.Client, term Term) bool {
	t.Helper()
	resp, err := client.Txn(call(t)).If(term.Held()).Commit()
	if err != nil {
		t.Errorf("compare term %d: %v", term.Rev, err)
		return false
	}
	return resp.Succeeded
}
