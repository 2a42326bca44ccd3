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

// Memory is the file store.json, which identifies the store that this process has used.
//
// It is written every few seconds. A crash loses the changes since the last write. If a restore set the store back by only those
// changes, the process does not detect the restore.
type Memory struct {
	path string

	mu      sync.Mutex
	last    store.Observation // guarded by mu: the argument of the latest Keep
	stored  store.Observation // guarded by mu: the content of the file
	writing bool              // guarded by mu: a goroutine is writing the file
}

// diskPatience bounds the time for which Keep waits for the disk.
const diskPatience = 2 * time.Second

// OpenMemory reads the memory of the data directory dir. The memory of a new process is empty. If the file is unreadable,
// OpenMemory returns an error and an empty memory, which is still usable.
func OpenMemory(dir string) (*Memory, error) {
	m := &Memory{path: filepath.Join(dir, "store.json")}
	text, err := os.ReadFile(m.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err != nil:
		return m, fmt.Errorf("read the used store: %w", err)
	}
	if err := json.Unmarshal(text, &m.last); err != nil {
		m.last = store.Observation{}
		return m, fmt.Errorf("read the used store: %s: %w", m.path, err)
	}
	m.stored = m.last
	return m, nil
}

// Path returns the path of the file.
func (m *Memory) Path() string { return m.path }

// Last returns the last observation of the store; the zero Observation if there is none.
func (m *Memory) Last() store.Observation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// Keep replaces the content of the memory with seen. If the disk fails, Last still returns seen.
//
// Keep waits for the sync, for at most diskPatience. Without a sync, the renamed file may be empty after a power loss, and a
// process with an empty memory accepts every store. If an earlier write still hangs in the kernel, Keep returns at once. So the
// process can stop.
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
		return fmt.Errorf("record the used store: %w", err)
	}
	return nil
}

// write writes seen to the file. If Keep gets a newer observation meanwhile, write writes that too. The caller has set writing.
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
