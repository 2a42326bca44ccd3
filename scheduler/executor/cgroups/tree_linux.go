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

// folder is how the names of this package's folders begin, each of one process.
const folder = "rota-attempts-"

// Tree makes cgroups below the one of this process. It is safe for concurrent use.
type Tree struct {
	homes []home
	made  atomic.Int64
}

// home is a hierarchy in which this process may make cgroups.
type home struct {
	place
	folder string   // ours
	lock   *os.File // held on it as long as this process lives
}

// Open finds out which controllers this process may use, makes its folders, and removes what dead processes have left.
// The tree is never nil; the error says which controllers it cannot use and why.
func Open() (*Tree, error) {
	t := &Tree{}
	places, missing := find()
	for _, p := range places {
		h := home{place: p}
		err := h.settle()
		if err != nil {
			missing = append(missing, fmt.Errorf("%s: %w", strings.Join(p.controllers, ", "), err))
			continue
		}
		t.homes = append(t.homes, h)
	}
	return t, errors.Join(missing...)
}

// Sweep removes what dead processes have left beside the cgroup of this one, processes too.
func Sweep() error {
	places, _ := find() // where nothing can be made, nothing was left
	var err error
	for _, p := range places {
		err = errors.Join(err, p.sweep(patience))
	}
	return err
}

// Close ends the tree, of whose groups none is in use any more.
func (t *Tree) Close() error {
	var err error
	for _, h := range t.homes {
		err = errors.Join(err, remove(h.folder, patience), h.lock.Close())
	}
	t.homes = nil
	return err
}

// Controllers lists the controllers that may be used, sorted; none of a nil tree.
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

// Make makes the cgroup of a tree of processes. The name, which need not be unique, is for people who look.
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
		// With pids, what is being killed can be kept from multiplying.
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

// hurry is how long a process that starts waits for what a dead one has left, in each of its folders.
const hurry = 200 * time.Millisecond

// settle makes this process's folder.
func (h *home) settle() error {
	if h.unified {
		if err := h.prepare(); err != nil {
			return err
		}
	}
	_ = h.sweep(hurry) // what cannot be removed now is the next one's
	for {
		dir := filepath.Join(h.dir, folder+strings.ToLower(rand.Text()[:8]))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("make cgroup: %w", err)
		}
		lock, err := hold(dir)
		if err == nil && h.unified {
			err = enable(dir, h.controllers)
		}
		switch {
		case err == nil:
			h.folder, h.lock = dir, lock
			return nil
		case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.EWOULDBLOCK): // somebody's sweep took it for a dead process's
			continue
		}
		if lock != nil {
			lock.Close()
		}
		return errors.Join(err, remove(dir, patience))
	}
}

// hold locks a folder, and makes sure that it is still there.
func hold(dir string) (*os.File, error) {
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

// sweep removes the folders of dead processes.
func (p place) sweep(patience time.Duration) error {
	left, err := filepath.Glob(filepath.Join(p.dir, folder+"*"))
	for _, dir := range left {
		lock, held := hold(dir)
		if held != nil {
			continue // its process lives, or somebody else removes it
		}
		err = errors.Join(err, kill(dir, patience), remove(dir, patience))
		lock.Close()
	}
	return err
}
