package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Journal keeps the outcomes that the store has not acknowledged, on disk. One process has it open at a time.
//
// Changes that come while the disk is busy share the next sync, so its cost per outcome falls as load rises.
type Journal struct {
	changes chan change
	done    sync.WaitGroup // the writer

	mu     sync.RWMutex
	closed bool // guarded by mu: no more sends on changes

	disk sync.Mutex
	log  *appendLog // guarded by disk
}

// change puts value at key, or removes key where value is nil.
type change struct {
	key    string
	value  []byte
	result chan<- error // nil: nobody waits
}

var errJournalClosed = errors.New("journal is closed")

const (
	// journalLockTimeout is how long OpenJournal waits for another process to let go of the file.
	journalLockTimeout = 5 * time.Second
	// forgetDelay is how long a removal waits for a sync to share.
	forgetDelay = time.Second
	// journalPace is the least time from one sync to the next: under load, more outcomes share each.
	journalPace = 2 * time.Millisecond
	// journalBatch is how many changes share one sync at most.
	journalBatch = 1024
)

// OpenJournal opens or creates the journal in the file path. It must be closed.
func OpenJournal(path string) (*Journal, error) {
	log, err := openLog(path, journalLockTimeout)
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	j := &Journal{log: log, changes: make(chan change, journalBatch)}
	j.done.Go(j.write)
	return j, nil
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
	if first {
		return j.log.close()
	}
	return nil
}

// keep returns once r is on disk.
func (j *Journal) keep(r *report) error {
	value, err := r.encode()
	if err != nil {
		return fmt.Errorf("write journal %s: %w", r.key(), err)
	}
	result := make(chan error, 1)
	err = j.send(change{key: r.key(), value: value, result: result})
	if err == nil {
		err = <-result
	}
	if err != nil {
		return fmt.Errorf("write journal %s: %w", r.key(), err)
	}
	return nil
}

// forget removes r at some time soon. If we die before, r is sent once more, and the store's answer shows that it has
// been applied.
func (j *Journal) forget(r *report) {
	_ = j.send(change{key: r.key()})
}

// load returns what is kept, and an error for each entry that cannot be read; those stay in the file.
func (j *Journal) load() (reports []*report, unreadable []error) {
	j.disk.Lock()
	defer j.disk.Unlock()
	unreadable = slices.Clone(j.log.damaged)
	err := j.log.each(func(key string, value []byte) {
		r := new(report)
		if err := json.Unmarshal(value, r); err != nil {
			unreadable = append(unreadable, fmt.Errorf("read journal %s: %w", key, err))
			return
		}
		r.Run.Rev = r.Rev
		reports = append(reports, r)
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
		synced time.Time
		timer  = time.NewTimer(forgetDelay)
	)
	defer timer.Stop()
	for {
		select {
		case c, ok := <-j.changes:
			if !ok {
				j.commit(batch)
				return
			}
			if len(batch) == 0 {
				timer.Reset(forgetDelay)
			}
			batch = j.gather(append(batch, c))
			if slices.ContainsFunc(batch, waiting) {
				if early := journalPace - time.Since(synced); early > 0 {
					time.Sleep(early)
					batch = j.gather(batch)
				}
				synced = time.Now()
			} else if len(batch) < journalBatch {
				continue
			}
		case <-timer.C:
		}
		j.commit(batch)
		clear(batch)
		batch = batch[:0]
	}
}

// waiting says whether somebody waits for c.
func waiting(c change) bool { return c.result != nil }

// commit makes the changes that somebody waits for durable, and answers them. A removal that a crash undoes is made again
// when the store's answer shows that its outcome has been applied.
func (j *Journal) commit(batch []change) {
	if len(batch) == 0 {
		return
	}
	j.disk.Lock()
	err := j.log.write(batch, slices.ContainsFunc(batch, waiting))
	j.log.tidy()
	j.disk.Unlock()
	for _, c := range batch {
		if c.result != nil {
			c.result <- err
		}
	}
}

// gather adds to batch what else is waiting.
func (j *Journal) gather(batch []change) []change {
	for len(batch) < journalBatch {
		select {
		case c, ok := <-j.changes:
			if !ok {
				return batch
			}
			batch = append(batch, c)
		default:
			return batch
		}
	}
	return batch
}
