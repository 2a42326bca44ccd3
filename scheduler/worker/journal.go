package worker

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
)

// Journal keeps on disk the outcomes that the store has not acknowledged, and what the processes of attempts are marked with.
// One process has it open at a time.
//
// Changes that come while the disk is busy share the next sync, so its cost per outcome falls as load rises.
//
// Neither an outcome nor Close waits longer than journalPatience for a disk that does not answer.
type Journal struct {
	db     *bolt.DB
	wake   chan struct{} // holds a token while there is something for the writer to see
	done   chan struct{} // closed when the writer has ended
	places atomic.Uint64 // that have been given to outcomes

	mu     sync.Mutex
	queue  []*batch // guarded by mu: what the writer has not taken, in the order in which it came
	closed bool     // guarded by mu: nothing more is queued
}

var (
	outcomesBucket = []byte("outcomes")

	errJournalClosed = errors.New("journal is closed")
)

const (
	// journalLockTimeout is how long OpenJournal waits for another process to let go of the file.
	journalLockTimeout = 5 * time.Second
	// journalPatience is how long the disk may take for an outcome, and to close the file. One that has stalled, as it may for
	// minutes, is not waited for: the outcome is sent from memory.
	journalPatience = 2 * time.Second
	// journalPage is the size of a new journal's pages, and journalBirth that of a whole new one, in bytes.
	journalPage  = 4096
	journalBirth = 4 * journalPage
)

// OpenJournal opens or creates the journal in the file path. It must be closed.
func OpenJournal(path string) (*Journal, error) {
	if err := removeUnborn(path); err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout: journalLockTimeout, FreelistType: bolt.FreelistMapType, PageSize: journalPage,
	})
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	if err := initiate(db); err != nil {
		return nil, errors.Join(fmt.Errorf("open journal %s: %w", path, err), db.Close())
	}
	j := &Journal{db: db, wake: make(chan struct{}, 1), done: make(chan struct{})}
	last, err := j.lastPlace()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open journal %s: %w", path, err), db.Close())
	}
	j.places.Store(last)
	go j.write() // waited for by Close
	return j, nil
}

// initiate makes what a new journal lacks. One that lacks nothing is not written to, since that takes room on the disk, and what
// it holds is to be delivered also where there is none.
func initiate(db *bolt.DB) error {
	born := false
	err := db.View(func(tx *bolt.Tx) error {
		born = tx.Bucket(outcomesBucket) != nil
		return nil
	})
	if err != nil || born {
		return err
	}
	return db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(outcomesBucket)
		return err
	})
}

// removeUnborn removes a journal that was not made to the end, as on a full disk. It has never held an outcome, bbolt refuses
// it for ever, and to read what it lacks would end the process.
func removeUnborn(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || info.Size() >= journalBirth {
		return nil // bbolt says what is wrong, if anything is
	}
	return os.Remove(path)
}

// Close waits for the changes under way and closes the file. A disk that does not answer has it return an error: then the writer,
// which nothing can end, is left behind with the file, and ends when the disk answers.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.nudge()
	result := make(chan error, 1)
	go func() { // waited for below
		<-j.done
		result <- j.db.Close()
	}()
	if err := output.Answer(result, journalPatience); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

// answers returns once the change that is under way has been made, if there is one: it waits as long as the disk does.
func (j *Journal) answers() error {
	tx, err := j.db.Begin(true)
	if err == nil {
		err = tx.Rollback()
	}
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// placeMark is what the key of an outcome begins with, before its number and the attempt's own key. Outcomes that are kept one
// after another lie side by side, so that a sync writes few pages however many there are: they go in about the same order.
const placeMark = '#'

// newPlace is a key behind all others.
func (j *Journal) newPlace(r *report) string {
	n := binary.BigEndian.AppendUint64(nil, j.places.Add(1))
	return string(placeMark) + hex.EncodeToString(n) + " " + r.key()
}

// lastPlace is the number of the last outcome that is kept; 0 if there is none.
func (j *Journal) lastPlace() (n uint64, err error) {
	err = j.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(outcomesBucket).Cursor()
		key, _ := c.Seek([]byte{placeMark + 1})
		if key == nil {
			key, _ = c.Last()
		} else {
			key, _ = c.Prev()
		}
		if len(key) > 17 && key[0] == placeMark { // or it is of an earlier build
			n, _ = strconv.ParseUint(string(key[1:17]), 16, 64)
		}
		return nil
	})
	return n, err
}

// keep returns once r is on disk, or an error. After one that is output.ErrNoAnswer it may get there yet, and forget removes it all the
// same.
func (j *Journal) keep(r *report) error {
	value, err := r.encode()
	if err != nil {
		return fmt.Errorf("write journal %s: %w", r.key(), err)
	}
	r.place = j.newPlace(r)
	b, err := j.send(change{key: []byte(r.place), value: value}, true)
	if err == nil {
		err = b.wait()
	}
	if err != nil {
		return fmt.Errorf("write journal %s: %w", r.key(), err)
	}
	return nil
}

// forget removes r, which was kept or loaded, or may be yet, at some time soon: changes are made in the order in which they came.
// If we die before, r is sent once more, and the store's answer shows that it has been applied.
func (j *Journal) forget(r *report) {
	if r.place != "" {
		_, _ = j.send(change{key: []byte(r.place)}, false)
	}
}

// load returns what is kept, and an error for each entry that cannot be read; those stay in the file.
func (j *Journal) load() (reports []*report, unreadable []error) {
	err := j.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(outcomesBucket).ForEach(func(key, value []byte) error {
			r := new(report)
			if err := json.Unmarshal(value, r); err != nil {
				unreadable = append(unreadable, fmt.Errorf("read journal %s: %w", key, err))
				return nil
			}
			r.Run.Rev, r.place = r.Rev, string(key)
			reports = append(reports, r)
			return nil
		})
	})
	if err != nil {
		unreadable = append(unreadable, fmt.Errorf("read journal: %w", err))
	}
	return reports, unreadable
}
