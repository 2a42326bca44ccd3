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

// Block is what a file counts for at least, in bytes: the block that most file systems give to the shortest.
const Block = 4096

// Bounds say how much output may be kept; zero or less means no bound.
type Bounds struct {
	Age   time.Duration // since a file was last written
	Bytes int64         // of the disk that all files take together
	Files int64
}

// Half is half as much, of the same age.
func (b Bounds) Half() Bounds {
	b.Bytes, b.Files = half(b.Bytes), half(b.Files)
	return b
}

// half of one is one, since none would be no bound.
func half(n int64) int64 { return n - n/2 }

// Sweep removes files under dir that were last written too long before now, then the oldest ones until what is left is within
// the bounds, or ctx ends. Files that are being written stay. It returns how many it removed, and goes on past files that it
// cannot remove. A dir that does not exist is empty.
func Sweep(ctx context.Context, dir string, bounds Bounds, now time.Time) (removed int, err error) {
	type file struct {
		path    string
		taken   int64
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
			files = append(files, file{path, taken(info), info.ModTime()})
			total += taken(info)
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
			total -= f.taken
		}
	}
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("sweep output: %w", err)
	}
	return removed, nil
}

// taken is how much of the disk a file takes, in bytes.
func taken(info fs.FileInfo) int64 {
	size := info.Size()
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		size = int64(s.Blocks) * 512
	}
	return max(size, Block)
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
