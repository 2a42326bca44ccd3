package cluster

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Host is a machine of its own, as far as processes and the network can tell.
type Host struct {
	Name string
	Addr string   // at which the test reaches it
	Exec []string // precedes the arguments of a process that is to run there; it must become that process
}

// Process makes a process on the host that is killed when the test ends.
func (h Host) Process(t testing.TB, binary, name string, args ...string) *Process {
	argv := append(append(append([]string(nil), h.Exec...), binary), args...)
	return NewProcess(t, argv[0], name, argv[1:]...)
}

// Place says where the replicas of a cluster run, and where its store is.
type Place struct {
	Hosts []Host // one replica each, named after it
	// Endpoints are those by which a replica reaches an etcd of its own, which the test reaches at those of Config.Etcd.
	// Nil: the replicas embed one.
	Endpoints func(host string) []string
}

// Ports on every host, which has all of them to itself.
const (
	hostAPI    = 8470
	hostClient = 2379
	hostPeer   = 2380
)

// StartOn is Start with replicas on hosts.
func StartOn(t testing.TB, cfg Config, p Place) *Cluster {
	t.Helper()
	return launch(t, cfg, func(c *Cluster) { c.makeReplicasOn(p) })
}

func (c *Cluster) makeReplicasOn(p Place) {
	var members []string
	for _, h := range p.Hosts {
		members = append(members, fmt.Sprintf("%s=http://%s:%d", h.Name, h.Addr, hostPeer))
	}
	for _, h := range p.Hosts {
		listen := fmt.Sprintf("%s:%d", h.Addr, hostAPI)
		n := c.addNode(h.Process(c.t, c.cfg.Binary, h.Name, c.serveAt(h.Name, listen, etcdOn(h, p, members)...)...), "http://"+listen)
		if p.Endpoints == nil {
			n.Etcd = fmt.Sprintf("http://%s:%d", h.Addr, hostClient)
		}
		c.replicas = append(c.replicas, n)
	}
}

// etcdOn is what a replica on a host is told of etcd.
func etcdOn(h Host, p Place, members []string) []string {
	if p.Endpoints != nil {
		return []string{"--etcd-endpoints=" + strings.Join(p.Endpoints(h.Name), ",")}
	}
	return []string{
		fmt.Sprintf("--etcd-embedded-client=http://%s:%d", h.Addr, hostClient),
		fmt.Sprintf("--etcd-embedded-peer=http://%s:%d", h.Addr, hostPeer),
		"--etcd-embedded-cluster=" + strings.Join(members, ","),
	}
}

// NewSinkAt is NewSink at an address of the test's own, for hosts to reach.
func NewSinkAt(t testing.TB, addr string) *Sink {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(addr, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Sink{}
	s.status.Store(http.StatusNoContent)
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.server.Listener.Close()
	s.server.Listener = ln
	s.server.Start()
	t.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s
}
