package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/storage/datadir"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"google.golang.org/protobuf/proto"
)

// ErrOwner is wrapped by the error for a directory that has the data of another member. A restart does not help.
var ErrOwner = errors.New("it has the data of another member")

// checkOwner returns an error if the directory has the data of a member that Cluster lists beside this one. The cause may be a
// cloned disk, or a backup of another machine. etcd takes its identity from the data. Two members with one identity vote twice, so
// that a write that was acknowledged can be lost.
//
// A member that was renamed has its old name in the data, and Cluster does not list that.
func (c Config) checkOwner() error {
	owner := storedMember(c.Dir)
	if owner == nil || owner.Name == c.Name {
		return nil
	}
	for _, p := range c.others() {
		if p.name == owner.Name && isAt(owner.PeerURLs, p) {
			return fmt.Errorf("%s: %w: %s, and this is %s; put the data of %[4]s back, or move the directory away and "+
				"follow docs/how-to/replace-a-member.md", c.Dir, ErrOwner, p.name, c.Name)
		}
	}
	return nil
}

// storedMember returns the member whose data dir has; nil if there is none, or if the data cannot be read. etcd reports that later.
func storedMember(dir string) (m *membership.Member) {
	id, ok := storedID(dir)
	if !ok {
		return nil
	}
	db, err := bolt.Open(datadir.ToBackendFileName(dir), 0, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return nil
	}
	defer func() { _ = db.Close() }()
	_ = db.View(func(tx *bolt.Tx) error {
		if members := tx.Bucket(schema.Members.Name()); members != nil {
			found := new(membership.Member)
			if json.Unmarshal(members.Get(memberKey(id)), found) == nil {
				m = found
			}
		}
		return nil
	})
	return m
}

// memberKey returns the key under which etcd stores a member.
func memberKey(id uint64) []byte { return strconv.AppendUint(nil, id, 16) }

// storedID returns the ID of the member that wrote the log in dir. Each file of the log begins with it.
func storedID(dir string) (id uint64, ok bool) {
	logs, _ := filepath.Glob(filepath.Join(dir, "member", "wal", "*.wal"))
	if len(logs) == 0 {
		return 0, false
	}
	f, err := os.Open(slices.Max(logs))
	if err != nil {
		return 0, false
	}
	defer func() { _ = f.Close() }()
	records := wal.NewDecoder(fileutil.NewFileReader(f))
	var r walpb.Record
	for range 2 { // a checksum comes first
		if records.Decode(&r) != nil {
			return 0, false
		}
		switch r.GetType() {
		case wal.CrcType:
			records.UpdateCRC(r.GetCrc())
		case wal.MetadataType:
			var of pb.Metadata
			err := proto.Unmarshal(r.GetData(), &of)
			return of.GetNodeID(), err == nil
		}
	}
	return 0, false
}
