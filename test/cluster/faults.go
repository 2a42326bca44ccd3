package cluster

import (
	"slices"
	"syscall"
	"time"

	"github.com/rota-scheduler/rota/test/history"
)

// Kill kills the node with SIGKILL.
func (n *Node) Kill() {
	n.t.Helper()
	n.cluster.Harm(history.Fault{Kind: history.Kill, Node: n.Name, At: time.Now()})
	n.Signal(syscall.SIGKILL)
	n.Await(5 * time.Second)
}

// Terminate sends SIGTERM to the node and waits for its end.
func (n *Node) Terminate() {
	n.t.Helper()
	n.cluster.Harm(history.Fault{Kind: history.Stop, Node: n.Name, At: time.Now()})
	n.Signal(syscall.SIGTERM)
	n.Await(30 * time.Second)
	n.cluster.Heal(n.Name)
}

// Stop stops the node with SIGSTOP until Cont.
func (n *Node) Stop() {
	n.t.Helper()
	n.cluster.Harm(history.Fault{Kind: history.Pause, Node: n.Name, At: time.Now()})
	n.Signal(syscall.SIGSTOP)
}

// Cont continues a stopped node.
func (n *Node) Cont() {
	n.t.Helper()
	n.Signal(syscall.SIGCONT)
	n.cluster.Heal(n.Name)
}

// Harm records a fault.
func (c *Cluster) Harm(f history.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, f)
	c.t.Logf("fault: %v", f)
}

// Heal records the end of the lasting faults of a node.
func (c *Cluster) Heal(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.faults {
		if f := &c.faults[i]; f.Node == node && f.Kind.Lasts() && f.Until.IsZero() {
			f.Until = time.Now()
		}
	}
}

// Outage records that the store has no quorum from now on, and returns a function that records the end.
func (c *Cluster) Outage() (over func()) {
	c.Harm(history.Fault{Kind: history.Outage, At: time.Now()})
	return func() { c.Heal("") }
}

// Faults returns the faults recorded so far.
func (c *Cluster) Faults() []history.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.faults)
}
