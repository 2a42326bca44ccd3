package worker

import (
	"bytes"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
)

const (
	// removeDelay is how long a removal waits for other changes, so that they share one sync.
	removeDelay = time.Second
	// commitInterval is the least time from one commit to the next. Under load, more outcomes share the pages of a commit.
	commitInterval = 10 * time.Millisecond
	// journalBatch is the largest number of changes in one sync, and journalBytes bounds the outcomes among them: the last one
	// may pass it.
	journalBatch = 1024
	journalBytes = 1 << 20
)

// batch is a group of changes that share a sync.
type batch struct {
	entry    *journalEntry // guarded by Journal.mu: the entry of the outcomes; nil: there are none
	outcomes [][]byte      // guarded by Journal.mu until the writer takes the batch
	bytes    int           // guarded by Journal.mu: length of the outcomes
	removals []string      // guarded by Journal.mu until the writer takes the batch: keys of entries

	timeout *time.Timer   // guarded by Journal.mu: ends the wait; nil: no caller waits for the batch
	began   time.Time     // when the first change was queued
	ended   sync.Once     // sets err
	done    chan struct{} // closed when err is set
	err     error         // result of the commit, or output.ErrNoAnswer after journalTimeout
}

// wait returns when the batch is on disk, or output.ErrNoAnswer after journalTimeout.
func (b *batch) wait() error {
	<-b.done
	return b.err
}

// end ends the wait for the batch. Only the first call has an effect.
func (b *batch) end(err error) {
	b.ended.Do(func() {
		b.err = err
		close(b.done)
	})
}

// last returns the batch that takes further changes. The queue stays bounded, since the worker accepts no runs while the disk does
// not answer. Journal.mu must be held.
func (j *Journal) last() *batch {
	n := len(j.queue)
	if n == 0 || j.queue[n-1].full() {
		j.queue = append(j.queue, &batch{began: time.Now(), done: make(chan struct{})})
		wake(j.wake)
	}
	return j.queue[len(j.queue)-1]
}

func (b *batch) full() bool {
	return len(b.outcomes)+len(b.removals) >= journalBatch || b.bytes >= journalBytes
}

// enqueue queues the outcome of r, whose encoded form is value, and returns its batch, for which the caller waits. enqueue itself
// never waits.
func (j *Journal) enqueue(r *report, value []byte) (*batch, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, errJournalClosed
	}
	b := j.last()
	if b.entry == nil {
		b.entry = j.newEntry()
	}
	b.entry.needed++
	r.entry = b.entry
	b.outcomes, b.bytes = append(b.outcomes, value), b.bytes+len(value)
	if b.timeout == nil {
		b.timeout = time.AfterFunc(journalTimeout, func() { b.end(output.ErrNoAnswer) })
		wake(j.wake)
	}
	return b, nil
}

// leave says that one outcome of e is not needed any more. It queues the removal of e after the last one. It never waits.
func (j *Journal) leave(e *journalEntry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e.needed--; e.needed == 0 && e.written && !j.closed {
		b := j.last()
		b.removals = append(b.removals, e.key)
	}
	e.mixed = e.needed > 0
}

// separate moves r, which may stay for long, out of an entry with removed outcomes. These would be sent again at each start,
// when the store may have forgotten that it took them. If the disk fails, r stays where it is.
func (j *Journal) separate(r *report) {
	old := r.entry
	j.mu.Lock()
	mixed := old.mixed
	j.mu.Unlock()
	if !mixed {
		return
	}
	err := j.add(r)
	if r.entry == old { // the journal is closed
		return
	}
	if err != nil {
		old, r.entry = r.entry, old
	}
	j.leave(old)
}

// write writes batches until the journal is closed. It is the journal's goroutine.
func (j *Journal) write() {
	defer close(j.done)
	var last time.Time // the time of the last commit
	timer := time.NewTimer(removeDelay)
	defer timer.Stop()
	for {
		wait, over := j.nextWrite()
		switch {
		case over:
			return
		case wait > 0:
			timer.Reset(wait)
			select {
			case <-j.wake:
			case <-timer.C:
			}
		default:
			time.Sleep(commitInterval - time.Since(last)) // changes that are queued meanwhile join the batch
			j.commit(j.take())
			last = time.Now()
		}
	}
}

// nextWrite returns how long the first batch may wait. over means that there is no batch and the journal is closed. Removals
// wait for other changes, since no caller waits for a removal.
func (j *Journal) nextWrite() (wait time.Duration, over bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case len(j.queue) == 0:
		return removeDelay, j.closed
	case j.closed, len(j.queue) > 1, j.queue[0].timeout != nil:
		return 0, false
	}
	return time.Until(j.queue[0].began.Add(removeDelay)), false
}

// take removes the first batch from the queue. It drops outcomes that nobody needs any more.
func (j *Journal) take() *batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.queue[0]
	j.queue = j.queue[1:]
	if b.entry != nil {
		if b.entry.written = b.entry.needed > 0; !b.entry.written {
			b.entry = nil
		}
	}
	return b
}

// commit writes the changes to disk and wakes the callers that wait for them.
func (j *Journal) commit(b *batch) {
	err := j.update(func(tx *bolt.Tx) error {
		bucket := tx.Bucket(outcomesBucket)
		for _, key := range b.removals {
			if err := bucket.Delete([]byte(key)); err != nil {
				return err
			}
		}
		if b.entry == nil {
			return nil
		}
		return bucket.Put([]byte(b.entry.key), bytes.Join(b.outcomes, []byte("\n")))
	})
	j.failed.Store(err != nil)
	if b.timeout != nil {
		b.timeout.Stop()
	}
	b.end(err)
}
