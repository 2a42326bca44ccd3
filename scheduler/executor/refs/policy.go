package refs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Policy says which references a definition may use on this machine. A nil *Policy allows all of them.
//
// An author writes the definition, but the values belong to this machine. Without a policy, each author could read every file
// and variable of this process, and send it to any address.
type Policy struct {
	Setting string   // The setting that Files and Env come from, such as worker.refs, for errors.
	Files   []string // Patterns of absolute paths, for path.Match. A pattern that ends in /** means everything below.
	Env     []string // Patterns of names of variables.
	Never   []string // Files and directories that no pattern allows: rota's own keys and data.
}

// RefusedError says that a policy does not allow a reference. Another attempt on this machine would be refused too.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// env returns an error unless the policy allows a variable.
func (p *Policy) env(name string) error {
	if p == nil || slices.ContainsFunc(p.Env, func(pattern string) bool { return matches(pattern, name) }) {
		return nil
	}
	return &RefusedError{"variable is not in " + p.Setting + ".env"}
}

// file returns the path to open for a file that the policy allows. It follows symbolic links first. Both the written path and
// the file behind the links must be allowed.
func (p *Policy) file(name string) (string, error) {
	if p == nil {
		return name, nil
	}
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		target = filepath.Clean(name) // if this path is allowed, opening the file will fail and report the cause
	}
	switch {
	case slices.ContainsFunc(p.Never, func(own string) bool { return within(target, own) }):
		return "", &RefusedError{"file belongs to rota itself"}
	case !p.allowed(filepath.Clean(name)):
		return "", &RefusedError{"file is not in " + p.Setting + ".files"}
	case !p.allowed(target):
		return "", &RefusedError{"file is a link, and its target is not in " + p.Setting + ".files"}
	}
	return target, nil
}

// opened reports whether f is the file at the path that the policy allows. Between the decision and the opening, a link may have
// taken the place of the file or of a directory. Only Linux says where an open file is; elsewhere opened returns true.
func (p *Policy) opened(f *os.File, path string) bool {
	if p == nil {
		return true
	}
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	return err != nil || at == path
}

// within reports whether file is own, is below own, or is another name of own.
func within(file, own string) bool {
	if resolved, err := filepath.EvalSymlinks(own); err == nil {
		own = resolved
	}
	return file == own || strings.HasPrefix(file, strings.TrimSuffix(own, "/")+"/") || sameFile(file, own)
}

// allowed reports whether a pattern matches the path. The directory in a pattern may contain symbolic links.
func (p *Policy) allowed(name string) bool {
	return slices.ContainsFunc(p.Files, func(pattern string) bool {
		if matches(pattern, name) {
			return true
		}
		// The operator may write a directory as a link, such as /var/run for /run.
		dir, last := path.Split(pattern)
		target, err := filepath.EvalSymlinks(path.Clean(dir))
		return err == nil && matches(path.Join(target, last), name)
	})
}

// sameFile reports whether a and b are the same file. It finds hard links to rota's own files.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

func matches(pattern, name string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/**"); ok {
		return strings.HasPrefix(name, dir+"/")
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
