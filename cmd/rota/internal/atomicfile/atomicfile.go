package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// Replace atomically replaces the file at path with a file that contains text, and syncs it. After a power loss the file has the
// old text or the new one.
func Replace(path string, text []byte) error { return replace(path, text, (*os.File).Sync) }

// replace is Replace with sync in place of (*os.File).Sync.
func replace(path string, text []byte, sync func(*os.File) error) error {
	next, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if _, err = next.Write(text); err == nil {
		err = sync(next)
	}
	if err := errors.Join(err, next.Close()); err != nil {
		return err
	}
	if err := os.Rename(next.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := sync(dir); err != nil && !errors.Is(err, syscall.EINVAL) { // EINVAL: this file system cannot sync directories
		return err
	}
	return nil
}
