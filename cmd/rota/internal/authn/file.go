package authn

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// fileState is the result of one look at the file. Two equal states mean that the file has not changed. No program can set the
// time of the last change of a file, in contrast to the time of the last write.
type fileState struct {
	info unix.Stat_t
	err  string // why the file cannot be inspected
}

func stateOf(path string) (s fileState) {
	if err := unix.Stat(path, &s.info); err != nil {
		return fileState{err: err.Error()}
	}
	s.info.Atim, s.info.Blocks = unix.Timespec{}, 0 // they change without a change of the file
	return s
}

// load reads an auth.file. It refuses a file that every user of the machine can write: each of them could become an administrator.
func load(path string) (auth.File, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o002 != 0 {
		return auth.File{}, fmt.Errorf("%s can be written by every user of this machine: chmod o-w %s", path, path)
	}
	return config.LoadAuth(path)
}
