package worker

import (
	"fmt"
	"math/rand/v2"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/scheduler/executor/procs"
)

// livesBucket has a key for each life whose processes may still run. A life is one call of Run.
var livesBucket = []byte("lives")

// beginLife chooses the name of this life, which begins the marks of its attempts' processes, and kills the processes that
// earlier lives with this data directory have left. Usually their nannies have done that, but `pkill -9 rota` kills a worker
// together with its nanny. The lock of the journal proves that those lives are over and that all their processes are marked: a
// process has the lock between fork and exec too.
func (w *Worker) beginLife() {
	w.life = fmt.Sprintf("%s-%016x", w.cfg.Name, rand.Uint64())
	if w.journal == nil {
		return
	}
	former, err := w.journal.lives()
	if err == nil && len(former) > 0 {
		if err = procs.KillMarked(former...); err != nil {
			former = nil // the next life tries again
		}
	}
	if err != nil {
		w.log.Error("attempts of the last process may still execute", "err", err)
	}
	w.formerLives = former
}

// recordLife puts this life into the journal, unless it is there. It removes the lives whose processes are gone. No attempt
// starts before this: if the worker were killed, the next life would not know about the processes of the attempt.
func (w *Worker) recordLife() error {
	if w.journal == nil || w.lifeRecorded {
		return nil
	}
	err := w.journal.replaceLives(w.life, w.formerLives)
	w.lifeRecorded = err == nil
	return err
}

// startNanny starts the process that kills the attempts' processes if this process is killed. Its last argument is the
// prefix of their marks. Without Config.NannyCommand it does nothing.
func (w *Worker) startNanny() (stop func()) {
	if len(w.cfg.NannyCommand) == 0 {
		return func() {}
	}
	exe, args := w.cfg.NannyCommand[0], w.cfg.NannyCommand[1:]
	stop, err := procs.StartNanny(exe, append(slices.Clone(args), w.life), w.life)
	if err != nil {
		w.log.Error("attempts will outlive this process if it is killed", "err", err)
		return func() {}
	}
	return stop
}

// lives returns the lives whose processes may still run.
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

// replaceLives puts life into the journal and removes the lives that are over. It returns when the disk has both.
func (j *Journal) replaceLives(life string, over []string) error {
	err := j.update(func(tx *bolt.Tx) error {
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
