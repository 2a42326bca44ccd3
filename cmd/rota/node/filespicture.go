package node

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// picture is what the job files look like from outside, by name.
type picture map[string]look

// look is one file, or what its links lead to.
type look struct {
	info os.FileInfo // nil: it cannot be looked at
	real string      // where links lead; "" is as good as any
	gone bool
}

// take takes a picture of the job files at path.
func take(path string) picture {
	p := picture{}
	entries, err := os.ReadDir(path)
	if err != nil {
		p.add(path)
		return p
	}
	for _, entry := range entries { // of the directory itself only the names matter, not its time
		if ext := filepath.Ext(entry.Name()); ext == ".yaml" || ext == ".yml" {
			p.add(filepath.Join(path, entry.Name()))
		}
	}
	return p
}

func (p picture) add(name string) {
	info, err := os.Stat(name)
	if err != nil {
		p[name] = look{gone: errors.Is(err, fs.ErrNotExist)}
		return
	}
	real, _ := filepath.EvalSymlinks(name)
	p[name] = look{info: info, real: real}
}

// same says whether two pictures show no difference.
func (p picture) same(o picture) bool { return maps.EqualFunc(p, o, look.same) }

func (l look) same(o look) bool {
	if l.info == nil || o.info == nil {
		return l == o
	}
	return l.real == o.real && l.info.Size() == o.info.Size() && l.info.ModTime().Equal(o.info.ModTime()) &&
		l.info.Mode() == o.info.Mode()
}

// swapped says whether next differs from p in nothing but that others took the place of files, at once and as a whole, as
// editors and Kubernetes do it. What was written in place, came or went may be part of something that is not done.
func (p picture) swapped(next picture) bool {
	if len(p) != len(next) {
		return false
	}
	for name, before := range p {
		after, there := next[name]
		switch {
		case !there, before.info == nil, after.info == nil:
			return false
		case os.SameFile(before.info, after.info) && !before.same(after):
			return false
		}
	}
	return true
}

// fresh says whether a file was written just now.
func (p picture) fresh() bool {
	for _, l := range p {
		if l.info != nil && time.Since(l.info.ModTime()).Abs() < settle {
			return true
		}
	}
	return false
}
