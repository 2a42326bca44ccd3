package node

import (
	"context"
	"math"
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
	found := int64(math.MaxInt64)    // the least that has been in use since it began
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
			left, found = min(left, st.DbSizeInUse), min(found, st.DbSizeInUse) // etcd frees what it forgets little by little
			if old := seen[0]; now.Sub(old.at) >= c.keep && old.rev > done && c.enough(st.DbSizeInUse, left, found, st.DbSizeQuota) {
				if c.compact(ctx, old.rev) {
					done, left = old.rev, st.DbSizeInUse
				}
			}
		}
		pause(ctx, c.every)
	}
}

// enough says whether so much of the past is in use that it is to be forgotten: more than what the last compaction left, since one
// looks through all of that; but no more, since a replica that comes back is sent all of it, which slows down whoever leads. left
// is what the last compaction left, 0 if there was none. Then nothing is forgotten where nothing has been written since the least
// was found in use: it may be all records.
func (c *compactor) enough(use, left, found, quota int64) bool {
	return use-found > c.usual/4 && use-left > min(max(left, c.usual), (quota-left)/c.share)
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
