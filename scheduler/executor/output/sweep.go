package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep removes files under dir that were last written more than maxAge before now, then the oldest ones until no more
// than maxBytes are left; zero or less means no limit. Files that are being written stay. It returns how many it removed,
// and goes on past files that it cannot remove. A dir that does not exist is empty.
func Sweep(dir string, maxAge time.Duration, maxBytes int64, now time.Time) (removed int, err error) {
	type file struct {
		path    string
		size    int64
		written time.Time
	}
	var (
		files []file
		errs  []error
		total int64
	)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		if !d.Type().IsRegular() || !strings.HasSuffix(path, suffix) {
			return nil
		}
		if info, err := d.Info(); err == nil {
			files = append(files, file{path, info.Size(), info.ModTime()})
			total += info.Size()
		}
		return nil
	})
	errs = append(errs, err)
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.written.Compare(b.written), cmp.Compare(a.path, b.path)) })
	for _, f := range files {
		tooOld := maxAge > 0 && now.Sub(f.written) > maxAge
		tooMuch := maxBytes > 0 && total > maxBytes
		if !tooOld && !tooMuch {
			break // the others are newer
		}
		ok, err := remove(f.path)
		if err != nil {
			errs = append(errs, err)
		}
		if ok {
			removed++
			total -= f.size
		}
	}
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("sweep output: %w", err)
	}
	return removed, nil
}

// remove removes a file that nobody is writing, and its directory if that is empty now.
func remove(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if lock(f) != nil {
		return false, nil
	}
	if err := os.Remove(path); err != nil {
		return false, err
	}
	os.Remove(filepath.Dir(path))
	return true, nil
}

// lock takes the file for this descriptor alone, or fails at once. It ends with the descriptor, also if the process dies.
func lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
