package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/store/embedded"
)

// teller is a fake cluster whose description of itself is view.
type teller struct {
	*fakeCluster
	view api.ClusterView
}

func (t *teller) Cluster(context.Context) (api.ClusterView, error) { return t.view, nil }

// startTeller starts a teller with a server, and returns the URL of the server.
func startTeller(t *testing.T, view api.ClusterView) (server string) {
	fake := newFakeCluster()
	backend := fake.backend()
	backend.Replica = &teller{fake, view}
	s := httptest.NewServer(api.New(api.DefaultConfig(), backend, hclog.NewNullLogger()).Handler())
	t.Cleanup(s.Close)
	return s.URL
}

func TestFindStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rota.yaml")
	if err := os.WriteFile(file, []byte("node: {name: q1}\netcd: {endpoints: [http://file:2379], username: rota, password_file: /run/x}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := startTeller(t, api.ClusterView{Name: "/rota"})
	const asked = "does not report where its store is" // the error for such a server
	inEnv := []string{"HOME=/", "ROTA_NODE_NAME=x", "ROTA_SERVER=" + server}
	for name, tc := range map[string]struct {
		environ   []string
		server    string
		file      string
		endpoints []string
		want      string // the endpoint, or a part of the error text
	}{
		"endpoints":                             {inEnv, "", "", []string{"http://e:2379"}, "http://e:2379"},
		"endpoints, whatever else is wrong":     {[]string{"ROTA_NODE_NAME=No Name", "ROTA_WORKER_CAPACITY=many"}, "", "", []string{"http://e:2379"}, "http://e:2379"},
		"the file":                              {inEnv, "", file, nil, "http://file:2379"},
		"endpoints, and the file for the login": {inEnv, "", file, []string{"http://e:2379"}, "http://e:2379"},
		"the file of the environment":           {append(inEnv, "ROTA_CONFIG="+file), "", "", nil, "http://file:2379"},
		"endpoints of the environment":          {append(inEnv, "ROTA_ETCD_ENDPOINTS=http://env:2379"), "", "", nil, "http://env:2379"},
		"the server of the environment":         {inEnv, "", "", nil, asked},
		"a server":                              {inEnv[:2], server, "", nil, asked},
		"a server before the environment":       {append(inEnv[:2:2], "ROTA_CONFIG="+file), server, "", nil, asked},
		"a server that is silent":               {append(inEnv[:2:2], "ROTA_ETCD_ENDPOINTS=http://env:2379"), "http://127.0.0.1:1", "", nil, "no rota answers"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cli{environ: tc.environ, server: tc.server}
			got, err := c.findStore(t.Context(), tc.file, tc.endpoints)
			if !strings.HasPrefix(tc.want, "http") {
				if err == nil || !strings.Contains(err.Error(), tc.want) || exitCode(t.Context(), err) != exitUnavailable {
					t.Errorf("got %v, %v; want code %d and %q", got.Endpoints, err, exitUnavailable, tc.want)
				}
				return
			}
			if diff := cmp.Diff([]string{tc.want}, got.Endpoints); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if fromFile := strings.Contains(name, "file"); fromFile != (got.Username == "rota") {
				t.Errorf("got user %q", got.Username)
			}
		})
	}
}

// TestEndpointsUseTheCertificateOfTheEmbeddedEtcd names one member of an embedded cluster, as the runbook about a full store does.
func TestEndpointsUseTheCertificateOfTheEmbeddedEtcd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rota.yaml")
	text := "node: {name: q1}\netcd: {embedded: {client: https://127.0.0.1:2379, peer: https://q1:2380, tls: {cert: q1.crt, key: q1.key, ca: ca.crt}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := config.ClientTLS{Cert: "q1.crt", Key: "q1.key", CA: "ca.crt"}
	for _, endpoints := range [][]string{nil, {"https://q2:2379"}} {
		c := &cli{environ: []string{"HOME=/", "ROTA_CONFIG=" + file}}
		if got, err := c.findStore(t.Context(), "", endpoints); err != nil || got.TLS != want {
			t.Errorf("endpoints %q: got %+v, %v; want the certificate %+v", endpoints, got.TLS, err, want)
		}
	}
}

// oldEtcd answers like an etcd whose version is too old for rota.
type oldEtcd struct {
	etcdserverpb.UnimplementedMaintenanceServer
}

func (oldEtcd) Status(context.Context, *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	return &etcdserverpb.StatusResponse{Version: "3.5.9"}, nil
}

