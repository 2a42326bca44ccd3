package jobfiles

import (
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watch asks the file system to report changes. If it cannot, polling finds them. The caller calls stop.
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

// directories returns the directories to watch. Editors and Kubernetes replace files instead of writing them, and links to
// directories are replaced as well.
func directories(path string) []string {
	dirs := []string{filepath.Dir(path)}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dirs = append(dirs, path)
	}
	return dirs
}
