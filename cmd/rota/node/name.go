package node

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// NameTakenError is a node whose name another process has. Two of one name would take each other's runs away.
type NameTakenError struct {
	Name string
	Addr string // empty: it advertises the same address as we, as a machine's clone does
}

func (e *NameTakenError) Error() string {
	if e.Addr == "" {
		return fmt.Sprintf("node name %s is held by another process, which takes its place again and again", e.Name)
	}
	return fmt.Sprintf("node name %s is held by the process at %s", e.Name, e.Addr)
}

// nameTimeout bounds the look for another process of our name.
const nameTimeout = 2 * time.Second

// checkName refuses to start while another process answers to our name. What is left of one that died does not answer, and
// is taken over. Nobody can be asked at our own address; a worker finds out by having its presence taken.
func (n *Node) checkName(ctx context.Context) error {
	name := n.set.Node.Name
	var addrs []string
	if w, err := n.store.Worker(ctx, name); err == nil {
		addrs = append(addrs, w.Addr)
	}
	if r, err := n.store.Replica(ctx, name); err == nil {
		addrs = append(addrs, r.Addr)
	}
	scheme, transport, err := peers(n.set.HTTP.TLS)
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	for _, addr := range addrs {
		if addr == "" || addr == n.set.HTTP.Advertise {
			continue
		}
		c, err := client.New(client.Config{Servers: scheme + addr, Transport: transport, Timeout: nameTimeout})
		if err != nil {
			continue
		}
		v, err := c.Version(ctx)
		c.Close()
		if err == nil && v.Node == name {
			return &NameTakenError{Name: name, Addr: addr}
		}
	}
	return nil
}

// forget ends what an earlier process of our name left in the election: nobody answers to the name but us.
func (n *Node) forget(ctx context.Context) {
	removed, err := election.RemoveStale(ctx, n.client, n.store.Keys().Election(), n.set.Node.Name)
	switch {
	case err != nil:
		n.log.Debug("what an earlier process left in the election ends with its lease", "err", err)
	case removed > 0:
		n.log.Info("an earlier process of this name was still in the election", "removed", removed)
	}
}
