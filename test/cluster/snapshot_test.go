package cluster

import (
	"bytes"
	"crypto/sha256"
	"net/url"
	"os"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/datadir"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"

	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/test/files"
)

// bumpRevision is the increase of revisions in docs/how-to/back-up-and-restore.md.
const bumpRevision = 1_000_000_000

// restoreSnapshot replaces the data of an etcd of one member by a snapshot. It does the same as `etcdutl snapshot restore
// --initial-cluster-token NEW --bump-revision … --mark-compacted` in docs/how-to/back-up-and-restore.md, because the tests do
// not have that program. It drops the members and the log, starts a new cluster with the records, and raises their revisions.
// It returns the revision of the snapshot and the raised one.
func restoreSnapshot(t *testing.T, file, dir string) (taken, bumped int64) {
	t.Helper()
	db, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	db, sum := db[:len(db)-sha256.Size], db[len(db)-sha256.Size:]
	if got := sha256.Sum256(db); !bytes.Equal(got[:], sum) {
		t.Fatalf("the snapshot is not what its checksum says")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	path := datadir.ToBackendFileName(dir)
	files.Write(t, path, db)
	store, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	err = store.Update(func(tx *bolt.Tx) error {
		for _, b := range [][]byte{schema.Members.Name(), schema.MembersRemoved.Name(), schema.Cluster.Name()} {
			if tx.Bucket(b) == nil {
				continue
			}
			if err := tx.DeleteBucket(b); err != nil {
				return err
			}
		}
		meta, keys := tx.Bucket(schema.Meta.Name()), tx.Bucket(schema.Key.Name())
		for _, key := range [][]byte{schema.MetaConsistentIndexKeyName, schema.MetaTermKeyName} {
			if err := meta.Delete(key); err != nil {
				return err
			}
		}
		last, _ := keys.Cursor().Last()
		rev := mvcc.BytesToBucketKey(last)
		taken, bumped = rev.Main, rev.Main+bumpRevision
		raised := mvcc.BucketKeyToBytes(mvcc.BucketKey{Revision: mvcc.Revision{Main: bumped}}, mvcc.NewRevBytes())
		if err := keys.Put(raised, nil); err != nil {
			return err
		}
		return meta.Put(schema.ScheduledCompactKeyName, raised)
	})
	if err != nil {
		t.Fatalf("restore %s: %v", file, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	beginCluster(t, dir)
	return taken, bumped
}

// beginCluster starts an etcd in dir as the single member of a new cluster, and stops it.
func beginCluster(t *testing.T, dir string) {
	t.Helper()
	cfg := embed.NewConfig()
	here := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg.Name, cfg.Dir, cfg.ZapLoggerBuilder = embedded.DefaultName, dir, embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{here}, []url.URL{here}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{here}, []url.URL{here}
	cfg.InitialCluster, cfg.InitialClusterToken = cfg.Name+"="+here.String(), "restored"
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatalf("begin a cluster in %s: %v", dir, err)
	}
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		t.Fatalf("begin a cluster in %s: %v", dir, err)
	case <-time.After(20 * time.Second):
		t.Fatalf("the cluster in %s does not begin", dir)
	}
	e.Close()
}
