package embedded

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lockName is the file whose lock shows that a directory is in use.
	lockName = "rota.lock"
	// lockPoll is the time between two tries to take a lock.
	lockPoll = 50 * time.Millisecond
)

// ErrLocked says that another process uses the directory or its database.
var ErrLocked = errors.New("in use by another process")

// LockDir creates dir if it is missing and locks it for this process. The lock lasts until the caller closes the file; if the
// process dies, the kernel releases it. If another process holds the lock, LockDir tries again for as long as patience. Then it
// returns an error that wraps ErrLocked and names that process.
func LockDir(dir string, patience time.Duration) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create directory %s: %w", dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of %s: %w", dir, err)
	}
	err = tryLock(f)
	for began := time.Now(); errors.Is(err, ErrLocked) && time.Since(began) < patience; err = tryLock(f) {
		time.Sleep(lockPoll)
	}
	if err != nil && !errors.Is(err, ErrLocked) { // the file system cannot lock
		return nil, errors.Join(fmt.Errorf("lock directory %s: %w", dir, err), f.Close())
	}
	if err != nil {
		defer f.Close()
		holder, _ := io.ReadAll(io.LimitReader(f, 64))
		return nil, fmt.Errorf("lock directory %s: %w, held by %s (stop that process, or give this one another directory)",
			dir, err, strings.TrimSpace(string(holder)))
	}
	// The process ID is for people. A disk that is full must not prevent the start.
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "process %d\n", os.Getpid())
	}
	return f, nil
}

// checkDatabase returns an error if a plain etcd uses the database in dir. A plain etcd does not take the lock of LockDir. Without
// this check, the embedded etcd would wait for the database for ever.
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
	if err := tryLock(f); err != nil && !errors.Is(err, ErrLocked) {
		return fmt.Errorf("lock database %s: %w", path, err)
	} else if err != nil {
		return fmt.Errorf("lock database %s: %w, held by another etcd (stop it: lsof %s names it)", path, err, path)
	}
	return nil
}

// tryLock locks f without waiting. It returns ErrLocked if another process holds the lock.
func tryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// reservedFiles is how many open files etcd keeps for itself. If the process may open no more, etcd ends it without an error.
const reservedFiles = 150

// openFiles returns how many files this process may open; the highest number if that is unknown.
func openFiles() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxUint64
	}
	return limit.Cur
}

func checkFiles(may uint64) error {
	if may > reservedFiles {
		return nil
	}
	return fmt.Errorf("this process may open %d files, and etcd needs more than %d: raise LimitNOFILE of the unit, or `ulimit -n`",
		may, reservedFiles)
}
