package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Journal keeps on disk the outcomes that the store has not acknowledged, and what the processes of attempts are marked with.
// One process has it open at a time.
//
// Changes that come while the disk is busy share the next sync, so its cost per outcome falls as load rises.
type Journal struct {
	db      *bolt.DB
	changes chan change
	done    sync.WaitGroup // the writer
	places  atomic.Uint64  // that have been given to outcomes

	mu     sync.RWMutex
	closed bool // no more sends on changes
}

// change puts value at key, or removes key where value is nil.
type change struct {
	key, value []byte
	result     chan<- error // nil: nobody waits
}

var (
	outcomesBucket = []byte("outcomes")

	errJournalClosed = errors.New("journal is closed")
)

const (
	// journalLockTimeout is how long OpenJournal waits for another process to let go of the file.
	journalLockTimeout = 5 * time.Second
	// forgetDelay is how long a removal waits for a sync to share.
	forgetDelay = time.Second
	// journalPace is the least time from one commit to the next: under load, more outcomes share the pages that each writes.
	journalPace = 4 * time.Millisecond
	// journalBatch is how many changes share one sync at most.
	journalBatch = 1024
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
	j := &Journal{db: db, changes: make(chan change, journalBatch)}
	last, err := j.lastPlace()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open journal %s: %w", path, err), db.Close())
	}
	j.places.Store(last)
	j.done.Go(j.write)
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

// Close waits for the changes under way and closes the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	first := !j.closed
	j.closed = true
	j.mu.Unlock()
	if first {
		close(j.changes)
	}
	j.done.Wait()
	return j.db.Close()
}

// placeMark is what the key of an outcome begins with, before its number and the attempt's own key. Outcomes that are kept one
// after another lie side by side, so that a sync writes few pages however many there are: they go in about the same order.
const placeMark = '#'

// newPlace is a key behind all others.
func (j *Journal) newPlace(r *report) string {
	return fmt.Sprintf("%c%016x %s", placeMark, j.places.Add(1), r.key())
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

// keep returns once r is on disk.
func (j *Journal) keep(r *report) error {
	value, err := r.encode()
	if err != nil {
		return fmt.Errorf("write journal %s: %w", r.key(), err)
	}
	r.place = j.newPlace(r)
	result := make(chan error, 1)
	err = j.send(change{key: []byte(r.place), value: value, result: result})
	if err == nil {
		err = <-result
	}
	if err != nil {
		return fmt.Errorf("write journal %s: %w", r.key(), err)
	}
	return nil
}

// forget removes r, which was kept or loaded, at some time soon. If we die before, r is sent once more, and the store's answer
// shows that it has been applied.
func (j *Journal) forget(r *report) {
	if r.place != "" {
		_ = j.send(change{key: []byte(r.place)})
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

func (j *Journal) send(c change) error {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.closed {
		return errJournalClosed
	}
	j.changes <- c
	return nil
}

// write is the journal's goroutine. It ends when changes is closed. A removal waits for company, since nobody waits
// for it.
func (j *Journal) write() {
	var (
		batch  []change
		timer  = time.NewTimer(forgetDelay)
		last   time.Time // commit that somebody waited for
		commit = func() { j.commit(batch); batch = nil }
	)
	defer timer.Stop()
	for {
		select {
		case c, ok := <-j.changes:
			if !ok {
				commit()
				return
			}
			if len(batch) == 0 {
				timer.Reset(forgetDelay)
			}
			var urgent bool
			batch, urgent = j.gather(append(batch, c))
			if urgent || len(batch) >= journalBatch {
				if early := journalPace - time.Since(last); early > 0 {
					time.Sleep(early)
					batch, _ = j.gather(batch)
				}
				commit()
				last = time.Now()
			}
		case <-timer.C:
			commit()
		}
	}
}

// commit makes the changes durable, and answers those who wait for them.
func (j *Journal) commit(batch []change) {
	if len(batch) == 0 {
		return
	}
	err := j.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(outcomesBucket)
		for _, c := range batch {
			if err := c.apply(b); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range batch {
		if c.result != nil {
			c.result <- err
		}
	}
}

// gather adds to batch what else is waiting, and says whether somebody waits for any of it.
func (j *Journal) gather(batch []change) ([]change, bool) {
	for len(batch) < journalBatch {
		select {
		case c, ok := <-j.changes:
			if !ok {
				return batch, true
			}
			batch = append(batch, c)
			continue
		default:
		}
		break
	}
	return batch, slices.ContainsFunc(batch, func(c change) bool { return c.result != nil })
}

func (c *change) apply(b *bolt.Bucket) error {
	if c.value == nil {
		return b.Delete(c.key)
	}
	return b.Put(c.key, c.value)
}
