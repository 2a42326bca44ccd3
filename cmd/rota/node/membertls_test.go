package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/pki/pkitest"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/ports"
)

// TestASingleMemberHasAPeerWithTLS starts a single replica with the settings that it needs to grow to three.
func TestASingleMemberHasAPeerWithTLS(t *testing.T) {
	t.Parallel()
	dir := pkitest.Replicas(t, "q1")
	set := settings(t, "q1")
	set.Etcd.Embedded.Client, set.Etcd.Embedded.Peer = "https://"+ports.Addr(t), "https://"+ports.Addr(t)
	set.Etcd.Embedded.TLS = config.ClientTLS{
		Cert: filepath.Join(dir, "q1.crt"), Key: filepath.Join(dir, "q1.key"), CA: filepath.Join(dir, "ca.crt"),
	}
	q1 := start(t, Config{Settings: set, Version: version})
	q1.put(t, "talk", job.Spec{Shell: "echo over TLS"})
}

// Three replicas whose embedded etcd uses TLS form a cluster and run jobs. A process without a certificate of their authority can
// neither read nor write their etcd.
func TestEmbeddedEtcdOverTLS(t *testing.T) {
	t.Parallel()
	names := []string{"q1", "q2", "q3"}
	dir := pkitest.Replicas(t, names...)
	var sets []config.Settings
	var members []string
	for _, name := range names {
		set := settings(t, name)
		set.Etcd.Embedded.Client = "https://" + ports.Addr(t)
		set.Etcd.Embedded.Peer = "https://" + ports.Addr(t)
		set.Etcd.Embedded.TLS = config.ClientTLS{
			Cert: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key"), CA: filepath.Join(dir, "ca.crt"),
		}
		members = append(members, name+"="+set.Etcd.Embedded.Peer)
		sets = append(sets, set)
	}
	var replicas []*running
	for i := range sets {
		sets[i].Etcd.Embedded.Cluster = strings.Join(members, ",")
		replicas = append(replicas, launch(t, Config{Settings: sets[i], Version: version}))
	}
	for _, r := range replicas {
		select {
		case r.node = <-r.up:
		case <-time.After(30 * time.Second):
			t.Fatal("a replica is not up")
		}
	}
	q1 := replicas[0]
	eventually(t, "a replica leads", func() bool {
		v, err := q1.Cluster(t.Context())
		return err == nil && v.Leader != nil
	})
	eventually(t, "each replica publishes its list of members", func() bool {
		others := q1.node.lists.others()
		return len(others) == 2 && others["q2"] == strings.Join(members, ",")
	})
	q1.put(t, "talk", job.Spec{Shell: "echo over TLS"})
	q1.ends(t, q1.submit(t, "talk", api.RunRequest{}).Ref, job.Succeeded)

	roots := x509.NewCertPool()
	text, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots.AppendCertsFromPEM(text)
	put := func(certificates ...tls.Certificate) error {
		c, err := clientv3.New(clientv3.Config{
			Endpoints: []string{sets[0].Etcd.Embedded.Client}, DialTimeout: 2 * time.Second, Logger: zap.NewNop(),
			TLS: &tls.Config{RootCAs: roots, Certificates: certificates, MinVersion: tls.VersionTLS12},
		})
		if err != nil {
			return err
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err = c.Put(ctx, "/other/key", "value")
		return err
	}
	if err := put(); err == nil {
		t.Error("etcd takes a write of a client without a certificate")
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "q2.crt"), filepath.Join(dir, "q2.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := put(pair); err != nil {
		t.Errorf("a client with a certificate: %v", err)
	}
}

// If one authority serves etcd and the API, etcd must accept only certificates of replicas and workers. Otherwise the process does
// not start.
func TestUsersDoNotOpenEtcd(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{"q1": auth.KindReplica, "w1": auth.KindWorker, "alice": auth.KindUser}
	shared, other := pkitest.Dir(t, kinds), pkitest.Dir(t, kinds)
	ca := func(dir string) string { return filepath.Join(dir, "ca.crt") }
	both := filepath.Join(shared, "both.crt")
	var bundle []byte
	for _, dir := range []string{other, shared} {
		text, err := os.ReadFile(ca(dir))
		if err != nil {
			t.Fatal(err)
		}
		bundle = append(bundle, text...)
	}
	if err := os.WriteFile(both, bundle, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, own, etcd, clients string
		restricted, ok           bool
	}{
		{"no authority of clients", "q1", ca(shared), "", false, true},
		{"two authorities", "q1", ca(shared), ca(other), false, true},
		{"one authority", "q1", ca(shared), ca(shared), true, true},
		{"one authority, a worker", "w1", ca(shared), ca(shared), true, true},
		{"one of two is shared, as while it is replaced", "q1", both, ca(other), true, true},
		{"one authority, and a certificate that is no process's", "alice", ca(shared), ca(shared), false, false},
		{"a missing file", "q1", ca(shared), filepath.Join(other, "absent"), false, false},
	} {
		got, err := memberTLS(config.ClientTLS{
			Cert: filepath.Join(shared, tt.own+".crt"), Key: filepath.Join(shared, tt.own+".key"), CA: tt.etcd,
		}, tt.clients)
		if (err == nil) != tt.ok || (len(got.Names) > 0) != tt.restricted {
			t.Errorf("%s: got names %q, %v; want restricted %t, accepted %t", tt.name, got.Names, err, tt.restricted, tt.ok)
		}
		if err != nil && !failure.IsConfig(err) {
			t.Errorf("%s: %v does not end the process with exit code 78", tt.name, err)
		}
	}
	if _, err := memberTLS(config.ClientTLS{
		Cert: filepath.Join(shared, "alice.crt"), Key: filepath.Join(shared, "alice.key"), CA: ca(shared),
	}, ca(shared)); err == nil || !strings.Contains(err.Error(), "give etcd an authority of its own") {
		t.Errorf("got %v, want advice", err)
	}

	// The certificate of a user has no host, so etcd refuses it.
	set := settings(t, "q1")
	set.Etcd.Embedded.Client = "https://" + ports.Addr(t)
	set.Etcd.Embedded.TLS = config.ClientTLS{
		Cert: filepath.Join(shared, "q1.crt"), Key: filepath.Join(shared, "q1.key"), CA: ca(shared),
	}
	set.HTTP.TLS = config.ServerTLS{Cert: set.Etcd.Embedded.TLS.Cert, Key: set.Etcd.Embedded.TLS.Key, ClientCA: ca(shared)}
	r := launch(t, Config{Settings: set, Version: version})
	select {
	case r.node = <-r.up:
	case <-time.After(30 * time.Second):
		t.Fatal("the replica is not up")
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	for name, admitted := range map[string]bool{"q1": true, "w1": true, "alice": false} {
		pair, err := tls.LoadX509KeyPair(filepath.Join(shared, name+".crt"), filepath.Join(shared, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := clientv3.New(clientv3.Config{
			Endpoints: []string{set.Etcd.Embedded.Client}, DialTimeout: 2 * time.Second, Logger: zap.NewNop(),
			TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		_, err = c.Get(ctx, "/any")
		cancel()
		if (err == nil) != admitted {
			t.Errorf("%s at etcd: got %v, want admitted %t", name, err, admitted)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
