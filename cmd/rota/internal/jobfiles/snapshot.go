package jobfiles

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

// snapshot holds the directory entries of the job files, by name.
type snapshot map[string]entry

// entry is one file. For a link, it is the target file.
type entry struct {
	info os.FileInfo // nil: the file cannot be inspected
	real string      // the path after all links are resolved; "" if it is unknown
	gone bool
}

// takeSnapshot inspects the job files at path.
func takeSnapshot(path string) snapshot {
	s := snapshot{}
	entries, err := os.ReadDir(path)
	if err != nil {
		s.add(path)
		s.addCalendars(filepath.Dir(path))
		return s
	}
	for _, entry := range entries { // the names in a directory matter, but not its modification time
		if ext := filepath.Ext(entry.Name()); ext == ".yaml" || ext == ".yml" || ext == ".ics" {
			s.add(filepath.Join(path, entry.Name()))
		}
	}
	return s
}

// addCalendars adds the iCalendar files of a directory, because a job file may name them.
func (s snapshot) addCalendars(dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.ics"))
	if err != nil { // the name of the directory has a bracket: polling does not notice its calendars
		return
	}
	for _, file := range files {
		s.add(file)
	}
}

func (s snapshot) add(name string) {
	info, err := os.Stat(name)
	if err != nil {
		s[name] = entry{gone: errors.Is(err, fs.ErrNotExist)}
		return
	}
	real, _ := filepath.EvalSymlinks(name)
	s[name] = entry{info: info, real: real}
}

// same reports whether two snapshots are equal.
func (s snapshot) same(o snapshot) bool { return maps.EqualFunc(s, o, entry.same) }

// same compares the time of the last change too: some tools give each version of a file the same time of its last write.
func (e entry) same(o entry) bool {
	if e.info == nil || o.info == nil {
		return e == o
	}
	return e.real == o.real && e.info.Size() == o.info.Size() && e.info.ModTime().Equal(o.info.ModTime()) &&
		e.info.Mode() == o.info.Mode() && changed(e.info).Equal(changed(o.info))
}

// swapped reports whether every difference is an atomic replacement of a file, as editors and Kubernetes make it. Any other
// difference may be part of an incomplete change: a file that was written in place, added or removed.
func (s snapshot) swapped(next snapshot) bool {
	if len(s) != len(next) {
		return false
	}
	for name, before := range s {
		after, there := next[name]
		switch {
		case !there, before.info == nil, after.info == nil:
			return false
		case os.SameFile(before.info, after.info) && !before.same(after):
			return false
		}
	}
	return true
}
