package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/atomicfile"
	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/store"
)

// Memory is a file on this process's disk that says which store the process has used.
//
// It is written every few seconds. A crash loses what came after that: a process that starts on a store that went back by no more
// than that does not recognise it as restored.
type Memory struct {
	path string

	mu      sync.Mutex
	last    store.Observation // guarded by mu: the newest that Keep was given
	stored  store.Observation // guarded by mu: what the file says
	writing bool              // guarded by mu: the file is being written
}

// diskPatience is how long the disk may take for the memory.
const diskPatience = 2 * time.Second

// OpenMemory reads the memory of the data directory dir, which is empty for a new process. If it returns an error, the file was
// unreadable: the memory is empty then, and still usable.
func OpenMemory(dir string) (*Memory, error) {
	m := &Memory{path: filepath.Join(dir, "store.json")}
	text, err := os.ReadFile(m.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err != nil:
		return m, fmt.Errorf("read which store was seen: %w", err)
	}
	if err := json.Unmarshal(text, &m.last); err != nil {
		m.last = store.Observation{}
		return m, fmt.Errorf("read which store was seen: %s: %w", m.path, err)
	}
	m.stored = m.last
	return m, nil
}

// Path returns where the file is.
func (m *Memory) Path() string { return m.path }

// Last returns what the process has seen of the store; the zero Observation if it has seen none.
func (m *Memory) Last() store.Observation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// Keep replaces what the memory says. If the disk does not accept it, Last still returns it.
//
// Keep waits for the disk: a file that was renamed without a sync may be empty after a power loss, and a process with an empty
// memory accepts every store. It waits for diskPatience at most. While an earlier write hangs in the kernel it does not wait at
// all, so that a stop of the process is not delayed.
func (m *Memory) Keep(seen store.Observation) error {
	m.mu.Lock()
	m.last = seen
	same, busy := seen == m.stored, m.writing
	m.writing = busy || !same
	m.mu.Unlock()
	if same {
		return nil
	}
	err := output.ErrNoAnswer
	if !busy {
		written := make(chan error, 1)
		go func() { written <- m.write(seen) }() // waited for below
		err = output.Answer(written, diskPatience)
	}
	if err != nil {
		return fmt.Errorf("remember which store was seen: %w", err)
	}
	return nil
}

// write writes seen into the file, and then whatever Keep was given meanwhile. The caller has set writing.
func (m *Memory) write(seen store.Observation) error {
	for {
		text, err := json.Marshal(seen)
		if err == nil {
			err = atomicfile.Replace(m.path, append(text, '\n'))
		}
		m.mu.Lock()
		if err == nil {
			m.stored = seen
		}
		if newest := m.last; err == nil && newest != seen {
			m.mu.Unlock()
			seen = newest
			continue
		}
		m.writing = false
		m.mu.Unlock()
		return err
	}
}
