package jobfiles

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/files"
)

// slowly is a replica for which each write takes an hour.
type slowly struct {
	*replica
	now time.Time
}

func (s *slowly) Now(context.Context) (time.Time, error) {
	s.now = s.now.Add(time.Hour)
	return s.now, nil
}

// A slot passes while the jobs of a new workflow are written. All jobs must count it, and no step may exist without its parents:
// such a step would be skipped, or would get no run at all.
func TestAWorkflowBeginsAsOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.yaml")
	files.Replace(t, path, `jobs:
  c: {command: ["true"], after: [b, a]}
  b: {command: ["true"], after: [a]}
  a: {command: ["true"], every: 1s}
  d: {command: ["true"], after: [c]}
`)
	r, _ := beside(t, client(t), path, dataDir(t, "q1"))
	r.Files.replica = &slowly{r, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	r.enforced(t)
	first, err := r.store.Job(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	before := first
	for _, name := range []string{"b", "c", "d"} {
		j, err := r.store.Job(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if !j.Since.Equal(first.Since) {
			t.Errorf("the slots of %s count since %v, those of a since %v", name, j.Since, first.Since)
		}
		if j.Rev <= before.Rev {
			t.Errorf("%s was written at revision %d, not after %s at %d", name, j.Rev, before.Name, before.Rev)
		}
		before = j
	}
}
