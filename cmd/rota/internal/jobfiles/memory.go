package jobfiles

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/rota-scheduler/rota/cmd/rota/internal/atomicfile"
)

// memory is a record on a replica's disk about the files that the replica has read. Without it, the next process would treat the
// files as an edit. Then a restart would put an older set in force again.
type memory struct {
	Hash   string `json:"hash"`             // hash of the set
	Edited bool   `json:"edited,omitempty"` // the set is an edit that is not in force yet
	Newer  int64  `json:"newer"`            // see Files.newer; 0: every mark with another set is newer
}

// never is a revision that no mark reaches.
const never = math.MaxInt64

// recall restores the memory of an earlier process with this data directory, if that memory belongs to the present set.
func (f *Files) recall() {
	var m memory
	text, err := os.ReadFile(f.memoryPath())
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil && !os.IsNotExist(err) {
		f.log.Warn("the memory of the job files cannot be read", "path", f.memoryPath(), "err", err)
	}
	f.memory = m
	if err == nil && f.set != nil && m.Hash == f.set.Hash {
		f.edited, f.newer = m.Edited, m.Newer
	}
}

// remember writes the memory of the set to disk. It does nothing if there is no set, or if the disk already has this memory. If
// the write fails, the next enforce tries again.
func (f *Files) remember() {
	if f.set == nil || f.newer == never {
		return
	}
	m := memory{Hash: f.set.Hash, Edited: f.edited, Newer: f.newer}
	if m == f.memory {
		return
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = atomicfile.Replace(f.memoryPath(), append(text, '\n'))
	}
	if err != nil {
		f.log.Warn("the memory of the job files cannot be written", "err", fmt.Errorf("remember them: %w", err))
		return
	}
	f.memory = m
}

func (f *Files) memoryPath() string { return filepath.Join(f.cfg.DataDir, "files.json") }
