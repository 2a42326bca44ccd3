package authn

import (
	"fmt"
	"os"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// fileState is the result of one look at the file.
type fileState struct {
	info os.FileInfo // nil: the file cannot be inspected
	err  string
}

func stateOf(path string) fileState {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{err: err.Error()}
	}
	return fileState{info: info}
}

// same reports whether the file has not changed between two looks. It compares the identity of the file too, because some tools
// give each version of a file the same time.
func (s fileState) same(o fileState) bool {
	if s.info == nil || o.info == nil {
		return s == o
	}
	return os.SameFile(s.info, o.info) && s.info.Size() == o.info.Size() && s.info.Mode() == o.info.Mode() &&
		s.info.ModTime().Equal(o.info.ModTime())
}

// load reads an auth.file. It refuses a file that every user of the machine can write: each of them could become an administrator.
func load(path string) (auth.File, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o002 != 0 {
		return auth.File{}, fmt.Errorf("%s can be written by every user of this machine: chmod o-w %s", path, path)
	}
	return config.LoadAuth(path)
}
