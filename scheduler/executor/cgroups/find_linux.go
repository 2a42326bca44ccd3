package cgroups

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// place is the position in one hierarchy where this process may create cgroups.
type place struct {
	unified     bool     // v2
	dir         string   // the parent of the new cgroups; in v1 the cgroup of this process
	controllers []string // those controllers in known() that are available
}

// mount describes one mounted cgroup hierarchy, from a line of /proc/self/mountinfo.
type mount struct {
	unified bool
	root    string // path of the mounted cgroup, as this process sees it
	dir     string
	options []string // the options of the hierarchy; in v1 these include the names of its controllers
}

// find returns the places where this process may create cgroups. missing says why controllers have no place. find uses v1 only
// if v2 has no controller for this process.
func find() (places []place, missing []error) {
	mounts, err := mounted()
	if err != nil {
		return nil, []error{err}
	}
	own, err := memberships()
	if err != nil {
		return nil, []error{err}
	}
	for _, m := range mounts {
		if !m.unified {
			continue
		}
		p, err := delegated(m, own[""])
		if err != nil {
			return nil, []error{err}
		}
		if len(p.controllers) > 0 {
			places = append(places, p)
			break
		}
	}
	unified := len(places) > 0
	for _, c := range known() {
		if unified && slices.Contains(places[0].controllers, c) {
			continue
		}
		i := slices.IndexFunc(mounts, func(m mount) bool { return !m.unified && slices.Contains(m.options, c) })
		if unified || i < 0 {
			missing = append(missing, fmt.Errorf("%s: no cgroup has this controller", c))
			continue
		}
		dir := mounts[i].path(own[c])
		if k := slices.IndexFunc(places, func(p place) bool { return p.dir == dir }); k >= 0 { // two controllers in one hierarchy
			places[k].controllers = append(places[k].controllers, c)
			continue
		}
		places = append(places, place{dir: dir, controllers: []string{c}})
	}
	return places, missing
}

// path returns the directory of a cgroup.
func (m mount) path(cgroup string) string {
	rel, err := filepath.Rel(m.root, cgroup)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return filepath.Join(m.dir, cgroup)
	}
	return filepath.Join(m.dir, rel)
}

// mounted returns the mounted hierarchies.
func mounted() (list []mount, err error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		// The fields are: id parent major:minor root dir options [tags…] - type source options-of-all
		left, right, _ := strings.Cut(line, " - ")
		f, kind := strings.Fields(left), strings.Fields(right)
		if len(f) < 6 || len(kind) < 3 || kind[0] != "cgroup" && kind[0] != "cgroup2" {
			continue
		}
		list = append(list, mount{
			unified: kind[0] == "cgroup2", root: f[3], dir: f[4], options: strings.Split(kind[2], ","),
		})
	}
	return list, nil
}

// memberships returns the cgroups of this process by controller. The key of v2 is "".
func memberships() (map[string]string, error) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	own := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		if f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3); len(f) == 3 {
			for c := range strings.SplitSeq(f[1], ",") {
				own[c] = f[2]
			}
		}
	}
	return own, nil
}

// leaf is the cgroup of v2 into which the processes of a delegated cgroup move.
const leaf = "rota-worker"

// delegated returns the place that was delegated to this process in v2. It is the cgroup of this process, or its parent. It is
// the parent after a move into the leaf, or with systemd's DelegateSubgroup=. If the hierarchy has no controller for this
// process, it returns no place and no error.
func delegated(m mount, cgroup string) (place, error) {
	own := m.path(cgroup)
	above := filepath.Dir(own)
	switch {
	case len(controllers(own)) == 0 && (own == m.dir || len(controllers(above)) == 0):
		return place{}, nil
	case own == m.dir, marked(own): // the root of a namespace is its container's, and the root of all is this machine's
		return place{unified: true, dir: own, controllers: controllers(own)}, nil
	case own != m.dir && (marked(above) || above == m.dir && filepath.Base(own) == leaf):
		return place{unified: true, dir: above, controllers: controllers(above)}, nil
	}
	return place{}, fmt.Errorf("cgroup %s is not delegated to this process", own)
}

// marked reports whether systemd has delegated a cgroup.
func marked(dir string) bool {
	value := make([]byte, 8)
	for _, attr := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(dir, attr, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// controllers returns the controllers of this package that a cgroup of v2 can give to its children.
func controllers(dir string) []string {
	b, _ := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	there := strings.Fields(string(b))
	return slices.DeleteFunc(known(), func(c string) bool { return !slices.Contains(there, c) })
}

// prepare changes a cgroup of v2 so that its children can have limits.
func (h *home) prepare() error {
	// The kernel answers a call without arguments with EINVAL. A filter that forbids the call answers with another error.
	if _, _, err := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0); err != unix.EINVAL {
		return fmt.Errorf("clone3 is not permitted, by a kernel before 5.7 or a seccomp profile: %w", err)
	}
	if err := moveToLeaf(h.dir); err != nil {
		return err
	}
	return enable(h.dir, h.controllers)
}

// moveToLeaf moves the processes of a cgroup into its leaf. The root cgroup of the machine may keep its processes.
func moveToLeaf(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.type")); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for range 100 { // processes may start others during the move
		pids, err := members(dir)
		if err != nil || len(pids) == 0 {
			return err
		}
		if err := os.Mkdir(filepath.Join(dir, leaf), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("make cgroup: %w", err)
		}
		for _, pid := range pids {
			err := write(filepath.Join(dir, leaf), "cgroup.procs", pid)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return fmt.Errorf("cgroup %s: new processes keep appearing", dir)
}

// enable gives controllers to the children of a cgroup of v2.
func enable(dir string, controllers []string) error {
	for _, c := range controllers {
		if err := write(dir, "cgroup.subtree_control", "+"+c); err != nil {
			return err
		}
	}
	return nil
}
