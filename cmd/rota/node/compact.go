package node

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// compactor forgets past revisions of an embedded etcd before they fill it. etcd itself keeps those of the last minutes,
// which at thousands of runs a second are more than its quota; who lists anew because of that loses nothing.
//
// It goes by what has come on top of what the last compaction left: that is the past, by and large. By what is there, it would
// never stop where the present alone is much, and whoever needs longer for a list than the past is kept would never finish one.
type compactor struct {
	client   *clientv3.Client
	endpoint string
	log      hclog.Logger

	every time.Duration // how often it looks
	keep  time.Duration // how much of the past is kept whatever its size
	usual int64         // bytes that the past may always take
	share int64         // of the room beside what the last compaction left, as its divisor, that it may take at most
}

// What compactors of a node do.
const (
	compactEvery = 2 * time.Second
	compactKeep  = 10 * time.Second
	compactUsual = 64 << 20
	compactShare = 4
)

// past is the revision that etcd had reached at an instant.
type past struct {
	at  time.Time
	rev int64
}

// run compacts until ctx ends.
func (c *compactor) run(ctx context.Context) {
	var seen []past
	done, left := int64(0), int64(0) // up to where it has compacted, and the least that was in use since
	for ctx.Err() == nil {
		now := time.Now()
		looking, cancel := context.WithTimeout(ctx, lookTimeout)
		st, err := c.client.Status(looking, c.endpoint)
		cancel()
		if err == nil {
			seen = append(seen, past{now, st.Header.Revision})
			for len(seen) > 1 && now.Sub(seen[1].at) >= c.keep {
				seen = seen[1:]
			}
			left = min(left, st.DbSizeInUse) // etcd frees what it forgets little by little
			if old := seen[0]; now.Sub(old.at) >= c.keep && old.rev > done && st.DbSizeInUse-left > c.most(left, st.DbSizeQuota) {
				if c.compact(ctx, old.rev) {
					done, left = old.rev, st.DbSizeInUse
				}
			}
		}
		pause(ctx, c.every)
	}
}

// most is how much the past may take on top of what the last compaction left: as much as that, since a compaction looks through all of
// it, and no more, since a replica that comes back is sent all of it, which slows down whoever leads.
func (c *compactor) most(left, quota int64) int64 {
	return min(max(left, c.usual), (quota-left)/c.share)
}

// compact forgets what was before rev, and says whether that is done.
func (c *compactor) compact(ctx context.Context, rev int64) bool {
	compacting, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if _, err := c.client.Compact(compacting, rev); err != nil {
		c.log.Debug("etcd's past was not compacted", "revision", rev, "err", shortError(err))
		return false
	}
	c.log.Debug("etcd's past is compacted, since there is much of it", "revision", rev)
	return true
}
