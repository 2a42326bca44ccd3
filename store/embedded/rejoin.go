package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/datadir"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// lostData is what an operator does about a member without its data.
const lostData = "%[4]s member %[1]s, and %[2]s holds no data of it: restore the directory, or, " +
	"with this process stopped, tell the others that it is lost (by `rota etcdctl --endpoints` and the client URL of one of " +
	"them: member list, member remove ID, member add %[1]s --peer-urls=%[3]s), empty the directory and start again"

// otherMembers is what an operator does about settings that do not fit the cluster.
const otherMembers = "correct etcd.embedded.cluster, or follow docs/how-to/grow-to-three.md or docs/how-to/replace-a-member.md"

// added says whether the other members wait for this one, which has no data, to join their cluster: an operator has removed
// the member that had its URL and lost its data, and has added it anew (etcdctl member add). A member with data goes by that,
// and one of the first start has none either. Everybody else is refused: he would begin a second cluster beside the first.
func (s *Server) added(ctx context.Context, e *embed.Config) (bool, error) {
	others := s.cfg.others()
	if len(others) > 0 && servedAlone(s.cfg.Dir) {
		return false, fmt.Errorf("%s holds a cluster of one, and etcd.embedded.cluster lists %d members: %w; %s",
			s.cfg.Dir, len(others)+1, ErrMembers, otherMembers)
	}
	if logs, _ := filepath.Glob(filepath.Join(s.cfg.Dir, "member", "wal", "*.wal")); len(logs) > 0 || len(others) == 0 {
		return false, nil
	}
	certificates, err := e.PeerTLSInfo.ClientConfig()
	if err != nil {
		return false, fmt.Errorf("read the certificate for peers: %w", err)
	}
	rt := &http.Transport{TLSClientConfig: certificates}
	defer rt.CloseIdleConnections()
	c := census{rt: rt, self: e.AdvertisePeerUrls[0].String(), others: others, known: s.cfg.KnownBy != "", log: s.log}
	added, err := c.take(ctx)
	switch {
	case errors.Is(err, ErrMembers):
		return false, fmt.Errorf("%w; %s", err, otherMembers)
	case errors.Is(err, errLost) && c.known:
		return false, fmt.Errorf("%s; the others have to run for that; if a new cluster is to begin, remove %s",
			s.lost(s.cfg.KnownBy+" knows the cluster of"), s.cfg.KnownBy)
	case errors.Is(err, errLost):
		return false, errors.New(s.lost("the others know"))
	}
	return added, err
}

// lost says that somebody knows this member, and what to do.
func (s *Server) lost(knows string) string {
	return fmt.Sprintf(lostData, s.cfg.Name, s.cfg.Dir, s.cfg.Peer, knows)
}

// servedAlone says whether dir holds a cluster of one member, and not one of several that is about to begin: nobody knows the
// version of a cluster before its majority was there. What cannot be read is etcd's to complain of.
func servedAlone(dir string) bool {
	db, err := bolt.Open(datadir.ToBackendFileName(dir), 0, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return false
	}
	defer db.Close()
	alone := false
	_ = db.View(func(tx *bolt.Tx) error {
		members, cluster := tx.Bucket(schema.Members.Name()), tx.Bucket(schema.Cluster.Name())
		alone = members != nil && members.Stats().KeyN == 1 &&
			cluster != nil && cluster.Get(schema.ClusterClusterVersionKeyName) != nil
		return nil
	})
	return alone
}
