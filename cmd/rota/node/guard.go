package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/listeners"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/executor/dial"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// openListeners starts the record of the addresses at which processes of the cluster listen.
func (n *Node) openListeners() {
	e := n.set.Etcd
	local := []string{n.set.HTTP.Listen, n.set.HTTP.Advertise, e.Embedded.Client, e.Embedded.Peer}
	n.listeners = listeners.New(listeners.Config{Local: local, Peers: n.peerAddresses})
}

// peerAddresses returns the addresses at which etcd and the other processes of the cluster listen.
func (n *Node) peerAddresses(ctx context.Context) ([]string, error) {
	addrs := append(n.conn.Endpoints(), n.set.Etcd.Endpoints...)
	addrs = append(addrs, memberURLs(n.set.Etcd.Embedded.Cluster)...)
	if n.cfg.Role == WorkerOnly {
		replicas, err := n.store.Replicas(ctx)
		for _, r := range replicas {
			addrs = append(addrs, r.Addr)
		}
		return addrs, err
	}
	for _, r := range n.mirror.Replicas() {
		addrs = append(addrs, r.Addr)
	}
	for _, w := range n.mirror.Workers() {
		addrs = append(addrs, w.Addr)
	}
	return addrs, nil
}

// memberURLs returns the URLs at which the members of an embedded cluster talk to each other. cluster has the form of
// etcd.embedded.cluster.
func memberURLs(cluster string) (urls []string) {
	for part := range strings.SplitSeq(cluster, ",") {
		if _, at, ok := strings.Cut(part, "="); ok {
			urls = append(urls, strings.TrimSpace(at))
		}
	}
	return urls
}

// reach returns a guard that allows the addresses that definitions may use from this machine.
func (n *Node) reach(setting string, r config.Reach) *dial.Guard {
	return dial.New(dial.Config{Setting: setting, Allow: r.Allow, Deny: r.Deny}, n.listeners.At)
}

// references returns the policy of references that definitions may use on this machine. It excludes rota's own keys and data.
func (n *Node) references(setting string, r config.Refs) *refs.Policy {
	p := &refs.Policy{Setting: setting, Files: r.Files, Env: r.Env}
	for _, own := range []string{
		n.set.Node.DataDir, n.set.HTTP.TLS.Key, n.set.HTTP.TLS.Cert, n.set.HTTP.TLS.ClientCA, n.set.Auth.File,
		n.set.Etcd.TLS.Key, n.set.Etcd.TLS.Cert, n.set.Etcd.TLS.CA, n.set.Etcd.PasswordFile,
		n.set.Etcd.Embedded.TLS.Key, n.set.Etcd.Embedded.TLS.Cert, n.set.Etcd.Embedded.TLS.CA,
		n.set.Auth.OIDC.ClientSecretFile, n.set.Auth.OIDC.CA, n.set.Worker.Kubernetes.Kubeconfig, kubeapi.Account,
	} {
		if own == "" {
			continue
		}
		if absolute, err := filepath.Abs(own); err == nil { // definitions name absolute paths
			own = absolute
		}
		p.Never = append(p.Never, own)
	}
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" { // the credentials that systemd gives to this service alone
		p.Files = append(p.Files, filepath.Join(dir, "*"))
	}
	return p
}

// hookSecretTimeout bounds the read of a hook's secret, which may lie on a file server.
const hookSecretTimeout = 3 * time.Second

// maxSecretReads bounds the reads under way, including those that were left behind.
const maxSecretReads = 16

// hookSecret returns the value of the reference to a hook's secret. It reads the file or the variable each time, so that a changed
// secret takes effect at once. A read that does not return in time is left behind, because it cannot be canceled.
func (n *Node) hookSecret(ref string) (string, error) {
	type result struct {
		secret string
		err    error
	}
	select {
	case n.secretReads <- struct{}{}:
	default:
		return "", fmt.Errorf("%d reads of secrets have not returned", cap(n.secretReads))
	}
	done := make(chan result, 1)
	go func() { // the select below waits for it, except for a file server that hangs
		resolver := refs.Resolver{Policy: n.references("hooks.refs", n.set.Hooks.Refs)}
		secret, err := resolver.Expand(ref)
		<-n.secretReads
		done <- result{secret, err}
	}()
	select {
	case r := <-done:
		return r.secret, r.err
	case <-time.After(hookSecretTimeout):
		return "", fmt.Errorf("read the secret: no answer within %v", hookSecretTimeout)
	}
}
