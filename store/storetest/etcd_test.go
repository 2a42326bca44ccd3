package storetest

import (
	"net/url"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"

	"github.com/rota-scheduler/rota/test/ports"
)

// startEtcd runs a real etcd without durability for the length of a test.
func startEtcd(t *testing.T) *embed.Etcd {
	t.Helper()
	cfg := embed.NewConfig()
	cfg.Dir = t.TempDir()
	cfg.UnsafeNoFsync = true
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.TickMs, cfg.ElectionMs = 50, 1000
	peer, client := freeURL(t), freeURL(t)
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatalf("start etcd: %v", err)
	}
	t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(20 * time.Second):
		t.Fatal("etcd is not ready after 20 s")
	}
	return e
}

func freeURL(t *testing.T) url.URL {
	t.Helper()
	return url.URL{Scheme: "http", Host: ports.Addr(t)}
}

// inProcess returns clients that call the server directly.
func inProcess(t *testing.T, e *embed.Etcd) func(*testing.T) *clientv3.Client {
	return func(t *testing.T) *clientv3.Client {
		c := v3client.New(e.Server)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

// overNetwork returns clients that call the server through gRPC.
func overNetwork(e *embed.Etcd) func(*testing.T) *clientv3.Client {
	return func(t *testing.T) *clientv3.Client {
		c, err := clientv3.New(clientv3.Config{
			Endpoints:   []string{e.Clients[0].Addr().String()},
			DialTimeout: 5 * time.Second,
			Logger:      zap.NewNop(),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sync.OnceFunc(func() { _ = c.Close() }))
		return c
	}
}
