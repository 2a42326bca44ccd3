package jobfiles

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/rota-scheduler/rota/cmd/rota/internal/atomicfile"
)

// memory is what a replica has on its disk about the files that it has read. Without it, the next process would take the files for
// an edit: a set that lost against another one would win by a restart.
type memory struct {
	Hash   string `json:"hash"`             // of the set
	Edited bool   `json:"edited,omitempty"` // it is an edit that is not in force yet
	Newer  int64  `json:"newer"`            // see Files.newer; 0: every mark with another set is newer
}

// never is a revision that no mark reaches.
const never = math.MaxInt64

// recall applies what an earlier process of this data directory remembered, if that was about the present set.
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

// remember writes what is known of the set, unless that is nothing or on the disk already. If it fails, the next enforce tries
// again.
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
