package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// TestADatabaseWithoutALogIsRefused leaves in a directory what a failed restore leaves: the database, whole or in part, and no log.
// etcd waits for ever with the first, and panics with the second.
func TestADatabaseWithoutALogIsRefused(t *testing.T) {
	t.Parallel()
	cfg := solo(t)
	s := start(t, cfg)
	put(t, s.Client(), "k", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(cfg.Dir, "member", "snap", "db")
	whole, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"whole": whole, "a part": whole[:len(whole)/2], "two pages": whole[:8192], "not a database": []byte("nothing"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := solo(t)
			db := filepath.Join(cfg.Dir, "member", "snap", "db")
			if err := errors.Join(os.MkdirAll(filepath.Dir(db), 0o700), os.WriteFile(db, content, 0o600)); err != nil {
				t.Fatal(err)
			}
			_, err := tryStart(t, cfg)
			wantError(t, err, db, "move "+cfg.Dir+" away", "docs/how-to/back-up-and-restore.md")
			if !errors.Is(err, ErrIncomplete) {
				t.Errorf("got %v, want %v", err, ErrIncomplete)
			}
		})
	}
}

// TestALogThatCannotBeRead is no log that is missing: neither a restore nor a new membership would help.
func TestALogThatCannotBeRead(t *testing.T) {
	t.Parallel()
	cfg := solo(t)
	member := filepath.Join(cfg.Dir, "member")
	if err := errors.Join(os.MkdirAll(filepath.Join(member, "snap"), 0o700),
		os.WriteFile(filepath.Join(member, "snap", "db"), []byte("a database"), 0o600),
		os.WriteFile(filepath.Join(member, "wal"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err := tryStart(t, cfg)
	wantError(t, err, "read etcd's log", filepath.Join(member, "wal"))
	if errors.Is(err, ErrIncomplete) {
		t.Errorf("got %v, want no %v", err, ErrIncomplete)
	}
}

// TestAKilledFirstStartIsRepeated leaves in a directory what etcd leaves that is killed between its database and its log.
func TestAKilledFirstStartIsRepeated(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]bool{"an empty file": false, "a new database": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := solo(t)
			db := filepath.Join(cfg.Dir, "member", "snap", "db")
			if err := os.MkdirAll(filepath.Dir(db), 0o700); err != nil {
				t.Fatal(err)
			}
			if content {
				newDatabase(t, db)
			} else if err := os.WriteFile(db, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			put(t, start(t, cfg).Client(), "k", "1")
		})
	}
}

// newDatabase makes a database that has applied no write.
func newDatabase(t *testing.T, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket(schema.Meta.Name())
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
