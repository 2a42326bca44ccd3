package jobfiles

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Config holds the places of the job files and of the memory of the replica.
type Config struct {
	Path     string           // a file, or a directory of files
	Node     string           // the name of the replica
	DataDir  string           // data directory of the replica
	Reload   <-chan os.Signal // a signal makes Files read the files again; may be nil
	Reloaded func()           // called after the answer to each such signal, whether the files are in force or not; may be nil
}

// Store reads and writes the definitions. Each method that puts or deletes returns job.ErrConflict if the record has changed
// meanwhile.
type Store interface {
	Files(ctx context.Context) (job.Files, error)
	PutFiles(ctx context.Context, f job.Files) (job.Files, error)
	Job(ctx context.Context, name string) (job.Job, error)
	PutJob(ctx context.Context, j job.Job) (job.Job, error)
	DeleteJob(ctx context.Context, name string, rev int64) error
	Limit(ctx context.Context, name string) (job.Limit, error)
	PutLimit(ctx context.Context, l job.Limit) (job.Limit, error)
	DeleteLimit(ctx context.Context, name string, rev int64) error
}

// Mirror is the replica's copy of the store.
type Mirror interface {
	Files() job.Files
	Job(name string) (*job.Job, bool)
	Jobs() []*job.Job
	Limit(name string) (*job.Limit, bool)
	Limits() []*job.Limit
}

// Replica is the part of the process that Files uses.
type Replica interface {
	// CatchUp waits until the mirror has the present content of the store.
	CatchUp(ctx context.Context) error
	// Now returns the time to record for a change that is made now.
	Now(ctx context.Context) (time.Time, error)
	// ShowFiles publishes the hash of the files that this replica has read. note says why they are not in force.
	ShowFiles(hash, note string)
}

// Files are the job files of a replica.
type Files struct {
	cfg     Config
	log     hclog.Logger
	store   Store
	mirror  Mirror
	replica Replica

	// Run owns all fields below once it has started.

	set      *config.Set // the last set without mistakes; nil: none yet
	mistakes error       // mistakes in the present files; nil: none
	logged   string      // the mistakes that were logged last
	stamp    snapshot    // snapshot of the files at the last read
	edited   bool        // set is an edit that is not in force yet
	newer    int64       // if a mark with another set has at least this revision, it is newer than set
	memory   memory      // the content of the memory on disk
	last     job.Files   // the store's mark at the latest read or write
	moved    bool        // the last enforce moved the mark
	behind   string      // why set must not be put in force; "": it may; reset when the files change
	unstable bool        // the files change; they are read after they have stayed unchanged for a while
	blind    bool        // the mirror may lack jobs that are in force
	asked    bool        // a signal on Reload has no answer yet

	tried chan struct{} // closed after the first attempt to put the files in force
}

// How often the files are checked. The file system reports most changes at once. Polling finds the changes that it does not
// report: links to another target, network file systems, and machines without free watches.
const (
	pollEvery  = 5 * time.Second
	retryAfter = 2 * time.Second  // after a failure
	checkEvery = 30 * time.Second // between two comparisons of the store with files that are in force
)

// New returns the files of a replica. It does not read them, because a file server that does not answer can hold a read for ever.
func New(cfg Config, log hclog.Logger) *Files {
	return &Files{cfg: cfg, log: log, newer: never, tried: make(chan struct{})}
}

// Tried is closed after the first attempt to put the files in force has ended, whether they are in force or not.
func (f *Files) Tried() <-chan struct{} { return f.tried }

