package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/datadir"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// lostData says what an operator must do about a member that lost its data.
const lostData = "%[4]s member %[1]s, and %[2]s holds no data of it: restore the directory, or, " +
	"with this process stopped, tell the others that it is lost (by `rota etcdctl --endpoints` and the client URL of one of " +
	"them: member list, member remove ID, member add %[1]s --peer-urls=%[3]s), empty the directory and start again"

// otherMembers says what an operator must do about settings that do not match the cluster.
const otherMembers = "correct etcd.embedded.cluster, or follow docs/how-to/grow-to-three.md or docs/how-to/replace-a-member.md"

// added reports whether this member, which has no data, must join a running cluster. In that case an operator has removed the
// member that had its URL and lost its data, and has added it again (etcdctl member add). A member with data uses its data.
// A member of a new cluster starts without data. Every other member is rejected, because it would form a second cluster beside
// the first.
func (s *Server) added(ctx context.Context, e *embed.Config) (bool, error) {
	others := s.cfg.others()
	if len(others) > 0 && servedAlone(s.cfg.Dir) && !(s.cfg.Rejoin && s.cfg.isFirst()) {
		return false, fmt.Errorf("%s holds a cluster of one, and etcd.embedded.cluster lists %d members: %w; %s",
			s.cfg.Dir, len(others)+1, ErrMembers, s.cfg.growth())
	}
	if has, err := s.cfg.hasData(); err != nil || has || len(others) == 0 {
		return false, err
	}
	if s.cfg.Rejoin {
		return false, s.join(ctx, e)
	}
	rt, err := s.cfg.peerTransport()
	if err != nil {
		return false, err
	}
	defer rt.CloseIdleConnections()
	q := query{
		rt: rt, self: e.AdvertisePeerUrls[0].String(), cluster: s.cfg.formedID(), others: others, known: s.cfg.KnownBy != "", log: s.log,
	}
	added, err := q.resolve(ctx)
	switch {
	case errors.Is(err, ErrMembers):
		return false, fmt.Errorf("%w; %s", err, otherMembers)
	case errors.Is(err, errLost) && q.known:
		return false, fmt.Errorf("%s; the others have to run for that; if a new cluster is to begin, remove %s",
			s.lost(s.cfg.KnownBy+" knows the cluster of"), s.cfg.KnownBy)
	case errors.Is(err, errLost):
		return false, errors.New(s.lost("the others know"))
	}
	return added, err
}

// growth says what an operator must do so that a cluster of one grows.
func (c Config) growth() string {
	switch {
	case c.Rejoin:
		return fmt.Sprintf("list %s first if the cluster must keep its data; to join without data, move %s away", c.Name, c.Dir)
	case c.isFirst():
		return "set etcd.embedded.rejoin: auto, or " + otherMembers
	default:
		return otherMembers
	}
}

// hasData reports whether the member has data of a cluster. A directory that cannot be read is no sign that there is none.
func (c Config) hasData() (bool, error) {
	files, err := os.ReadDir(filepath.Join(c.Dir, "member", "wal"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read etcd's log: %w", err)
	}
	return slices.ContainsFunc(files, func(f fs.DirEntry) bool { return filepath.Ext(f.Name()) == ".wal" }), nil
}

// lost returns the text of an error. It says that knows, the source, has a record of this member, and what the operator
// must do.
func (s *Server) lost(knows string) string {
	return fmt.Sprintf(lostData, s.cfg.Name, s.cfg.Dir, s.cfg.Peer, knows)
}

// servedAlone reports whether dir has the data of a cluster of one member that has served. Such data has a cluster
// version; data of a new cluster of several members has none before a majority has started. A removed member is not that
// member, even if its data shows that one alone. If the data cannot be read, etcd reports that later.
func servedAlone(dir string) bool {
	own, known := storedID(dir)
	db, err := bolt.Open(datadir.ToBackendFileName(dir), 0, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return false
	}
	defer func() { _ = db.Close() }()
	alone := false
	_ = db.View(func(tx *bolt.Tx) error {
		members, cluster := tx.Bucket(schema.Members.Name()), tx.Bucket(schema.Cluster.Name())
		alone = members != nil && members.Stats().KeyN == 1 &&
			cluster != nil && cluster.Get(schema.ClusterClusterVersionKeyName) != nil &&
			(!known || members.Get(memberKey(own)) != nil)
		return nil
	})
	return alone
}
