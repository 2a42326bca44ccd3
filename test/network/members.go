package network

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/test/cluster"
)

// Members is an external etcd: one process on each of some hosts. rota reaches it through proxies, one for each pair of a
// replica and a member.
type Members struct {
	URLs    []string // client URLs for the test
	Proxies map[string][]*Proxy

	t         testing.TB
	hosts     []cluster.Host
	processes []*cluster.Process
	clients   []*clientv3.Client // one client for each member
}

// StartMembers starts an etcd on hosts, with links from the hosts in from. It returns when etcd accepts writes.
func StartMembers(t testing.TB, lab *Lab, binary string, hosts []cluster.Host, from []string) *Members {
	t.Helper()
	m := &Members{t: t, hosts: hosts, Proxies: make(map[string][]*Proxy)}
	dir := t.TempDir()
	var peers []string
	for _, h := range hosts {
		peers = append(peers, fmt.Sprintf("%s=http://%s:2380", h.Name, h.Addr))
	}
	for _, h := range hosts {
		client := "http://" + net.JoinHostPort(h.Addr, "2379")
		p := h.Process(t, binary, h.Name, "-name="+h.Name, "-dir="+filepath.Join(dir, h.Name), "-client="+client,
			fmt.Sprintf("-peer=http://%s:2380", h.Addr), "-cluster="+strings.Join(peers, ","))
		p.Start()
		m.processes = append(m.processes, p)
		m.URLs = append(m.URLs, client)
		for _, name := range from {
			m.Proxies[name] = append(m.Proxies[name], NewProxy(t, lab.Gateway, h.Addr+":2379"))
		}
	}
	for _, url := range m.URLs {
		m.clients = append(m.clients, cluster.Dial(t, []string{url}))
	}
	cluster.Await(t, 30*time.Second, "the members take writes", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, err := m.clients[0].Put(ctx, "/canary", "")
		return err == nil
	})
	return m
}

// Endpoints returns the client URLs for one replica.
func (m *Members) Endpoints(replica string) (urls []string) {
	for _, p := range m.Proxies[replica] {
		urls = append(urls, p.URL())
	}
	return urls
}

// Leader returns the number of the member that leads; -1 if none leads. It asks a member other than not.
func (m *Members) Leader(not int) int {
	for i, c := range m.clients {
		if i == not {
			continue
		}
		if st, err := m.status(c, i); err == nil && st.Leader != 0 {
			for j := range m.clients {
				if j == not {
					continue
				}
				if of, err := m.status(m.clients[j], j); err == nil && of.Header.MemberId == st.Leader {
					return j
				}
			}
		}
	}
	return -1
}

// Answers reports whether a member answers a local read.
func (m *Members) Answers(i int) bool {
	_, err := m.status(m.clients[i], i)
	return err == nil
}

func (m *Members) status(c *clientv3.Client, i int) (*clientv3.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return c.Status(ctx, m.URLs[i])
}

// Stop stops a member with SIGSTOP until Cont.
func (m *Members) Stop(i int) {
	m.t.Helper()
	m.processes[i].Signal(syscall.SIGSTOP)
	m.t.Logf("fault: etcd member %s is stopped", m.hosts[i].Name)
}

// Cont continues a stopped member.
func (m *Members) Cont(i int) {
	m.t.Helper()
	m.processes[i].Signal(syscall.SIGCONT)
	m.t.Logf("healed: etcd member %s continues", m.hosts[i].Name)
}
