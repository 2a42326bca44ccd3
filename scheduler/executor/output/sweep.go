package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Block is the smallest size that counts for a file, in bytes. It is the block that most file systems use for the shortest
// file.
const Block = 4096

// Bounds limits how much output is kept. Zero or less means no bound.
type Bounds struct {
	Age   time.Duration // since a file was last written
	Bytes int64         // on the disk, of all files together
	Files int64
}

// Half returns bounds with half of the bytes and files, and the same age.
func (b Bounds) Half() Bounds {
	b.Bytes, b.Files = half(b.Bytes), half(b.Files)
	return b
}

// half returns half of n, rounded up, since zero would mean no bound.
func half(n int64) int64 { return n - n/2 }

// Sweep removes the files under dir that are older than bounds.Age, and then the oldest ones until the rest is within the
// bounds, or ctx ends. Files that are being written stay. It returns how many files it removed. It continues after a file
// that it cannot remove. A missing dir counts as empty.
func Sweep(ctx context.Context, dir string, bounds Bounds, now time.Time) (removed int, err error) {
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
		if ctx.Err() != nil {
			return fs.SkipAll
		}
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
			files = append(files, file{path, diskUse(info), info.ModTime()})
			total += diskUse(info)
		}
		return nil
	})
	errs = append(errs, err)
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.written.Compare(b.written), cmp.Compare(a.path, b.path)) })
	left := int64(len(files))
	for _, f := range files {
		tooOld := bounds.Age > 0 && now.Sub(f.written) > bounds.Age
		tooMuch := bounds.Bytes > 0 && total > bounds.Bytes
		tooMany := bounds.Files > 0 && left > bounds.Files
		if !tooOld && !tooMuch && !tooMany || ctx.Err() != nil {
			break // the others are newer
		}
		ok, err := remove(f.path)
		if err != nil {
			errs = append(errs, err)
		}
		if ok {
			removed++
			left--
			total -= f.size
		}
	}
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("sweep output: %w", err)
	}
	return removed, nil
}

// diskUse returns how many bytes of the disk a file uses.
func diskUse(info fs.FileInfo) int64 {
	size := info.Size()
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		size = s.Blocks * 512
	}
	return max(size, Block)
}

// remove removes a file that no process is writing, and its directory if that is empty now.
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
	_ = os.Remove(filepath.Dir(path)) // fails if it is not empty
	return true, nil
}

// lock locks the file for this descriptor, or fails at once. The lock ends with the descriptor, even if the process dies.
func lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
