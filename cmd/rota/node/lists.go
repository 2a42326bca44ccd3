package node

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
)

// listsEvery is the time between two comparisons of the lists of members. It is much shorter than the time for which a member must
// be silent before it is removed.
const listsEvery = 2 * time.Second

// memberLists has the values of etcd.embedded.cluster of the other replicas that are present.
type memberLists struct {
	mu sync.Mutex
	of map[string]string // guarded by mu: by replica; replaced as a whole
}

// others returns the lists by the names of the replicas; nil: they are not known yet. The caller must not change the result.
func (l *memberLists) others() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of
}

// compareLists publishes this replica's list of members, and reads those of the others, until ctx ends.
func (n *Node) compareLists(ctx context.Context) error {
	if err := n.mirror.WaitFor(ctx, 1); err != nil {
		return nil
	}
	loop.Every(ctx, listsEvery, func(context.Context) {
		n.replica.ShowMembers(n.listedMembers())
		of := map[string]string{}
		for _, r := range n.mirror.Replicas() {
			if r.Name != n.set.Node.Name && len(r.Members) > 0 {
				of[r.Name] = strings.Join(r.Members, ",")
			}
		}
		n.lists.mu.Lock()
		n.lists.of = of
		n.lists.mu.Unlock()
	})
	return nil
}

// listedMembers returns the entries of etcd.embedded.cluster at present, sorted.
func (n *Node) listedMembers() (entries []string) {
	list := ""
	if n.cfg.Members != nil {
		list = n.cfg.Members()
	}
	if list == "" {
		list = n.set.Etcd.Embedded.Cluster
	}
	for entry := range strings.SplitSeq(list, ",") {
		entries = append(entries, strings.TrimRight(strings.TrimSpace(entry), "/"))
	}
	slices.Sort(entries)
	return entries
}
