package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lockName is the file whose lock means "this directory is in use". etcd
// itself would wait for ever for a database that another process holds.
const lockName = "rota.lock"

// lockDir creates dir if need be and takes it for this process, until the file
// is closed. The kernel drops the lock when the process dies, so a file left
// behind blocks nobody.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data dir: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of data dir: %w", err)
	}
	if err := tryLock(f); err != nil {
		defer f.Close()
		holder, _ := io.ReadAll(io.LimitReader(f, 64))
		return nil, fmt.Errorf("lock data dir %s: %w, held by %s (stop that process, or give this one another directory)",
			dir, err, strings.TrimSpace(string(holder)))
	}
	if err := checkDatabase(dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(fmt.Errorf("write lock of data dir: %w", err), f.Close())
	}
	if _, err := fmt.Fprintf(f, "process %d\n", os.Getpid()); err != nil {
		return nil, errors.Join(fmt.Errorf("write lock of data dir: %w", err), f.Close())
	}
	return f, nil
}

// checkDatabase finds out whether a plain etcd, which knows nothing of our
// lock, has the database open.
func checkDatabase(dir string) error {
	path := filepath.Join(dir, "member", "snap", "db")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer f.Close()
	if err := tryLock(f); err != nil {
		return fmt.Errorf("lock database %s: %w, held by another etcd (stop it: lsof %s names it)", path, err, path)
	}
	return nil
}

var errLocked = errors.New("in use by another process")

func tryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
