package node

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// replaceFile puts a file in the place of another at once, and returns when it is on the disk: whenever the machine loses its
// power, there is the one or the other, in full.
func replaceFile(path string, text []byte) error { return replaceSynced(path, text, (*os.File).Sync) }

// replaceSynced is replaceFile with another way to wait for the disk.
func replaceSynced(path string, text []byte, sync func(*os.File) error) error {
	next, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
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
	if err := sync(dir); err != nil && !errors.Is(err, syscall.EINVAL) { // which file systems say that have nothing to sync
		return err
	}
	return nil
}
