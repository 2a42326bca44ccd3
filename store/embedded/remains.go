package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/datadir"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// ErrIncomplete is wrapped by the error for a directory that has a database and none of etcd's log. A restart does not help.
var ErrIncomplete = errors.New("a database without etcd's log is no member of a cluster")

// checkComplete returns an error if the directory has the database of a cluster, and no log. A restore that failed leaves that, and
// so does a backup that was copied there. With such a database etcd waits for ever, or panics.
//
// If etcd is killed at its first start, it also leaves a database without a log. Such a database has applied no write, and etcd can
// use it.
func (c Config) checkComplete() error {
	if has, err := c.hasData(); err != nil || has {
		return err
	}
	path := datadir.ToBackendFileName(c.Dir)
	if info, err := os.Stat(path); err != nil || info.Size() == 0 || !appliedWrites(path) {
		return nil
	}
	return fmt.Errorf("%s: %w: a restore failed or was interrupted, or the file was copied there; "+
		"move %s away, and restore the backup: docs/how-to/back-up-and-restore.md", path, ErrIncomplete, c.Dir)
}

// appliedWrites reports whether a database has applied entries of a log, or cannot be read.
func appliedWrites(path string) (applied bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a part of the file may be missing
	defer func() {
		if recover() != nil {
			applied = true
		}
	}()
	db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return true
	}
	defer func() { _ = db.Close() }()
	err = db.View(func(tx *bolt.Tx) error {
		if meta := tx.Bucket(schema.Meta.Name()); meta != nil {
			index := meta.Get(schema.MetaConsistentIndexKeyName)
			applied = len(index) == 8 && binary.BigEndian.Uint64(index) > 0
		}
		return nil
	})
	return applied || err != nil
}
