package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// checkDataDir returns an error if another user could replace files in the data directory. Such a user could put a link into the
// directory. If rota runs as root, it would then overwrite any file that the link leads to.
func checkDataDir(dir string) error {
	target, err := filepath.EvalSymlinks(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // rota will make it with access for this user only
	case err != nil:
		return fmt.Errorf("check node.data_dir %s: %w", dir, err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return fmt.Errorf("check node.data_dir %s: %w", dir, err)
	}
	if err := CheckOpenDir(dir); err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("node.data_dir %s belongs to user id %d and this process is user id %d: chown it, or name another directory",
			dir, owner.Uid, os.Geteuid())
	}
	return nil
}

// CheckOpenDir returns the error of a data directory that every user of the machine can write: no process starts on it. It says
// nothing about a directory that is absent, or that this user cannot reach.
func CheckOpenDir(dir string) error {
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil //nolint:nilerr // the process that starts there says why
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm()&0o002 == 0 {
		return nil //nolint:nilerr // as above
	}
	return fmt.Errorf("node.data_dir %s can be written by every user of this machine: chmod o-w %s, or name a directory inside it",
		dir, target)
}
