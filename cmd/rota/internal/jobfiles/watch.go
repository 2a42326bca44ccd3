package jobfiles

import (
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watch returns a channel of changes that the file system reports. If the file system cannot report them, polling finds them. The
// caller must call stop.
func (f *Files) watch() (changes <-chan fsnotify.Event, stop func()) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		f.log.Warn("job files cannot be watched, they are polled", "path", f.cfg.Path, "err", err)
		return nil, func() {}
	}
	for _, dir := range directories(f.cfg.Path) {
		if err := watcher.Add(dir); err != nil {
			f.log.Warn("job files cannot be watched, they are polled", "path", dir, "err", err)
		}
	}
	drained := make(chan struct{})
	go func() { // ends when the watcher is closed; waited for below
		defer close(drained)
		for err := range watcher.Errors {
			f.log.Warn("watch of the job files failed", "path", f.cfg.Path, "err", err)
		}
	}()
	return watcher.Events, func() { _ = watcher.Close(); <-drained }
}

// directories returns the directories to watch. It does not return files, because editors and Kubernetes replace files instead of
// writing them. They also replace links to directories.
func directories(path string) []string {
	dirs := []string{filepath.Dir(path)}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dirs = append(dirs, path)
	}
	return dirs
}