// Run puts the files in force, and does so again after each change of them. It returns an error only if the files have mistakes
// and no set has ever been in force.
func (f *Files) Run(ctx context.Context, s Store, m Mirror, r Replica) error {
	f.store, f.mirror, f.replica = s, m, r
	changes, stop := f.watch()
	defer stop()
	f.load()
	for f.deletes(ctx) && !f.settle(ctx, true) { // a copy of the files may be in progress, and their times do not show it
		if ctx.Err() != nil {
			return nil
		}
	}
	f.blind = false
	f.load() // read again: the files may have changed while they came to rest
	f.recall()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	enforce := time.NewTimer(0)
	defer enforce.Stop()
	tried := sync.OnceFunc(func() { close(f.tried) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-enforce.C:
			f.moved = false
			next, err := checkEvery, f.enforce(ctx)
			switch {
			case errors.Is(err, errNoFiles):
				return f.mistakes
			case err != nil && ctx.Err() == nil:
				f.log.Info("job files are not in force yet", "path", f.cfg.Path, "err", err)
				next = retryAfter
			case f.moved:
				next = retryAfter
			}
			enforce.Reset(next)
			tried()
			f.answer()
			continue
		case <-f.cfg.Reload:
			f.log.Info("reading the job files again", "path", f.cfg.Path, "reason", "asked")
			f.asked = true
		case <-changes:
		case <-poll.C:
		}
		if f.poll(ctx, f.asked) || f.agrees() {
			enforce.Reset(0)
		}
	}
}

// answer answers a signal on Reload, if there was one.
func (f *Files) answer() {
	if f.asked && f.cfg.Reloaded != nil {
		f.cfg.Reloaded()
	}
	f.asked = false
}

// readTries is how often files that change during their read are read at once.
const readTries = 3

// load reads the files, and reports whether the set differs from the last one. If the files change during the read, the last set
// stays, and the files count as unstable.
func (f *Files) load() (changed bool) {
	var (
		set    *config.Set
		err    error
		stable bool
	)
	for try := 0; try < readTries && !stable; try++ {
		f.stamp = takeSnapshot(f.cfg.Path) // before the read, so that a change during the read is noticed
		set, err = config.LoadJobs([]string{f.cfg.Path})
		stable = f.stamp.same(takeSnapshot(f.cfg.Path))
	}
	if !stable && f.set != nil {
		// The read may be a mixture of two versions. In such a mixture, a job that moved to another file can be missing.
		f.log.Info("job files changed during the read, reading them again", "path", f.cfg.Path)
		f.unstable = true
		return false
	}
	if f.mistakes = err; err != nil {
		if text := err.Error(); text != f.logged {
			f.log.Error("job files are wrong, what is in force stays", "path", f.cfg.Path, "err", text)
			f.logged = text
		}
		return false
	}
	f.logged = ""
	changed = f.set == nil || set.Hash != f.set.Hash
	f.set = set
	return changed
}

// poll reads the files if they have changed, or if the last read failed. A snapshot shows neither owners nor read errors. So a
// file that could not be read is always tried again. poll reports whether there was a reason to read them.
func (f *Files) poll(ctx context.Context, forced bool) bool {
	changed := forced || f.unstable || !f.stamp.same(takeSnapshot(f.cfg.Path))
	if !changed && !config.IsUnread(f.mistakes) {
		return false
	}
	if changed {
		f.logged = "" // log the mistakes again, but only once for each change
	}
	if f.settle(ctx, f.unstable) {
		f.read()
		if f.unstable && f.settle(ctx, true) { // they changed during the read, and nothing reports that again
			f.read()
		}
	}
	return true
}

// agrees reports whether set is in force although it was not to be put in force: another replica has put the same set in force.
func (f *Files) agrees() bool {
	return f.behind != "" && f.set != nil && f.mirror.Files().Hash == f.set.Hash
}

// read reads the files after a change. The change counts as an edit, unless no read has succeeded since the start of the process.
func (f *Files) read() {
	found := f.set == nil && config.IsUnread(f.mistakes)
	switch {
	case !f.load():
	case found:
		f.recall()
	default:
		f.edited, f.behind = true, ""
		f.newer = max(f.mirror.Files().Rev, f.last.Rev) + 1
		f.remember()
	}
}

// show publishes which files this replica has read, and why they are not in force.
func (f *Files) show() {
	note, hash := f.behind, ""
	if f.set != nil {
		hash = f.set.Hash
	}
	if f.mistakes != nil {
		note = "the job files are wrong and not in force: " + firstMistake(f.mistakes)
	}
	if f.unstable {
		note = "the job files keep changing and are not read until they rest"
	}
	f.replica.ShowFiles(hash, note)
}

// firstMistake returns the first mistake on one line, with its place, and the number of further mistakes.
func firstMistake(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	var all config.Errors
	if errors.As(err, &all) && len(all) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(all)-1)
	}
	return text
}
