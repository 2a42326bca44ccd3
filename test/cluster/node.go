package cluster

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/test/history"
)

// Node is a replica or a worker.
type Node struct {
	*Process
	URL    string         // URL of its API
	Etcd   string         // client URL of its member; empty for a worker
	Client *client.Client // uses only this node

	cluster *Cluster
	ports   []int
}

// newNode makes a node of the cluster on this machine.
func (c *Cluster) newNode(name string, listen int, args []string) *Node {
	return c.addNode(NewProcess(c.t, c.cfg.Binary, name, args...), fmt.Sprintf("http://127.0.0.1:%d", listen))
}

// addNode makes a process that serves its API at url a node of the cluster.
func (c *Cluster) addNode(p *Process, url string) *Node {
	n := &Node{Process: p, URL: url, Client: newClient(c.t, url, c.cfg.TokenFile), cluster: c}
	n.Env = append([]string{c.mark()}, c.cfg.Env...)
	c.nodes = append(c.nodes, n)
	return n
}

// newClient returns a client. tokenFile is the path of its token; empty: it has none.
func newClient(t testing.TB, servers, tokenFile string) *client.Client {
	t.Helper()
	cl, err := client.New(client.Config{
		Servers: servers, TokenFile: tokenFile, Timeout: 3 * time.Second, Transport: &http.Transport{IdleConnTimeout: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// Record returns a client that uses only this node, does not retry, and records its requests and answers. One goroutine may use
// it. Node.Client does not record.
func (n *Node) Record() *history.Client {
	// net/http retries requests with an idempotency key on a reused connection.
	cl, err := client.New(client.Config{Servers: n.URL, Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}})
	if err != nil {
		n.t.Fatal(err)
	}
	return n.cluster.Calls.Client(cl)
}

// WaitReady waits until the node reports that it is ready.
func (n *Node) WaitReady() {
	n.t.Helper()
	said := "nothing"
	if !Within(60*time.Second, func() bool {
		if !n.Running() {
			n.t.Fatalf("%s ended instead of becoming ready", n.Name)
		}
		text, ready, err := n.Client.Ready(n.t.Context())
		if err != nil {
			text = err.Error()
		}
		said = text
		return ready
	}) {
		n.t.Fatalf("%s is not ready after a minute; it says:\n%s", n.Name, said)
	}
}

// Leads reports whether the replica reports that it leads.
func (n *Node) Leads() bool {
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL+"/leader", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (n *Node) isStopped() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stopped
}

// Metric returns the value of a metric without labels of a node, 0 if it has none.
func (n *Node) Metric(name string) (value float64) {
	n.t.Helper()
	res, err := http.Get(n.URL + "/metrics")
	if err != nil {
		n.t.Errorf("read metrics of %s: %v", n.Name, err)
		return 0
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			if value, err = strconv.ParseFloat(text, 64); err != nil {
				n.t.Errorf("read metric %s of %s: %v", name, n.Name, err)
			}
			return value
		}
	}
	if lines.Err() != nil {
		n.t.Errorf("read metrics of %s: %v", n.Name, lines.Err())
	}
	return 0
}
