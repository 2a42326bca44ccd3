package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/ports"
)

// Three replicas whose embedded etcd uses TLS form a cluster and run jobs. A process without a certificate of their authority can
// neither read nor write their etcd.
func TestEmbeddedEtcdOverTLS(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	authority, err := pki.Init(dir, "prod", now)
	if err != nil {
		t.Fatal(err)
	}
	var sets []config.Settings
	var members []string
	for i := range 3 {
		name := fmt.Sprintf("q%d", i+1)
		if err := authority.Issue(dir, pki.Request{Name: name, Kind: auth.KindReplica, Life: time.Hour}, now); err != nil {
			t.Fatal(err)
		}
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
