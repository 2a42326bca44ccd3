package authn

import (
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// fileState is equal for two polls if the file has not changed between them.
type fileState struct {
	modified time.Time
	size     int64
	mode     fs.FileMode
	err      string
}

func stateOf(path string) fileState {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{err: err.Error()}
	}
	return fileState{modified: info.ModTime(), size: info.Size(), mode: info.Mode()}
}

// load reads an auth.file. It refuses a file that every user of the machine can write: each of them could become an administrator.
func load(path string) (auth.File, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o002 != 0 {
		return auth.File{}, fmt.Errorf("%s can be written by every user of this machine: chmod o-w %s", path, path)
	}
	return config.LoadAuth(path)
}
