package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/store"
)

// memory is what this process keeps on its own disk of the store that it has seen, so that it recognises one that has gone
// back in time.
//
// It is written as the store moves on, not with it: what was seen in the last rememberEvery before a crash may be missing. A
// process that is started on a store that went back by no more than that takes it for the same one.
type memory struct {
	path string

	mu   sync.Mutex
	seen store.Observation // guarded by mu
	kept store.Observation // guarded by mu; what the file says

	writing bool // guarded by mu; the file is being written
}

// memoryPatience is how long the disk may take for the memory.
const memoryPatience = 2 * time.Second

// openMemory reads what an earlier process of this data directory has seen: nothing if there was none. err says what is
// wrong with a file that tells nothing; the memory is good for use all the same.
func openMemory(dir string) (m *memory, err error) {
	m = &memory{path: filepath.Join(dir, "store.json")}
	text, err := os.ReadFile(m.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err != nil:
		return m, fmt.Errorf("read which store was seen: %w", err)
	}
	if err := json.Unmarshal(text, &m.seen); err != nil {
		m.seen = store.Observation{}
		return m, fmt.Errorf("read which store was seen: %s: %w", m.path, err)
	}
	m.kept = m.seen
	return m, nil
}

// known is what has been seen; the zero Observation if that is nothing.
func (m *memory) known() store.Observation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

// keep remembers seen, in the place of what was seen before. It waits for the disk: a file that was renamed and not synced may
// be empty after the machine lost its power, and who knows nothing takes any store. For a disk that does not answer it waits for
// memoryPatience, and then not again before that does: nothing ends what is stuck in the kernel, and it must not hold up a stop.
func (m *memory) keep(seen store.Observation) error {
	m.mu.Lock()
	m.seen = seen // also if the disk does not take it: we know it all the same
	kept, busy := seen == m.kept, m.writing
	m.writing = busy || !kept
	m.mu.Unlock()
	if kept {
		return nil
	}
	err := output.ErrNoAnswer
	if !busy {
		written := make(chan error, 1)
		go func() { written <- m.write(seen) }() // waited for below
		err = output.Answer(written, memoryPatience)
	}
	if err != nil {
		return fmt.Errorf("remember which store was seen: %w", err)
	}
	return nil
}

// write writes seen into the file, and then what has been seen meanwhile. The caller has set writing.
func (m *memory) write(seen store.Observation) error {
	for {
		text, err := json.Marshal(seen)
		if err == nil {
			err = replaceFile(m.path, append(text, '\n'))
		}
		m.mu.Lock()
		if err == nil {
			m.kept = seen
		}
		if newest := m.seen; err == nil && newest != seen {
			m.mu.Unlock()
			seen = newest
			continue
		}
		m.writing = false
		m.mu.Unlock()
		return err
	}
}
