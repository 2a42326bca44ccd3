package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// jobs returns the jobs as a list of name=description.
func (r *running) jobs(t testing.TB) string {
	views, err := r.Jobs(t.Context())
	if err != nil {
		return err.Error()
	}
	var list []string
	for _, v := range views {
		list = append(list, v.Name+"="+v.Spec.Description)
	}
	return strings.Join(list, " ")
}

// wantJobs waits until the jobs are want, a list of name=description. Then it checks that they do not change again.
func (r *running) wantJobs(t testing.TB, want string) {
	t.Helper()
	got := ""
	for range 3 {
		eventually(t, want, func() bool { got = r.jobs(t); return got == want })
	}
}

// notes returns the notes about job files in the state of the cluster.
func (r *running) notes(t testing.TB) string {
	v, err := r.Cluster(t.Context())
	if err != nil {
		return err.Error()
	}
	return strings.Join(v.Files.Notes, "\n")
}

// withFiles starts a replica with the job files at path and without a worker.
func withFiles(t testing.TB, name, endpoint, path string) *running {
	set := outside(t, name, endpoint)
	set.Jobs, set.Worker.Enabled = path, false
	return start(t, Config{Settings: set, Version: version})
}

func TestJobFilesAreFollowed(t *testing.T) {
	t.Parallel()
	dir, etcd := t.TempDir(), etcd(t)
	a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	files.Replace(t, a, files.Jobs("first", "x", "y"))
	files.Replace(t, b, files.Jobs("first", "z"))
	r := withFiles(t, "q1", etcd, dir)
	r.wantJobs(t, "x=first y=first z=first")

	t.Run("an edit", func(t *testing.T) {
		files.Replace(t, a, files.Jobs("second", "x"))
		r.wantJobs(t, "x=second z=first")
	})
	t.Run("a wrong edit changes nothing, and is shown with its line", func(t *testing.T) {
		files.Replace(t, a, files.Jobs("third", "x")+"  broken: {comand: [a], shell: b}\n  worse: {}\n")
		eventually(t, "a note of it", func() bool { return strings.Contains(r.notes(t), a+":3:") })
		if got := r.notes(t); !strings.Contains(got, "q1: ") || !strings.Contains(got, "more)") {
			t.Errorf("got note %q, want the replica, and how many more", got)
		}
		r.wantJobs(t, "x=second z=first")
		r.reload <- syscall.SIGHUP
		eventually(t, "a second look", func() bool { return strings.Count(r.log.String(), "job files are wrong") >= 2 })
		if r.notes(t) == "" {
			t.Error("the note is gone though the file is still wrong")
		}
	})
	t.Run("its correction", func(t *testing.T) {
		files.Replace(t, a, files.Jobs("fourth", "x"))
		r.wantJobs(t, "x=fourth z=first")
		eventually(t, "no note", func() bool { return r.notes(t) == "" })
	})
	t.Run("a file in which it is written over", func(t *testing.T) {
		if err := os.WriteFile(b, []byte(files.Jobs("fifth", "z")), 0o600); err != nil {
			t.Fatal(err)
		}
		r.wantJobs(t, "x=fourth z=fifth")
	})
	t.Run("a file that is removed", func(t *testing.T) {
		if err := os.Remove(b); err != nil {
			t.Fatal(err)
		}
		r.wantJobs(t, "x=fourth")
	})
	t.Run("all files gone is a mistake", func(t *testing.T) {
		if err := os.Remove(a); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a note", func() bool { return strings.Contains(r.notes(t), "has no job file") })
		r.wantJobs(t, "x=fourth")
		files.Replace(t, a, files.Jobs("sixth", "x"))
		r.wantJobs(t, "x=sixth")
	})
	t.Run("a definition that was changed by hand is put right", func(t *testing.T) {
		j, err := r.node.store.Job(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		j.Spec.Description = "by hand"
		if _, err := r.node.store.PutJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		r.reload <- syscall.SIGHUP // faster than to wait for a poll
		r.wantJobs(t, "x=sixth")
	})
	t.Run("the API does not change a job of a file", func(t *testing.T) {
		if _, _, err := r.PutJob(t.Context(), "x", job.Spec{Shell: "true"}, api.Precondition{}); err == nil || !strings.Contains(err.Error(), "a.yaml") {
			t.Errorf("got %v, want a refusal that names a.yaml", err)
		}
		if err := r.DeleteJob(t.Context(), "x", api.Precondition{}); err == nil || !strings.Contains(err.Error(), "a.yaml") {
			t.Errorf("got %v, want a refusal that names a.yaml", err)
		}
		if _, err := r.PauseJob(t.Context(), "x", "test"); err != nil {
			t.Errorf("pause: %v", err)
		}
	})
}

func TestAConfigMapIsFollowed(t *testing.T) {
	t.Parallel()
	dir, etcd := t.TempDir(), etcd(t)
	swap := func(n int) {
		t.Helper()
		data := fmt.Sprintf("..data_%d", n)
		if err := os.Mkdir(filepath.Join(dir, data), 0o700); err != nil {
			t.Fatal(err)
		}
		files.Replace(t, filepath.Join(dir, data, "jobs.yaml"), files.Jobs(fmt.Sprint(n), "x"))
		if err := os.Symlink(data, filepath.Join(dir, "..tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	swap(1)
	if err := os.Symlink("..data/jobs.yaml", filepath.Join(dir, "jobs.yaml")); err != nil {
		t.Fatal(err)
	}
	r := withFiles(t, "q1", etcd, dir)
	r.wantJobs(t, "x=1")
	swap(2)
	r.wantJobs(t, "x=2")
}

func TestOlderFilesDoNotUndoNewerOnes(t *testing.T) {
	t.Parallel()
	all, etcd := t, etcd(t)
	file1, file2 := filepath.Join(t.TempDir(), "jobs.yaml"), filepath.Join(t.TempDir(), "jobs.yaml")
	files.Replace(t, file1, files.Jobs("old", "x", "gone"))
	files.Replace(t, file2, files.Jobs("old", "x", "gone"))
	q1 := withFiles(t, "q1", etcd, file1)
	q2 := withFiles(t, "q2", etcd, file2)
	q1.wantJobs(t, "gone=old x=old")

	files.Replace(t, file1, files.Jobs("new", "x"))
	q1.wantJobs(t, "x=new")
	eventually(t, "the difference is seen", func() bool {
		v, err := q2.Cluster(t.Context())
		return err == nil && !v.Files.Agree && v.Files.By == "q1" && len(v.Files.Notes) == 1 && strings.HasPrefix(v.Files.Notes[0], "q2: ")
	})

	t.Run("a replica that starts with older files leaves them alone", func(t *testing.T) {
		if err := q2.end(); err != nil {
			t.Fatal(err)
		}
		q2 = withFiles(all, "q2", etcd, file2)
		eventually(t, "a note", func() bool {
			return strings.Contains(q1.notes(t), "q2: older than the files in force, which q1 applied")
		})
		q2.wantJobs(t, "x=new")
	})
	t.Run("an edit on a running replica wins", func(t *testing.T) {
		files.Replace(t, file2, files.Jobs("newest", "x", "added"))
		q1.wantJobs(t, "added=newest x=newest")
		eventually(t, "no note of q2", func() bool { return !strings.Contains(q1.notes(t), "q2: ") })
	})
	t.Run("also one that brings back what was before", func(t *testing.T) {
		files.Replace(t, file2, files.Jobs("old", "x", "gone"))
		q1.wantJobs(t, "gone=old x=old")
	})
	t.Run("equal files have no note", func(t *testing.T) {
		eventually(t, "a note of q1", func() bool { return strings.Contains(q2.notes(t), "q1: ") })
		files.Replace(t, file2, files.Jobs("new", "x"))
		q1.wantJobs(t, "x=new")
		eventually(t, "no note of q1", func() bool { return q2.notes(t) == "" })
	})
}

// TestAReplicaWithTheFilesInForceWritesTheRest simulates a replica that died after it moved the mark, before it had written all
// jobs. Another replica with the same files writes the rest.
func TestAReplicaWithTheFilesInForceWritesTheRest(t *testing.T) {
	t.Parallel()
	etcd, file := etcd(t), filepath.Join(t.TempDir(), "jobs.yaml")
	files.Replace(t, file, files.Jobs("whole", "x", "y"))
	q1 := withFiles(t, "q1", etcd, file)
	q1.wantJobs(t, "x=whole y=whole")
	x, err := q1.node.store.Job(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := q1.node.store.DeleteJob(t.Context(), "x", x.Rev); err != nil {
		t.Fatal(err)
	}
	stale := job.Job{Name: "stale", Origin: job.Origin{Kind: job.OriginFile}, Generation: 1, Since: x.Since, Spec: x.Spec}
	if _, err := q1.node.store.PutJob(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	withFiles(t, "q2", etcd, file).wantJobs(t, "x=whole y=whole")
}

func TestWrongFilesAtTheStart(t *testing.T) {
	t.Parallel()
	etcd, file := etcd(t), filepath.Join(t.TempDir(), "jobs.yaml")
	files.Replace(t, file, "jobs:\n  x: {comand: [a]}\n")
	set := outside(t, "q1", etcd)
	set.Jobs, set.Worker.Enabled = file, false
	t.Run("without any in force are an error", func(t *testing.T) {
		r := begin(t, Config{Settings: set, Version: version})
		eventually(t, "Run has returned", func() bool { return strings.Contains(r.log.String(), "job files are wrong") })
		if r.node != nil {
			eventually(t, "the API is closed", func() bool { _, err := r.Jobs(t.Context()); return err != nil })
		}
		r.stopped(t, file+":2:")
	})
	t.Run("leave those alone that are in force", func(t *testing.T) {
		good := filepath.Join(t.TempDir(), "jobs.yaml")
		files.Replace(t, good, files.Jobs("good", "x"))
		q2 := withFiles(t, "q2", etcd, good)
		q2.wantJobs(t, "x=good")
		q1 := withFiles(t, "q1", etcd, file)
		eventually(t, "a note", func() bool {
			return strings.Contains(q2.notes(t), "q1: the job files are wrong and not in force: "+file+":2:")
		})
		v, err := q2.Cluster(t.Context())
		if err != nil || !slices.ContainsFunc(v.Attention, func(i attention.Item) bool {
			return strings.HasPrefix(i.Text, "The job files need repair: q1: the job files are wrong") // other files are no mistake
		}) {
			t.Errorf("got %+v, %v", v.Attention, err)
		}
		q1.wantJobs(t, "x=good")
		files.Replace(t, file, files.Jobs("better", "x"))
		q2.wantJobs(t, "x=better")
	})
}
