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
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode().Perm()&0o002 != 0:
		return fmt.Errorf("node.data_dir %s can be written by every user of this machine: chmod o-w %s, or name a directory inside it",
			dir, target)
	case ok && owner.Uid != 0 && int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("node.data_dir %s belongs to user id %d and this process is user id %d: chown it, or name another directory",
			dir, owner.Uid, os.Geteuid())
	}
	return nil
}
