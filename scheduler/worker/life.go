package worker

import (
	"fmt"
	"math/rand/v2"

	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/scheduler/executor/procs"
)

// livesBucket has a key for each life whose processes may still be there.
var livesBucket = []byte("lives")

// beginLife gives this process's life a name, which its attempts' processes are marked with, and kills what earlier lives
// of this data directory have left. Their nannies do that too, as a rule; but whoever kills a worker by the name of its
// program kills its nanny with it. The journal's lock, which a process has between fork and exec as well, says that those
// lives are over and that what they have begun is marked.
func (w *Worker) beginLife() {
	w.life = fmt.Sprintf("%s-%016x", w.cfg.Name, rand.Uint64())
	if w.journal == nil {
		return
	}
	former, err := w.journal.lives()
	if err == nil && len(former) > 0 {
		if err := procs.KillMarked(former...); err != nil {
			w.log.Error("attempts of the last process may still execute", "err", err)
			former = nil // they are the next one's, too
		}
	}
	if err != nil {
		w.log.Error("attempts of the last process may still execute", "err", err)
	}
	w.former = former
}

// keepLife puts this life into the journal in the place of those that are over, unless it is there. Nothing begins before: what a
// killed worker has left would be known to nobody.
func (w *Worker) keepLife() error {
	if w.journal == nil || w.kept {
		return nil
	}
	// If we die before, nothing of this life has begun; after, the next one finds it.
	err := w.journal.begin(w.life, w.former)
	w.kept = err == nil
	return err
}

// lives lists the lives whose processes may still be there.
func (j *Journal) lives() (names []string, err error) {
	err = j.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(livesBucket)
		if b == nil {
			return nil
		}
		return b.ForEach(func(name, _ []byte) error {
			names = append(names, string(name))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return names, nil
}

// begin returns once the life is on disk, and those that are over are not.
func (j *Journal) begin(life string, over []string) error {
	err := j.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(livesBucket)
		if err != nil {
			return err
		}
		for _, name := range over {
			if err := b.Delete([]byte(name)); err != nil {
				return err
			}
		}
		return b.Put([]byte(life), nil)
	})
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}
