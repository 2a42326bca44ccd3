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

// Terminate asks the node to stop and waits until it has.
func (n *Node) Terminate() {
	n.t.Helper()
	n.cluster.Harm(history.Fault{Kind: history.Stop, Node: n.Name, At: time.Now()})
	n.Signal(syscall.SIGTERM)
	n.Await(30 * time.Second)
	n.cluster.Heal(n.Name)
}

// Stop stops the node in its tracks, until Cont.
func (n *Node) Stop() {
	n.t.Helper()
	n.cluster.Harm(history.Fault{Kind: history.Pause, Node: n.Name, At: time.Now()})
	n.Signal(syscall.SIGSTOP)
}

// Cont lets a stopped node go on.
func (n *Node) Cont() {
	n.t.Helper()
	n.Signal(syscall.SIGCONT)
	n.cluster.Heal(n.Name)
}

// Harm records a fault that was made.
func (c *Cluster) Harm(f history.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, f)
	c.t.Logf("fault: %v", f)
}

// Heal ends the faults of a node that last.
func (c *Cluster) Heal(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.faults {
		if f := &c.faults[i]; f.Node == node && f.Kind.Lasts() && f.Until.IsZero() {
			f.Until = time.Now()
		}
	}
}

// Outage records that from now on no majority of the store can be reached, and returns what ends that.
func (c *Cluster) Outage() (over func()) {
	c.Harm(history.Fault{Kind: history.Outage, At: time.Now()})
	return func() { c.Heal("") }
}

// Faults returns what was done so far.
func (c *Cluster) Faults() []history.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.faults)
}
