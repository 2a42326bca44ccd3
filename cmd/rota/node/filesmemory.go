package node

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// sighting is what a replica keeps on its own disk of the job files that it has read, so that its next process does not take
// what it finds there for an edit: files that lost against others would win with a restart.
type sighting struct {
	Hash   string `json:"hash"`             // of the set
	Edited bool   `json:"edited,omitempty"` // it is an edit that is not in force yet
	Newer  int64  `json:"newer"`            // marks of other sets are newer than this one from this revision on; 0: all are
}

// never is a revision that no mark has.
const never = math.MaxInt64

// recall takes up what an earlier process of this data directory knew of the set. Of one that it had not read, nothing is known.
func (f *files) recall() {
	var seen sighting
	text, err := os.ReadFile(f.memory())
	if err == nil {
		err = json.Unmarshal(text, &seen)
	}
	if err != nil && !os.IsNotExist(err) {
		f.node.log.Warn("what is known of the job files is lost", "path", f.memory(), "err", err)
	}
	f.kept = seen
	if err == nil && f.set != nil && seen.Hash == f.set.Hash {
		f.edited, f.newer = seen.Edited, seen.Newer
	}
}

// keep remembers what is known of the set, if anything is.
func (f *files) keep() {
	if f.set == nil || f.newer == never {
		return
	}
	now := sighting{Hash: f.set.Hash, Edited: f.edited, Newer: f.newer}
	if now == f.kept {
		return
	}
	text, err := json.Marshal(now)
	if err == nil {
		err = replaceFile(f.memory(), append(text, '\n'))
	}
	if err != nil {
		f.node.log.Warn("a restart will know less of the job files", "err", fmt.Errorf("remember them: %w", err))
		return // the next enforce tries again
	}
	f.kept = now
}

// memory is the file of the sighting.
func (f *files) memory() string { return filepath.Join(f.node.set.Node.DataDir, "files.json") }
