package etcdconn

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki/pkitest"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/ports"
	"github.com/rota-scheduler/rota/test/proxy"
)

// TestAMemberOfAnotherClusterGivesNoLogin opens a connection to an etcd with users, and to a new etcd without users at another of
// the endpoints. Only the new one answers at first, so it answers the login. Certificates are required too, so etcd does not ask a
// client without a token for one.
func TestAMemberOfAnotherClusterGivesNoLogin(t *testing.T) {
	t.Parallel()
	dir := pkitest.Replicas(t, "q1")
	file := func(name string) string { return filepath.Join(dir, name) }
	ownTLS := config.ClientTLS{Cert: file("q1.crt"), Key: file("q1.key"), CA: file("ca.crt")}
	start := func(peer string) *embedded.Server { // the ID of a cluster depends on the address of its peer
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		s, err := embedded.Start(ctx, embedded.Config{
			Dir: t.TempDir(), Client: "https://127.0.0.1:0", Peer: peer, NoSync: true,
			ClientTLS: embedded.TLS{Cert: ownTLS.Cert, Key: ownTLS.Key, CA: ownTLS.CA},
		}, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("close etcd: %v", err)
			}
		})
		return s
	}
	own, stranger := start("http://"+ports.Addr(t)), start("http://"+ports.Addr(t))
	id := users(t, own.Endpoint(), ownTLS)
	password := files.Write(t, filepath.Join(t.TempDir(), "password"), "secret\n")
	link := proxy.NewLink(t, own.Endpoint())
	link.Cut() // so the stranger answers the first login, and the first poll finds nothing else
	set := config.Etcd{
		Endpoints: []string{stranger.Endpoint(), strings.Replace(link.Endpoint(), "http:", "https:", 1)},
		Prefix:    "/rota", TLS: ownTLS, Username: "rota", PasswordFile: password,
	}
	c, err := Open(t.Context(), Config{Etcd: set, Cluster: func() string { return id }}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	run(t, c)
	if link.Held() == 0 {
		t.Error("the cut did not bite")
	}
	link.Heal()
	last := ""
	defer func() {
		if t.Failed() {
			t.Logf("the last read: %s", last)
		}
	}()
	eventually(t, "the process's own etcd answers a read", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		resp, err := c.Client().Get(ctx, "/rota/x")
		if err != nil {
			last = err.Error()
			return false
		}
		last = "an answer of the cluster " + strconv.FormatUint(resp.Header.ClusterId, 16)
		return strconv.FormatUint(resp.Header.ClusterId, 16) == id
	})
}

// users creates the users root and rota at an etcd, and returns the ID of its cluster.
func users(t *testing.T, endpoint string, certificates config.ClientTLS) (cluster string) {
	t.Helper()
	cfg, err := clientTLS(certificates)
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, TLS: cfg, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got, err := client.Get(ctx, "x")
	for _, step := range []func() error{
		func() error { _, err := client.RoleAdd(ctx, "rota"); return err },
		func() error {
			_, err := client.RoleGrantPermission(ctx, "rota", "/rota/", "/rota0", clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := client.UserAdd(ctx, "rota", "secret"); return err },
		func() error { _, err := client.UserGrantRole(ctx, "rota", "rota"); return err },
		func() error { _, err := client.UserAdd(ctx, "root", "secret"); return err },
		func() error { _, err := client.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := client.AuthEnable(ctx); return err },
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatUint(got.Header.ClusterId, 16)
}
