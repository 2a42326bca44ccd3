package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// files keeps the store's jobs as the job files say.
//
// Every replica reads its own files. A set that the store has not seen yet is put in force by whoever reads it; one that
// was in force earlier and has been replaced is older, and is left alone when a replica starts with it, so that nobody's old
// files undo newer ones. An edit that is seen to happen is put in force, also if it brings back what was before, unless others
// were put in force after it. A restart is no edit: a replica remembers what it has read.
//
// Files that are wrong change nothing: what is in force stays. A replica that starts with wrong files works all the same,
// unless no files have ever been in force.
type files struct {
	node *Node
	path string

	// Owned by run, once it runs.
	set    *config.Set // the last that could be read; nil: none yet
	wrong  error       // what is wrong with the files as they are; nil: nothing
	told   string      // what the log says is wrong with them
	stamp  picture     // of the files as they were read
	edited bool        // set is an edit that is not in force yet
	newer  int64       // marks of other sets are newer than set from this revision on; never: none is that we know of
	kept   sighting    // what the disk knows of them
	last   job.Files   // the store's mark as it was read or written last
	moved  bool        // the mark was moved by the last enforce
	behind string      // why set is not to be put in force, though it is right; until the files change
	moving bool        // the files change and change: they are not read before they rest
}

// How job files are watched. The file system tells of most changes at once; looking finds the others: links that were
// moved elsewhere, network file systems, and machines that are out of watches.
const (
	lookEvery  = 5 * time.Second
	retryFiles = 2 * time.Second  // after a failure
	checkEvery = 30 * time.Second // the store is compared with files that are in force
)

// openFiles reads the files. What becomes of mistakes in them is for run to say.
func openFiles(n *Node) *files {
	f := &files{node: n, path: n.set.Jobs, newer: never}
	f.load()
	return f
}

// run puts the files in force, and again whenever they change. It returns an error only if there is nothing to go on with:
// the files are wrong, and none have ever been in force.
func (f *files) run(ctx context.Context) error {
	changes, stop := f.watch()
	defer stop()
	for f.stamp.fresh() && f.lacks(ctx) && !f.rests(ctx, true) { // whoever copies them may not be done
		if ctx.Err() != nil {
			return nil
		}
	}
	f.load() // they may have changed while etcd was not there
	f.recall()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	enforce := time.NewTimer(0)
	defer enforce.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return nil
		case <-enforce.C:
			f.moved = false
			next, err := checkEvery, f.enforce(ctx)
			switch {
			case errors.Is(err, errNoFiles):
				return f.wrong
			case err != nil && ctx.Err() == nil:
				f.node.log.Info("job files are not in force yet", "path", f.path, "err", err)
				next = retryFiles
			case f.moved:
				next = retryFiles
			}
			enforce.Reset(next)
			continue
		case <-f.node.cfg.Reload:
			f.node.log.Info("reading the job files again", "path", f.path, "reason", "asked")
			asked = true
		case <-changes:
		case <-look.C:
		}
		if f.look(ctx, asked) {
			enforce.Reset(0)
		}
	}
}

// watch asks the file system to tell of changes. Without its help, the files are looked at every lookEvery.
func (f *files) watch() (<-chan fsnotify.Event, func()) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		f.node.log.Warn("job files cannot be watched, they are looked at now and then", "path", f.path, "err", err)
		return nil, func() {}
	}
	for _, dir := range directories(f.path) {
		if err := watcher.Add(dir); err != nil {
			f.node.log.Warn("job files cannot be watched, they are looked at now and then", "path", dir, "err", err)
		}
	}
	drained := make(chan struct{})
	go func() { // ends when the watcher is closed; waited for below
		defer close(drained)
		for err := range watcher.Errors {
			f.node.log.Warn("watch of the job files", "path", f.path, "err", err)
		}
	}()
	return watcher.Events, func() { _ = watcher.Close(); <-drained }
}

// directories are those to watch: editors and Kubernetes replace files rather than write them, and links to directories are
// replaced as well.
func directories(path string) []string {
	dirs := []string{filepath.Dir(path)}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dirs = append(dirs, path)
	}
	return dirs
}

// load reads the files, and says whether they mean something else than before.
func (f *files) load() (changed bool) {
	f.stamp = take(f.path) // before they are read: what changes meanwhile is read again
	set, err := config.LoadJobs([]string{f.path})
	if f.wrong = err; err != nil {
		if text := err.Error(); text != f.told {
			f.node.log.Error("job files are wrong, what is in force stays:\n"+text, "path", f.path)
			f.told = text
		}
		return false
	}
	f.told = ""
	changed = f.set == nil || set.Hash != f.set.Hash
	f.set = set
	return changed
}

// look reads the files if they have changed, or could not be read: whose they are, and whether a disk or a network file system
// gives them, no picture shows. It says whether there was a reason to read them.
func (f *files) look(ctx context.Context, asked bool) bool {
	changed := asked || f.moving || !f.stamp.same(take(f.path))
	if !changed && !unread(f.wrong) {
		return false
	}
	if changed {
		f.told = "" // what is still wrong is told again, but not at each look
	}
	if f.rests(ctx, f.moving) {
		f.read()
	}
	return true
}

// unread says whether a file could not be read.
func unread(wrong error) bool {
	var all config.Errors
	return errors.As(wrong, &all) && slices.ContainsFunc(all, func(e *config.Error) bool { return e.Unread })
}

// read reads the files after a change. Those that could not be read since the start are found, and not edited.
func (f *files) read() {
	found := f.set == nil && unread(f.wrong)
	switch {
	case !f.load():
	case found:
		f.recall()
	default:
		f.edited, f.behind = true, ""
		f.newer = max(f.node.mirror.Files().Rev, f.last.Rev) + 1
		f.keep()
	}
}

// show tells the others what this replica has read, and why that is not in force.
func (f *files) show() {
	note, hash := f.behind, ""
	if f.set != nil {
		hash = f.set.Hash
	}
	if f.wrong != nil {
		note = "the job files are wrong and not in force: " + firstMistake(f.wrong)
	}
	if f.moving {
		note = "the job files change and change, and are not read before they rest"
	}
	f.node.replica.setFiles(hash, note)
}

// firstMistake is the first mistake in a line, with its place, and how many others there are.
func firstMistake(err error) string {
	text := firstLine(err)
	var all config.Errors
	if errors.As(err, &all) && len(all) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(all)-1)
	}
	return text
}
