package cluster

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// Host is a machine, or an isolated part of this machine with its own network address.
type Host struct {
	Name string
	Addr string   // address for the test
	Exec []string // prefix of a command that runs there; it must exec the command
}

// Process makes a process on the host. It is killed when the test ends.
func (h Host) Process(t testing.TB, binary, name string, args ...string) *Process {
	argv := append(append(append([]string(nil), h.Exec...), binary), args...)
	return NewProcess(t, argv[0], name, argv[1:]...)
}

// Place says where the replicas of a cluster and its store run.
type Place struct {
	Hosts []Host // one replica on each; the replica has the host's name
	// Endpoints returns the URLs by which a replica on the host reaches an external etcd. The test itself uses the URLs in
	// Config.Etcd. Nil: the replicas embed etcd.
	Endpoints func(host string) []string
}

// Ports on every host. Hosts share no ports.
const (
	hostAPI    = 8470
	hostClient = 2379
	hostPeer   = 2380
)

// StartOn does the same as Start, with one replica on each host of p.
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
			n.Etcd = "http://" + net.JoinHostPort(h.Addr, strconv.Itoa(hostClient))
		}
		c.replicas = append(c.replicas, n)
	}
}

// etcdOn returns the arguments about etcd for a replica on a host.
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

// NewSinkAt starts a sink at an address that hosts can reach.
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
