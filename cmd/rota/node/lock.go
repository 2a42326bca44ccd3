package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockPatience is how long a process that was killed may hold its directory, by a child that it was about to start.
const lockPatience = 2 * time.Second

// lockDataDir takes dir for this process until the file is closed: another one would overwrite what it remembers there, and
// with an etcd that is not in dir nothing else keeps them apart. The kernel drops the lock when the process dies.
func lockDataDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "rota.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock node.data_dir: %w", err)
	}
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if errors.Is(err, unix.EWOULDBLOCK) && time.Since(began) < lockPatience {
			continue
		}
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			holder, _ := io.ReadAll(io.LimitReader(f, 64))
			return nil, fmt.Errorf("node.data_dir %s is in use by another process, %s: each needs a directory of its own",
				dir, strings.TrimSpace(string(holder)))
		}
		return nil, fmt.Errorf("lock node.data_dir %s: %w", dir, err)
	}
	if err := f.Truncate(0); err == nil { // who holds it is good to know, and no reason not to start on a full disk
		_, _ = fmt.Fprintf(f, "pid %d\n", os.Getpid())
	}
	return f, nil
}
