package etcdconn

import (
	"context"
	"math"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
)

// compactor compacts old revisions of an embedded etcd before they fill it. etcd itself keeps the revisions of the last minutes.
// At thousands of runs a second, these exceed its quota. If a watch needs a compacted revision, it lists again and loses nothing.
//
// The trigger is the growth since the last compaction, which is mostly old revisions. If the total size were the trigger, a large
// store would be compacted for ever, and a slow list would never finish.
type compactor struct {
	client   *clientv3.Client
	endpoint string
	log      hclog.Logger

	every time.Duration // the pause between two polls
	keep  time.Duration // revisions younger than this are kept
	usual int64         // bytes of old revisions that are always allowed
	share int64         // old revisions may take 1/share of the space that was free after the last compaction
}

func newCompactor(client *clientv3.Client, endpoint string, log hclog.Logger) *compactor {
	return &compactor{
		client: client, endpoint: endpoint, log: log,
		every: 2 * time.Second, keep: 10 * time.Second, usual: 64 << 20, share: compactShare,
	}
}

// compactShare is the value of compactor.share.
const compactShare = 4

// compactTimeout bounds each request of a compactor to etcd.
const compactTimeout = 2 * time.Second

// checkpoint is a revision and the time at which etcd had reached it.
type checkpoint struct {
	at  time.Time
	rev int64
}

// run compacts until ctx ends.
func (c *compactor) run(ctx context.Context) {
	var seen []checkpoint
	done, left := int64(0), int64(0) // the revision of the last compaction, and the smallest size in use since then
	least := int64(math.MaxInt64)    // the smallest size in use since the start of run
	loop.Every(ctx, c.every, func(ctx context.Context) {
		now := time.Now()
		asking, cancel := context.WithTimeout(ctx, compactTimeout)
		st, err := c.client.Status(asking, c.endpoint)
		cancel()
		if err != nil {
			return
		}
		seen = append(seen, checkpoint{now, st.Header.Revision})
		for len(seen) > 1 && now.Sub(seen[1].at) >= c.keep {
			seen = seen[1:]
		}
		left, least = min(left, st.DbSizeInUse), min(least, st.DbSizeInUse) // etcd frees compacted revisions step by step
		old := seen[0]
		if now.Sub(old.at) >= c.keep && old.rev > done && c.due(st.DbSizeInUse, left, least, st.DbSizeQuota) && c.compact(ctx, old.rev) {
			done, left = old.rev, st.DbSizeInUse
		}
	})
}

// due reports whether old revisions take so many bytes that a compaction is needed. use is the number of bytes in use now. left
// is the number that the last compaction left, 0 if there was none. least is the smallest number since the compactor started.
//
// The growth must exceed left, because a compaction reads all of those bytes. The growth is also limited to a share of the free
// space: a replica that comes back receives all old revisions, which slows the leader down. Before the first compaction, nothing
// is due while use is close to least, because all bytes may be records.
func (c *compactor) due(use, left, least, quota int64) bool {
	return use-least > c.usual/4 && use-left > min(max(left, c.usual), (quota-left)/c.share)
}

// compact compacts the revisions before rev, and reports whether that succeeded.
func (c *compactor) compact(ctx context.Context, rev int64) bool {
	compacting, cancel := context.WithTimeout(ctx, compactTimeout)
	defer cancel()
	if _, err := c.client.Compact(compacting, rev); err != nil {
		c.log.Debug("etcd was not compacted", "revision", rev, "err", failure.Short(err))
		return false
	}
	c.log.Debug("etcd is compacted", "revision", rev)
	return true
}
