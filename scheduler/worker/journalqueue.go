package worker

import (
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	// forgetDelay is how long a removal waits for a sync to share.
	forgetDelay = time.Second
	// journalPace is the least time from one commit to the next: under load, more outcomes share the pages that each writes.
	journalPace = 4 * time.Millisecond
	// journalBatch is how many changes share one sync at most.
	journalBatch = 1024
)

// change puts value at key, or removes key where value is nil.
type change struct {
	key, value []byte
	result     chan<- error // nil: nobody waits
}

// send queues c. It never waits: while the disk does not answer, the worker takes nothing new, which bounds the queue.
func (j *Journal) send(c change) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return errJournalClosed
	}
	j.queue = append(j.queue, c)
	j.nudge()
	return nil
}

// nudge has the writer look at the queue.
func (j *Journal) nudge() {
	select {
	case j.wake <- struct{}{}:
	default: // it will
	}
}

// write is the journal's goroutine. It ends when the journal is closed. A removal waits for company, since nobody waits
// for it.
func (j *Journal) write() {
	defer close(j.done)
	var (
		batch  []change
		timer  = time.NewTimer(forgetDelay)
		last   time.Time // commit that somebody waited for
		commit = func() { j.commit(batch); batch = nil }
	)
	defer timer.Stop()
	for open := true; open; {
		select {
		case <-j.wake:
			if len(batch) == 0 {
				timer.Reset(forgetDelay)
			}
			var urgent bool
			batch, urgent, open = j.gather(batch)
			if urgent || len(batch) >= journalBatch {
				if early := journalPace - time.Since(last); early > 0 {
					time.Sleep(early)
					batch, _, open = j.gather(batch)
				}
				commit()
				last = time.Now()
			}
		case <-timer.C:
			commit()
		}
	}
	commit()
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

// gather moves to batch what is queued and fits, and says whether somebody waits for any of it and whether more may come.
func (j *Journal) gather(batch []change) (_ []change, urgent, open bool) {
	j.mu.Lock()
	n := min(len(j.queue), journalBatch-len(batch))
	batch = append(batch, j.queue[:n]...)
	j.queue = slices.Delete(j.queue, 0, n)
	rest := len(j.queue) > 0
	open = rest || !j.closed
	j.mu.Unlock()
	if rest {
		j.nudge()
	}
	return batch, slices.ContainsFunc(batch, func(c change) bool { return c.result != nil }), open
}

func (c *change) apply(b *bolt.Bucket) error {
	if c.value == nil {
		return b.Delete(c.key)
	}
	return b.Put(c.key, c.value)
}
