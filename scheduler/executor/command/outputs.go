package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// outputs is the directory of the files to which programs write their outputs. It exists once the first attempt needs it.
type outputs struct {
	dir  string       // "": a new directory in that of the system for temporary files
	user *User        // the user of the programs
	last atomic.Int64 // the number of the latest file

	making sync.Mutex
	made   bool // guarded by making

	mu     sync.Mutex
	common string // guarded by mu: the directory of the directories of user; "": not made yet
}

// path returns the path of a file that does not exist yet. Only the user of programs can reach its directory.
func (o *outputs) path() (string, error) {
	if err := o.makeDir(); err != nil {
		return "", fmt.Errorf("make directory for outputs: %w", err)
	}
	name := strconv.FormatInt(o.last.Add(1), 10)
	if !o.user.same() {
		return o.pathOfUser(name)
	}
	return filepath.Join(o.dir, name), nil
}

// makeDir makes the directory. After an error, as on a full disk, the next attempt tries again.
func (o *outputs) makeDir() (err error) {
	o.making.Lock()
	defer o.making.Unlock()
	switch {
	case o.made:
		return nil
	case o.dir == "":
		o.dir, err = os.MkdirTemp("", commonPrefix)
	default:
		// Those of an earlier process: its attempts are over.
		o.removeCommon()
		if err = os.RemoveAll(o.dir); err == nil {
			err = os.MkdirAll(o.dir, 0o700)
		}
	}
	o.made = err == nil
	return err
}

// How long a program that has ended waits for its outputs to be read, if the machine is short of something.
const (
	shortageLimit = 10 * time.Second
	shortagePoll  = 20 * time.Millisecond
)

// open opens a file that a program wrote. If the machine is short of descriptors or memory, open tries again: the work is done, and
// must not count as failed for that.
func open(path string) (*os.File, error) {
	for began := time.Now(); ; time.Sleep(shortagePoll) {
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err == nil || !isShortage(err) || time.Since(began) > shortageLimit {
			return f, err
		}
	}
}

// read returns the outputs that a program wrote to the file at path, and removes the file. If it is missing, there are none.
func (o *outputs) read(path string) (map[string]string, error) {
	if !o.user.same() {
		defer func() { _ = os.RemoveAll(filepath.Dir(path)) }()
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) { // nearly always, and it needs no descriptor
		return nil, nil
	}
	return o.readThere(path)
}

// readThere is read for a file that is probably there: a short machine may not know it at first.
func (o *outputs) readThere(path string) (map[string]string, error) {
	f, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		_ = os.RemoveAll(path)
		return nil, fmt.Errorf("$ROTA_OUTPUT cannot be read: %w", err)
	}
	defer func() { _ = os.RemoveAll(path) }()
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil || !info.Mode().IsRegular():
		return nil, errors.New("$ROTA_OUTPUT is not a regular file")
	case !o.user.same() && !o.user.owns(info):
		return nil, fmt.Errorf("$ROTA_OUTPUT does not belong to user %s", o.user.Name)
	}
	text, err := io.ReadAll(io.LimitReader(f, job.MaxOutputs+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("$ROTA_OUTPUT cannot be read: %w", err)
	case len(text) > job.MaxOutputs:
		return nil, fmt.Errorf("$ROTA_OUTPUT is larger than %d KiB", job.MaxOutputs>>10)
	}
	list, err := job.ParseOutputs(string(text))
	if err != nil {
		return nil, fmt.Errorf("$ROTA_OUTPUT: %w", err)
	}
	return list, nil
}