func startOldEtcd(t *testing.T) (endpoint string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	etcdserverpb.RegisterMaintenanceServer(s, oldEtcd{})
	served := make(chan struct{})
	go func() { // waited for below
		defer close(served)
		_ = s.Serve(ln)
	}()
	t.Cleanup(func() { s.Stop(); <-served })
	return "http://" + ln.Addr().String()
}

// lock turns on authentication in etcd, with one user.
func lock(t *testing.T, client *clientv3.Client, user, password string) {
	t.Helper()
	_, err1 := client.UserAdd(t.Context(), "root", password)
	_, err2 := client.UserGrantRole(t.Context(), "root", "root")
	_, err3 := client.UserAdd(t.Context(), user, password)
	_, err4 := client.UserGrantRole(t.Context(), user, "root")
	_, err5 := client.AuthEnable(t.Context())
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsNameTheRequirementsOfEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd")
	}
	e, client := startEtcd(t)
	lock(t, client, "rota", "s3cret")
	dir := t.TempDir()
	right, wrong := filepath.Join(dir, "right"), filepath.Join(dir, "wrong")
	for path, text := range map[string]string{right: "s3cret\n", wrong: "guess\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings := func(endpoint, user, passwordFile string) (file string) {
		file = filepath.Join(t.TempDir(), "rota.yaml")
		text := fmt.Sprintf("etcd: {endpoints: [%s], username: %q, password_file: %q}\n", endpoint, user, passwordFile)
		if user == "" {
			text = fmt.Sprintf("etcd: {endpoints: [%s]}\n", endpoint)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	old := startOldEtcd(t)
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"the right password": {[]string{"verify", "--config", settings(e.Endpoint(), "rota", right)}, exitOK, ""},
		"a wrong password":   {[]string{"verify", "--config", settings(e.Endpoint(), "rota", wrong)}, exitBadConfig, "rejects the password of rota"},
		"no password":        {[]string{"verify", "--endpoints", e.Endpoint()}, exitBadConfig, "requires etcd.username and etcd.password_file"},
		"no file of it":      {[]string{"verify", "--config", settings(e.Endpoint(), "rota", dir+"/none")}, exitBadConfig, "read etcd.password_file"},
		"nor for etcdctl":    {[]string{"etcdctl", "get", "/x", "--config", settings(e.Endpoint(), "rota", dir+"/none")}, exitBadConfig, "read etcd.password_file"},
		"nobody is there":    {[]string{"verify", "--config", settings("http://127.0.0.1:1", "rota", right)}, exitUnavailable, "etcd at http://127.0.0.1:1 does not answer"},
		"an old etcd":        {[]string{"verify", "--endpoints", old}, exitBadConfig, "etcd 3.5.9 at " + old + " is too old"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runHere(nil, tc.args...)
			if code != tc.code || !strings.Contains(stderr, tc.want) {
				t.Errorf("got %d, %q, %q; want %d, %q", code, stdout, stderr, tc.code, tc.want)
			}
		})
	}
}

func TestTheErrorNamesAnUnreachableEtcd(t *testing.T) {
	t.Parallel() // this test waits for the timeout of etcd
	server := startTeller(t, api.ClusterView{
		Name: "/rota", Replicas: []api.ReplicaView{{Replica: job.Replica{Name: "q1", Session: "694d"}}},
		Store: api.StoreView{Members: []string{"http://127.0.0.1:1"}},
	})
	code, out, stderr := runHere([]string{"HOME=/", "ROTA_NODE_NAME=x"}, "verify", "--server", server)
	want := "rota: the etcd of " + server + " does not answer at http://127.0.0.1:1 from this machine: "
	if code != exitUnavailable || out != "" || !strings.HasPrefix(stderr, want) || !strings.Contains(stderr, "\nhint: name the address of its etcd") {
		t.Errorf("got %d, %q, %q; want %d, %q", code, out, stderr, exitUnavailable, want)
	}
}

// startEtcd starts an etcd and returns it with a client.
func startEtcd(t *testing.T) (*embedded.Server, *clientv3.Client) {
	t.Helper()
	e, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), NoSync: true, Client: "http://127.0.0.1:0"}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{e.Endpoint()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return e, client
}

// startStore starts an etcd with one present replica. It returns the endpoint and the view of the replica.
func startStore(t *testing.T, prefix string) (endpoint string, shown api.ReplicaView) {
	t.Helper()
	e, client := startEtcd(t)
	s := store.New(store.Config{Prefix: prefix, Process: "q1"}, client, hclog.NewNullLogger())
	t.Cleanup(s.Close)
	r := job.Replica{Name: "q1", Started: time.Now()}
	p, err := s.PresentReplica(t.Context(), r, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	r.Session = p.ID()
	return e.Endpoint(), api.ReplicaView{Replica: r}
}
