package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestANodeStartsWithADamagedJournal starts a replica whose journal is not readable. It works, and keeps the file.
func TestANodeStartsWithADamagedJournal(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	path := filepath.Join(set.Node.DataDir, "journal.db")
	if err := os.WriteFile(path, make([]byte, 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, Config{Settings: set, Version: version})
	r.lead(t)
	r.put(t, "work", job.Spec{Shell: "true"})
	r.makeHistory(t)
	if kept, err := filepath.Glob(path + ".damaged-*"); err != nil || len(kept) != 1 {
		t.Errorf("got %v, %v, want the damaged file", kept, err)
	}
}
