package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// TestAJobFileThatIsHalfWritten writes a file in place. For some seconds, the second job is missing from the file. The test
// checks that the second job keeps its runs and its pause.
func TestAJobFileThatIsHalfWritten(t *testing.T) {
	t.Parallel()
	etcd, file := etcd(t), filepath.Join(t.TempDir(), "jobs.yaml")
	files.Replace(t, file, files.Jobs("first", "a", "b"))
	r := withFiles(t, "q1", etcd, file)
	r.wantJobs(t, "a=first b=first")
	if _, err := r.PauseJob(t.Context(), "b", "test"); err != nil {
		t.Fatal(err)
	}
	later := r.submit(t, "b", api.RunRequest{In: "1h"})

	if err := os.WriteFile(file, []byte(files.Jobs("second", "a")), 0o600); err != nil {
		t.Fatal(err)
	}
	began, reported := time.Now(), false
	for !reported || time.Since(began) < 6*time.Second {
		if time.Since(began) > 30*time.Second {
			t.Fatal("it is not reported that the files are not read")
		}
		files.Grow(t, file, 1, 150*time.Millisecond)
		reported = reported || strings.Contains(r.notes(t), "q1: the job files keep changing")
		if got := r.jobs(t); got != "a=first b=first" {
			t.Fatalf("half a file is in force: %s", got)
		}
	}
	half, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := half.WriteString(strings.TrimPrefix(files.Jobs("second", "b"), "jobs:\n")); err != nil {
		t.Fatal(err)
	}
	if err := half.Close(); err != nil {
		t.Fatal(err)
	}
	r.wantJobs(t, "a=second b=second")
	eventually(t, "no note", func() bool { return r.notes(t) == "" })
	b, err := r.node.store.Job(t.Context(), "b")
	if err != nil || b.Paused == nil || b.Generation != 2 {
		t.Errorf("got %+v, %v, want the same job, paused as before", b, err)
	}
	if v, err := r.Run(t.Context(), later.Ref); err != nil || v.State != job.Pending {
		t.Errorf("its run is %s (%s), %v, want pending", v.State, v.Reason, err)
	}
}
