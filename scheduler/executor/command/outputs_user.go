package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// commonPrefix begins the names of directories for outputs in the directory for temporary files.
	commonPrefix = "rota-outputs-"
	// commonRecord is the file that holds the path of the common directory, for the next process.
	commonRecord = "common"
)

// pathOfUser returns the path of a file in a new directory of the user. Other users cannot enter the data directory, so the
// directories of the user are in a common directory among the temporary files. If a cleaner has removed the common directory,
// pathOfUser makes another one.
func (o *outputs) pathOfUser(name string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		fresh := o.common == ""
		if fresh {
			if err := o.makeCommon(); err != nil {
				return "", fmt.Errorf("make directory for outputs: %w", err)
			}
		}
		dir := filepath.Join(o.common, name)
		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, fs.ErrNotExist) && !fresh {
			o.common = ""
			continue
		}
		if err == nil {
			err = o.user.own(dir)
		}
		if err != nil {
			return "", fmt.Errorf("make directory for outputs: %w", err)
		}
		return filepath.Join(dir, "output"), nil
	}
}

// makeCommon makes the common directory, and records its path. Other users may enter it, and cannot list or change it.
func (o *outputs) makeCommon() error {
	dir, err := os.MkdirTemp("", commonPrefix)
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return err
	}
	o.common = dir
	return os.WriteFile(filepath.Join(o.dir, commonRecord), []byte(dir), 0o600)
}

// removeCommon removes the common directory of an earlier process.
func (o *outputs) removeCommon() {
	text, err := os.ReadFile(filepath.Join(o.dir, commonRecord))
	if err == nil && strings.HasPrefix(filepath.Base(string(text)), commonPrefix) {
		_ = os.RemoveAll(string(text)) // what is left takes only space
	}
}

// owns reports whether a file belongs to the user. A program could name a file of another user by a hard link.
func (u *User) owns(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == u.UID
}
