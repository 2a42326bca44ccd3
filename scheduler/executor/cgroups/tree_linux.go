package cgroups

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// folder is the prefix of the names of this package's folders. Each folder belongs to one process.
const folder = "rota-attempts-"

// Tree creates cgroups below the cgroup of this process. It is safe for concurrent use.
type Tree struct {
	homes []home
	made  atomic.Int64
}

// home is a hierarchy in which this process may create cgroups.
type home struct {
	place
	folder string   // the folder of this process
	lock   *os.File // the lock of the folder, held until this process ends
}

// Open finds the controllers that this process may use, creates its folders, and removes those of dead processes. The
// tree is never nil. The error says which controllers cannot be used and why.
func Open() (*Tree, error) {
	t := &Tree{}
	places, missing := find()
	for _, p := range places {
		h := home{place: p}
		err := h.create()
		if err != nil {
			missing = append(missing, fmt.Errorf("%s: %w", strings.Join(p.controllers, ", "), err))
			continue
		}
		t.homes = append(t.homes, h)
	}
	return t, errors.Join(missing...)
}

// Sweep kills the processes in the cgroups that dead processes have left, and removes the folders of these cgroups.
func Sweep() error {
	places, _ := find() // if nothing can be created in a place, it has no folders
	var err error
	for _, p := range places {
		err = errors.Join(err, p.sweep(vanishTimeout))
	}
	return err
}

// Close closes the tree. None of its groups may be in use.
func (t *Tree) Close() error {
	var err error
	for _, h := range t.homes {
		err = errors.Join(err, remove(h.folder, vanishTimeout), h.lock.Close())
	}
	t.homes = nil
	return err
}

// Controllers returns the controllers that may be used, sorted; none for a nil tree.
func (t *Tree) Controllers() (list []string) {
	if t == nil {
		return nil
	}
	for _, h := range t.homes {
		list = append(list, h.controllers...)
	}
	slices.Sort(list)
	return list
}

// Make creates the cgroup of a process tree. The name, which need not be unique, is for people.
func (t *Tree) Make(name string, limits Limits) (*Group, error) {
	usable := t.Controllers()
	for _, c := range limits.Controllers() {
		if !slices.Contains(usable, c) {
			return nil, fmt.Errorf("limit %s: there is no cgroup for it on this worker", c)
		}
	}
	name += "." + strconv.FormatInt(t.made.Add(1), 10)
	g := &Group{limits: limits}
	for _, h := range t.homes {
		// A group always gets the controller pids, because Kill uses it to prevent new processes.
		needed := func(c string) bool { return c == PIDs || slices.Contains(limits.Controllers(), c) }
		if !h.unified && !slices.ContainsFunc(h.controllers, needed) {
			continue
		}
		l := layer{home: h.place, dir: filepath.Join(h.folder, name)}
		if err := os.Mkdir(l.dir, 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("make cgroup: %w", err), g.Remove())
		}
		g.layers = append(g.layers, l)
		if err := l.limit(limits); err != nil {
			return nil, errors.Join(err, g.Remove())
		}
	}
	return g, nil
}

// startSweepTimeout is how long a starting process waits for the end of the processes that a dead process has left. It applies
// to each folder of the dead process.
const startSweepTimeout = 200 * time.Millisecond

// create creates the folder of this process.
func (h *home) create() error {
	if h.unified {
		if err := h.prepare(); err != nil {
			return err
		}
	}
	_ = h.sweep(startSweepTimeout) // the next process tries again
	for {
		dir := filepath.Join(h.dir, folder+strings.ToLower(rand.Text()[:8]))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("make cgroup: %w", err)
		}
		lock, err := lockFolder(dir)
		if err == nil && h.unified {
			err = enable(dir, h.controllers)
		}
		switch {
		case err == nil:
			h.folder, h.lock = dir, lock
			return nil
		case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.EWOULDBLOCK): // another process removed it before the lock
			continue
		}
		if lock != nil {
			lock.Close()
		}
		return errors.Join(err, remove(dir, vanishTimeout))
	}
}

// lockFolder locks a folder, and makes sure that it still exists.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock cgroup %s: %w", dir, err)
	}
	if _, err := os.Stat(dir); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweep kills the processes in the folders of dead processes, and removes the folders.
func (p place) sweep(timeout time.Duration) error {
	left, err := filepath.Glob(filepath.Join(p.dir, folder+"*"))
	for _, dir := range left {
		lock, locked := lockFolder(dir)
		if locked != nil {
			continue // its process is alive, or another process is removing it
		}
		err = errors.Join(err, kill(dir, timeout), remove(dir, timeout))
		lock.Close()
	}
	return err
}
