package worker

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
)

// Journal stores outcomes on disk until the store has acknowledged them. It also stores the lives whose processes may still
// run. One process has it open at a time.
//
// Changes that arrive while the disk is busy share the next sync, so the cost per outcome falls as load rises. An outcome,
// and Close, wait at most journalTimeout for a disk that does not answer.
type Journal struct {
	db   *bolt.DB
	wake chan struct{} // holds a token when the writer must look at the queue
	done chan struct{} // closed when the writer has ended

	failed atomic.Bool // the last change could not be written

	mu      sync.Mutex
	lastKey uint64   // guarded by mu: number of the last entry
	queue   []*batch // guarded by mu: batches for the writer, the oldest first
	closed  bool     // guarded by mu: the queue takes no more changes
	damage  error    // guarded by mu: see update; nil: none is known
}

var (
	outcomesBucket = []byte("outcomes")

	errJournalClosed = errors.New("journal is closed")
)

const (
	// journalLockTimeout is how long OpenJournal waits for another process to release the file.
	journalLockTimeout = 5 * time.Second
	// journalTimeout is how long an outcome, or Close, waits for the disk. A disk may stall for minutes; then the outcome
	// is sent from memory.
	journalTimeout = 2 * time.Second
	// journalPage is the page size of a new journal, in bytes, and newJournalSize the size of its file.
	journalPage    = 4096
	newJournalSize = 4 * journalPage
)

// OpenJournal opens or creates the journal in the file path. The caller must close it. The error is ErrDamaged if no later process
// can open this file either.
func OpenJournal(path string) (*Journal, error) {
	if err := removeIncomplete(path); err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	db, err := openIntact(path)
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	if err := createBucket(db); err != nil {
		return nil, errors.Join(fmt.Errorf("open journal %s: %w", path, err), db.Close())
	}
	j := &Journal{db: db, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if j.lastKey, err = j.lastKeyNumber(); err != nil {
		return nil, errors.Join(fmt.Errorf("open journal %s: %w", path, err), db.Close())
	}
	go j.write() // Close waits for it
	return j, nil
}

// createBucket creates the bucket of a new journal. It writes nothing to an existing journal. A write needs space, and outcomes
// must be delivered even if the disk is full.
func createBucket(db *bolt.DB) error {
	exists := false
	err := db.View(func(tx *bolt.Tx) error {
		exists = tx.Bucket(outcomesBucket) != nil
		return nil
	})
	if err != nil || exists {
		return err
	}
	return db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(outcomesBucket)
		return err
	})
}

// removeIncomplete removes a journal whose creation did not finish, for example on a full disk. It has never held an
// outcome. bbolt would refuse it for ever, or end the process by reading beyond its end.
func removeIncomplete(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || info.Size() >= newJournalSize {
		return nil //nolint:nilerr // bbolt reports the error, if there is one
	}
	return os.Remove(path)
}

// Close waits for the changes under way and closes the file. If the disk does not answer, Close returns an error and leaves
// the writer behind, which ends when the disk answers.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	wake(j.wake)
	result := make(chan error, 1)
	go func() { // Close waits for it below
		<-j.done
		if j.damaged() != nil { // which was reported
			result <- nil
			return
		}
		result <- j.db.Close()
	}()
	if err := output.Answer(result, journalTimeout); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

// awaitDisk returns when the change under way has been written, or at once if there is none. The wait has no limit. If the last
// change could not be written, it writes the journal again: the rest of the disk may work.
func (j *Journal) awaitDisk() error {
	err := j.damaged()
	switch {
	case err != nil:
	case j.failed.Load():
		err = j.update(func(*bolt.Tx) error { return nil }) // writes and syncs, although nothing changes
		j.failed.Store(err != nil)
	default:
		var tx *bolt.Tx
		if tx, err = j.db.Begin(true); err == nil {
			err = tx.Rollback()
		}
	}
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// update changes the journal. If bbolt panics, which shows damage, the error is ErrDamaged, and no later call changes the journal:
// bbolt may have kept its locks.
func (j *Journal) update(change func(*bolt.Tx) error) error {
	err := j.damaged()
	if err == nil {
		err = findDamage(func() error { return j.db.Update(change) })
	}
	if errors.Is(err, ErrDamaged) {
		j.mu.Lock()
		j.damage = err
		j.mu.Unlock()
	}
	return err
}

// damaged returns the damage that update has found; nil if it has found none.
func (j *Journal) damaged() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.damage
}

// keyMark begins the key of an entry; its number follows. Numbers grow, so entries that are written one after another lie side by
// side, and a sync writes few pages.
const keyMark = '#'

// journalEntry is the group of outcomes that one sync writes, under one key. It is removed with the last of them.
type journalEntry struct {
	key     string
	needed  int  // guarded by Journal.mu: outcomes that were not removed
	mixed   bool // guarded by Journal.mu: it has outcomes that were removed, beside others
	written bool // guarded by Journal.mu: it is on disk, or will be soon
}

// newEntry returns an empty entry whose key sorts after all others. j.mu must be held.
func (j *Journal) newEntry() *journalEntry {
	j.lastKey++
	n := binary.BigEndian.AppendUint64(make([]byte, 0, 8), j.lastKey)
	return &journalEntry{key: string(hex.AppendEncode([]byte{keyMark}, n))}
}

// lastKeyNumber returns the number in the last key; 0 if there is none.
func (j *Journal) lastKeyNumber() (n uint64, err error) {
	err = j.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(outcomesBucket).Cursor()
		key, _ := c.Seek([]byte{keyMark + 1})
		if key == nil {
			key, _ = c.Last()
		} else {
			key, _ = c.Prev()
		}
		if len(key) >= 17 && key[0] == keyMark { // the first builds had keys without a number
			n, _ = strconv.ParseUint(string(key[1:17]), 16, 64)
		}
		return nil
	})
	return n, err
}

// add writes r to the journal. It returns when r is on disk, or with an error. After output.ErrNoAnswer the disk may still
// write r; remove then removes it.
func (j *Journal) add(r *report) error {
	value, err := r.encode()
	if err != nil {
		return fmt.Errorf("write journal %s: %w", r.key(), err)
	}
	b, err := j.enqueue(r, value)
	if err == nil {
		err = b.wait()
	}
	if err != nil {
		return fmt.Errorf("write journal %s: %w", r.key(), err)
	}
	return nil
}

// remove removes r soon. r may have been added or loaded, or may still be in the queue: changes are made in their order. An
// outcome stays on disk for as long as another one of its entry is needed. If the process dies before the removal, the next process
// sends r again, and the store answers that it has applied r.
func (j *Journal) remove(r *report) {
	if r.entry != nil {
		j.leave(r.entry)
		r.entry = nil
	}
}

// load returns the reports in the journal, and an error for each entry that cannot be read to its end. Such entries stay there.
func (j *Journal) load() (reports []*report, unreadable []error) {
	err := j.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(outcomesBucket).ForEach(func(key, value []byte) error {
			e := &journalEntry{key: string(key), written: true}
			for dec := json.NewDecoder(bytes.NewReader(value)); ; {
				r := new(report)
				err := dec.Decode(r)
				if errors.Is(err, io.EOF) {
					break
				}
				e.needed++
				if err != nil {
					unreadable = append(unreadable, fmt.Errorf("read journal %s: %w", key, err))
					break
				}
				r.Run.Rev, r.entry, r.journaled = r.Rev, e, true
				reports = append(reports, r)
			}
			return nil
		})
	})
	if err != nil {
		unreadable = append(unreadable, fmt.Errorf("read journal: %w", err))
	}
	return reports, unreadable
}
