package worker

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// appendLog is a file of entries by key. Changes are appended to it, each in a frame of its own, and are durable after a
// sync. What is removed is dropped from the file when nothing is left, and when it is the greater part of a large file: then what
// is left is copied into a new file that takes the place of the old one.
type appendLog struct {
	path string
	lock *os.File // path + ".lock", locked
	file *os.File

	size    int64            // of what is good in the file
	live    map[string]place // the frames of the entries that are there
	bytes   int64            // of those
	tidyAt  int64            // size from which on it is looked whether the file should be copied
	damaged []error          // what could not be read when it was opened; that file is kept when it is replaced
	suspect bool             // a sync failed: what the file holds is certain only once it has been copied
	buf     []byte           // for the next write
}

// place is where a frame is in the file.
type place struct {
	at   int64
	size int
}

const (
	// resetAbove is the size of a file that is emptied when nothing is left in it, and tidyAbove that of one which is copied
	// when less than half of it is left.
	resetAbove = 64 << 10
	tidyAbove  = 4 << 20
)

var (
	errNotLog = errors.New("it is not a journal")
	errInUse  = errors.New("it is in use by another process")
)

// openLog opens or creates the file, and waits for another process to let go of it at most until wait has passed.
func openLog(path string, wait time.Duration) (*appendLog, error) {
	l := &appendLog{path: path, live: make(map[string]place), tidyAt: tidyAbove}
	err := l.acquire(wait)
	if err == nil {
		err = l.read()
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *appendLog) close() (err error) {
	for _, f := range []*os.File{l.file, l.lock} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// acquire takes the lock, which is on a file of its own, since the other one is replaced at times.
func (l *appendLog) acquire(wait time.Duration) (err error) {
	if l.lock, err = os.OpenFile(l.path+".lock", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		switch err = unix.Flock(int(l.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return err
		case time.Since(began) >= wait:
			return errInUse
		}
	}
}

// read finds out what the file holds, and creates it if there is none.
//
// What follows the last good frame was being written when the machine died. Nobody has been told that it is safe, so it is
// cut off. A part that cannot be read before a good frame is damage.
func (l *appendLog) read() error {
	all, err := os.ReadFile(l.path)
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && len(all) == 0:
		return l.replace()
	case err != nil:
		return err
	case !bytes.HasPrefix(all, []byte(logHead)):
		return errNotLog
	}
	l.size = int64(len(logHead))
	for at := len(logHead); at < len(all); {
		key, kind, n := parseFrame(all[at:])
		if n == 0 {
			next := nextFrame(all, at+1)
			if next < 0 {
				break
			}
			l.damaged = append(l.damaged, fmt.Errorf("bytes %d to %d of %s are damaged", at, next, l.path))
			at = next
			continue
		}
		l.note(key, kind, place{int64(at), n})
		at += n
		l.size = int64(at)
	}
	if l.file, err = os.OpenFile(l.path, os.O_RDWR, 0); err != nil {
		return err
	}
	if l.size < int64(len(all)) {
		return l.file.Truncate(l.size)
	}
	return nil
}

// note takes a frame at p into account.
func (l *appendLog) note(key string, kind byte, p place) {
	l.bytes -= int64(l.live[key].size)
	if kind == removed {
		delete(l.live, key)
		return
	}
	l.live[key] = p
	l.bytes += int64(p.size)
}

// write appends changes, all or none, and makes them durable if sync says so. After an error they may or may not be there
// when the file is opened again.
func (l *appendLog) write(changes []change, sync bool) error {
	if l.suspect {
		if err := l.replace(); err != nil {
			return err
		}
	}
	l.buf = l.buf[:0]
	for i := range changes {
		l.buf = appendFrame(l.buf, &changes[i])
	}
	if _, err := l.file.WriteAt(l.buf, l.size); err != nil {
		_ = l.file.Truncate(l.size) // or else it is overwritten, or cut off when the file is opened
		return err
	}
	at := l.size
	for i := range changes {
		c := &changes[i]
		kind, n := byte(present), frameHead+bodyHead+len(c.key)+len(c.value)
		if c.value == nil {
			kind = removed
		}
		l.note(c.key, kind, place{at, n})
		at += int64(n)
	}
	l.size = at
	if cap(l.buf) > tidyAbove {
		l.buf = nil
	}
	if sync {
		if err := l.file.Sync(); err != nil {
			l.suspect = true
			return err
		}
	}
	return nil
}

// tidy gets rid of what was removed, if that is worthwhile. Should it fail, the file remains as it is.
func (l *appendLog) tidy() {
	switch {
	case len(l.live) == 0 && l.size > resetAbove && len(l.damaged) == 0:
		if l.file.Truncate(int64(len(logHead))) == nil {
			l.size = int64(len(logHead))
		}
	case l.size >= l.tidyAt && l.bytes < l.size/2:
		_ = l.replace()
		l.tidyAt = max(tidyAbove, 2*l.size)
	}
}

// replace puts a new file with the entries that are there in the place of the old one. One that was damaged is kept beside.
func (l *appendLog) replace() error {
	next, err := os.OpenFile(l.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	live := make(map[string]place, len(l.live))
	size, err := l.copy(next, live)
	if err == nil && len(l.damaged) > 0 {
		if err = os.Link(l.path, l.path+".damaged"); errors.Is(err, os.ErrExist) { // an earlier one, or this one: it tells enough
			err = nil
		}
	}
	if err == nil {
		err = os.Rename(next.Name(), l.path)
	}
	if err != nil {
		return errors.Join(err, next.Close(), os.Remove(next.Name())) // the disk may be full
	}
	if l.file != nil {
		_ = l.file.Close() // nothing of it matters any more
	}
	l.file, l.size, l.live = next, size, live
	err = syncDir(filepath.Dir(l.path))
	l.suspect = err != nil // until then, it may be the old file that is found
	return err
}

// copy writes the entries that are there to a file, in the order of their writing, and notes where they are.
func (l *appendLog) copy(to *os.File, live map[string]place) (size int64, err error) {
	keys := slices.SortedFunc(maps.Keys(l.live), l.byPlace)
	w := bufio.NewWriter(to)
	_, _ = w.WriteString(logHead) // Flush says it
	size = int64(len(logHead))
	for _, key := range keys {
		p := l.live[key]
		frame := make([]byte, p.size)
		if _, err := l.file.ReadAt(frame, p.at); err != nil {
			return 0, err
		}
		_, _ = w.Write(frame)
		live[key] = place{size, p.size}
		size += int64(p.size)
	}
	return size, errors.Join(w.Flush(), to.Sync())
}

func (l *appendLog) byPlace(a, b string) int { return cmp.Compare(l.live[a].at, l.live[b].at) }

// each calls f for the entries that are there, in the order of their writing.
func (l *appendLog) each(f func(key string, value []byte)) error {
	for _, key := range slices.SortedFunc(maps.Keys(l.live), l.byPlace) {
		p := l.live[key]
		head := frameHead + bodyHead + len(key)
		value := make([]byte, p.size-head)
		if _, err := l.file.ReadAt(value, p.at+int64(head)); err != nil {
			return err
		}
		f(key, value)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
